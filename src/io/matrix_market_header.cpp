#include "io/matrix_market.hpp"
#include "io/text.hpp"
#include "tessera/spec.hpp"

namespace tessera::io {

namespace {

constexpr std::string_view banner_word = "%%matrixmarket";
constexpr const char* banner_example = "'%%MatrixMarket matrix coordinate real general'";

/// Some editors put a byte order mark in front of a text.
std::size_t byte_order_mark(std::string_view text) {
    return text.starts_with("\xef\xbb\xbf") ? 3 : 0;
}

void check_word(const std::string& name, const char* what, std::string_view word,
                const std::vector<std::string>& valid) {
    for (const std::string& candidate : valid) {
        if (word == candidate) return;
    }
    const std::string text = shown(word);  // With quotes, which the message adds itself.
    throw ParseError(
        name, 1,
        unknown_word_message(what, std::string_view(text).substr(1, text.size() - 2), valid));
}

void parse_banner(std::string_view line, const std::string& name, MatrixMarketHeader& header) {
    const std::string lower = lower_case(line);
    const auto banner = words(lower);
    if (banner.empty() || banner[0] != banner_word) {
        throw ParseError(name, 1,
                         std::string("expected a banner such as ") + banner_example + ", found " +
                             shown(trimmed(line)));
    }
    if (banner.size() != 5) {
        throw ParseError(name, 1,
                         std::string("the banner needs five words, as in ") + banner_example +
                             ", found " + shown(trimmed(line)));
    }
    check_word(name, "object", banner[1], {"matrix"});
    check_word(name, "format", banner[2], {"coordinate", "array"});
    if (banner[3] == "complex") {
        throw ParseError(
            name, 1, "complex matrices are not supported; write A + iB as the real [A -B; B A]");
    }
    check_word(name, "field", banner[3], {"real", "double", "integer", "pattern"});
    if (banner[4] == "hermitian") throw ParseError(name, 1, "hermitian matrices are not supported");
    check_word(name, "symmetry", banner[4], {"general", "symmetric", "skew-symmetric"});
    header.array = banner[2] == "array";
    header.field = banner[3] == "pattern"   ? Field::pattern
                   : banner[3] == "integer" ? Field::integer
                                            : Field::real;
    header.symmetry = banner[4] == "general"     ? Symmetry::general
                      : banner[4] == "symmetric" ? Symmetry::symmetric
                                                 : Symmetry::skew_symmetric;
    if (header.array && header.field == Field::pattern) {
        throw ParseError(name, 1,
                         "an array file holds numbers; only coordinate files can be pattern");
    }
    if (header.field == Field::pattern && header.symmetry == Symmetry::skew_symmetric) {
        throw ParseError(name, 1, "a pattern file has no signs and cannot be skew-symmetric");
    }
}

/// Lines that an array file of this shape has.
Offset array_entries(const MatrixMarketHeader& header) {
    const Offset n = header.rows;
    switch (header.symmetry) {
        case Symmetry::symmetric:
            return n * (n + 1) / 2;
        case Symmetry::skew_symmetric:
            return n * (n - 1) / 2;
        default:
            return n * Offset(header.columns);
    }
}

void parse_sizes(std::string_view line, const std::string& name, std::string_view text,
                 const ReadOptions& options, MatrixMarketHeader& header) {
    const auto numbers = words(line);
    const std::size_t expected = header.array ? 2 : 3;
    const auto fail = [&](const std::string& message) {
        throw ParseError(name, header.line, message);
    };
    if (numbers.size() != expected) {
        fail(std::string(header.array ? "expected the sizes 'rows columns'"
                                      : "expected the sizes 'rows columns entries'") +
             ", found " + shown(trimmed(line)));
    }
    Offset sizes[3] = {};
    const char* const what[3] = {"rows", "columns", "entries"};
    for (std::size_t k = 0; k < expected; ++k) {
        const std::string reason = parse_integer(numbers[k], sizes[k]);
        if (!reason.empty()) {
            fail(std::string("number of ") + what[k] + " " + shown(numbers[k]) + " is " + reason);
        }
    }
    for (std::size_t k = 0; k < 2; ++k) {
        check_size(name, header.line, what[k], sizes[k], text.size(), options);
    }
    header.rows = Index(sizes[0]);
    header.columns = Index(sizes[1]);
    const std::string shape = std::to_string(sizes[0]) + " x " + std::to_string(sizes[1]);
    if (header.symmetry != Symmetry::general && sizes[0] != sizes[1]) {
        fail(std::string("a ") +
             (header.symmetry == Symmetry::symmetric ? "symmetric" : "skew-symmetric") +
             " matrix must be square, not " + shape);
    }
    header.entries = header.array ? array_entries(header) : sizes[2];
    if (header.entries < 0) fail("a number of entries cannot be negative");
    if (header.entries > 0 && (header.rows == 0 || header.columns == 0)) {
        fail("a matrix of " + shape + " has no room for " + std::to_string(header.entries) +
             " entries");
    }
    // "i j\n", "i j v\n" or "v\n" at the least; the last line may lack its end.
    const Offset line_bytes = header.array ? 2 : header.field == Field::pattern ? 4 : 6;
    const Offset room = Offset(text.size() - header.body) + 1;
    if (header.entries > room / line_bytes) {
        fail(std::to_string(header.entries) + " entries are claimed" +
             (header.array ? " (" + shape + ")" : "") + ", but only " + std::to_string(room - 1) +
             " bytes follow; the file is truncated or its sizes are wrong");
    }
}

}  // namespace

const char* to_string(Field field) {
    return field == Field::real ? "real" : field == Field::integer ? "integer" : "pattern";
}

bool is_matrix_market(std::string_view text) {
    text.remove_prefix(byte_order_mark(text));
    while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
    return lower_case(text.substr(0, banner_word.size())) == banner_word;
}

MatrixMarketHeader parse_matrix_market_header(std::string_view text, const std::string& name,
                                              const ReadOptions& options) {
    MatrixMarketHeader header;
    const std::size_t mark = byte_order_mark(text);
    Lines lines(text.substr(mark));
    std::string_view line;
    if (!lines.next(line)) throw ParseError(name, 0, "the text is empty");
    parse_banner(line, name, header);
    while (lines.next(line)) {
        const std::string_view content = trimmed(line);
        if (content.empty() || content[0] == '%') continue;
        header.line = lines.number();
        header.body = std::min(mark + lines.position(), text.size());
        parse_sizes(line, name, text, options, header);
        return header;
    }
    throw ParseError(name, lines.number(),
                     std::string("the file ends before its line of sizes, '") +
                         (header.array ? "rows columns'" : "rows columns entries'"));
}

}  // namespace tessera::io
