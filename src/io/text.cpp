#include "io/text.hpp"

#include <algorithm>
#include <cctype>
#include <limits>

namespace tessera::io {

std::vector<std::string_view> words(std::string_view line) {
    std::vector<std::string_view> found;
    std::size_t at = 0;
    while (true) {
        while (at < line.size() && is_blank(line[at])) ++at;
        if (at == line.size()) return found;
        const std::size_t begin = at;
        while (at < line.size() && !is_blank(line[at])) ++at;
        found.push_back(line.substr(begin, at - begin));
    }
}

std::string_view trimmed(std::string_view line) {
    while (!line.empty() && is_blank(line.front())) line.remove_prefix(1);
    while (!line.empty() && is_blank(line.back())) line.remove_suffix(1);
    return line;
}

std::string lower_case(std::string_view text) {
    std::string lower(text);
    for (char& c : lower) c = char(std::tolower(static_cast<unsigned char>(c)));
    return lower;
}

std::string shown(std::string_view text) {
    constexpr std::size_t longest = 60;
    std::string quoted = "'";
    for (const char c : text.substr(0, longest)) {
        quoted += c == '\t' ? ' ' : std::isprint(static_cast<unsigned char>(c)) ? c : '?';
    }
    return quoted + (text.size() > longest ? "...'" : "'");
}

bool Lines::next(std::string_view& line) {
    if (position_ >= text_.size()) return false;
    const std::size_t end = std::min(text_.find('\n', position_), text_.size());
    line = text_.substr(position_, end - position_);
    position_ = end + 1;
    ++number_;
    return true;
}

void check_size(const std::string& name, Offset line, const char* what, Offset size,
                std::size_t file_bytes, const ReadOptions& options) {
    constexpr Offset most = std::numeric_limits<Index>::max();
    const std::string claim = std::to_string(size) + " " + what;
    if (size < 0) throw ParseError(name, line, claim + ": a size cannot be negative");
    if (size > most) {
        throw ParseError(name, line,
                         claim + ": a matrix has at most " + std::to_string(most) + " " + what);
    }
    const Offset believed = std::max(Offset(1) << 20, Offset(file_bytes) * 16);
    if (size > believed && !options.allow_empty_rows) {
        throw ParseError(name, line,
                         claim + " are claimed by a file of only " + std::to_string(file_bytes) +
                             " bytes; allow empty rows (--allow-empty-rows) if that is right");
    }
}

void require_cpu(const Context& cpu, const char* function) {
    if (cpu.on_gpu()) {
        throw InvalidArgument(std::string(function) +
                              " works in host memory: pass a CPU context (Context::cpu())");
    }
}

}  // namespace tessera::io
