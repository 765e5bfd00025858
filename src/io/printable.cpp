#include "tessera/io.hpp"

namespace tessera::io {

namespace {

/// Bytes of the valid UTF-8 sequence that the text starts with, or 0. `code`: its code point.
std::size_t sequence_length(std::string_view text, unsigned& code) {
    const auto byte = [&](std::size_t k) { return unsigned(static_cast<unsigned char>(text[k])); };
    const unsigned first = byte(0);
    code = first;
    if (first < 0x80) return 1;
    const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
    code = first & (0x7fu >> length);
    for (std::size_t k = 1; k < length; ++k) {
        if ((byte(k) & 0xc0) != 0x80) return 0;
        code = code << 6 | (byte(k) & 0x3f);
    }
    constexpr unsigned least[] = {0, 0, 0x80, 0x800, 0x10000};
    const bool surrogate = code >= 0xd800 && code <= 0xdfff;
    return code < least[length] || code > 0x10ffff || surrogate ? 0 : length;
}

}  // namespace

std::string printable(std::string_view text) {
    constexpr char digits[] = "0123456789abcdef";
    std::string shown;
    while (!text.empty()) {
        unsigned code = 0;
        const std::size_t valid = sequence_length(text, code);
        const bool control = code < 0x20 || (code >= 0x7f && code < 0xa0);
        const std::string_view sequence = text.substr(0, valid == 0 ? 1 : valid);
        text.remove_prefix(sequence.size());
        if (valid > 0 && !control) {
            shown += sequence;
            continue;
        }
        for (const char c : sequence) {
            const auto byte = static_cast<unsigned char>(c);
            shown += {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
        }
    }
    return shown;
}

}  // namespace tessera::io
