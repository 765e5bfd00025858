#include "io/text.hpp"

#include <cctype>
#include <cmath>

#include "tessera/spec.hpp"

namespace tessera::io {

std::vector<std::string_view> words(std::string_view line) {
    std::vector<std::string_view> words;
    for (auto at = line.begin();;) {
        const auto begin = std::find_if_not(at, line.end(), is_blank);
        if (begin == line.end()) return words;
        at = std::find_if(begin, line.end(), is_blank);
        words.emplace_back(begin, at);
    }
}

std::string_view trimmed(std::string_view line) {
    while (!line.empty() && is_blank(line.front())) line.remove_prefix(1);
    while (!line.empty() && is_blank(line.back())) line.remove_suffix(1);
    return line;
}

// std::tolower leaves the letter I as it is in some locales, and std::toupper the letter i.
std::string lower_case(std::string_view text) {
    std::string lower(text);
    for (char& c : lower) c = 'A' <= c && c <= 'Z' ? char(c - 'A' + 'a') : c;
    return lower;
}

std::string upper_case(std::string_view text) {
    std::string upper(text);
    for (char& c : upper) c = 'a' <= c && c <= 'z' ? char(c - 'a' + 'A') : c;
    return upper;
}

std::string& operator+=(std::string& message, Quoted quoted) {
    constexpr std::size_t longest = 60;
    message += '\'';
    for (const char c : quoted.text.substr(0, longest)) {
        message += c == '\t' ? ' ' : std::isprint(static_cast<unsigned char>(c)) ? c : '?';
    }
    return message += quoted.text.size() > longest ? "...'" : "'";
}

Offset integer_of(std::string_view word, const char* what) {
    Offset number = 0;
    const std::string reason = parse_integer(word, number);
    expect(reason.empty(), what, " ", Quoted{word}, " is ", reason);
    return number;
}

double real_of(std::string_view word, const char* what) {
    double number = 0;
    const std::string reason = parse_real(word, number);
    expect(reason.empty(), what, " ", Quoted{word}, " is ", reason);
    return number;
}

bool Lines::next(std::string_view& line) {
    std::string_view text = stream_.peek(1);
    if (text.empty()) return false;
    ++number_;
    std::size_t end = text.find('\n');
    for (std::size_t searched = 0; end == std::string_view::npos; end = text.find('\n', searched)) {
        searched = text.size();
        expect(searched <= max_line_bytes, long_line_message);
        text = stream_.peek(2 * searched);
        if (text.size() == searched) break;
    }
    line = text.substr(0, end);
    expect(line.size() <= max_line_bytes, long_line_message);
    stream_.skip(std::min(line.size() + 1, text.size()));
    return true;
}

void require_cpu(const Context& cpu, const char* function) {
    require(!cpu.on_gpu(), function, " works in host memory: pass a CPU context (Context::cpu())");
}

}  // namespace tessera::io
