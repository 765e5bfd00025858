#include "io/text.hpp"

#include <cctype>
#include <cmath>

#include "tessera/spec.hpp"

namespace tessera::io {

void reject(std::string message) { throw InputError{std::move(message)}; }

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

std::string shape_text(Offset rows, Offset columns) {
    return std::to_string(rows) + " x " + std::to_string(columns);
}

Offset integer_of(std::string_view word, const char* what) {
    Offset number = 0;
    const std::string reason = parse_integer(word, number);
    if (!reason.empty()) reject(std::string(what) + " " + shown(word) + " is " + reason);
    return number;
}

template <class T>
T real_of(std::string_view word, const char* what) {
    double number = 0;
    std::string reason = parse_real(word, number);
    if (reason.empty() && !std::isfinite(T(number))) reason = "out of range of single precision";
    if (!reason.empty()) reject(std::string(what) + " " + shown(word) + " is " + reason);
    return T(number);
}
template float real_of<float>(std::string_view, const char*);
template double real_of<double>(std::string_view, const char*);

bool Lines::next(std::string_view& line) {
    if (position_ >= text_.size()) return false;
    const std::size_t end = std::min(text_.find('\n', position_), text_.size());
    line = text_.substr(position_, end - position_);
    position_ = end + 1;
    ++number_;
    return true;
}

void require_cpu(const Context& cpu, const char* function) {
    if (cpu.on_gpu()) {
        throw InvalidArgument(std::string(function) +
                              " works in host memory: pass a CPU context (Context::cpu())");
    }
}

}  // namespace tessera::io
