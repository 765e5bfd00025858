#include "tessera/spec.hpp"

#include <fast_float/fast_float.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <utility>

#include "base/concat.hpp"

namespace tessera {

namespace {

std::string quoted(std::string_view text) { return "'" + std::string(text) + "'"; }

/// Fewest insertions, deletions, replacements and swaps of neighbours that turn a into b.
std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
    for (std::size_t i = 0; i <= a.size(); ++i) {
        for (std::size_t j = 0; j <= b.size(); ++j) {
            if (i == 0 || j == 0) {
                d[i][j] = i + j;
                continue;
            }
            d[i][j] = std::min(
                {d[i - 1][j - 1] + (a[i - 1] != b[j - 1]), d[i - 1][j] + 1, d[i][j - 1] + 1});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
            }
        }
    }
    return d[a.size()][b.size()];
}

bool is_value(std::string_view item) {
    const unsigned char c = static_cast<unsigned char>(item[0]);
    return std::isdigit(c) || c == '+' || c == '-' || c == '.';
}

/// fast_float stops in front of a Fortran exponent: 1.0D+00, 1.0d0 and 1.0+05 are written with E.
/// Returns an empty text where there is no such exponent.
std::string with_c_exponent(std::string_view token) {
    std::string text(token);
    for (std::size_t k = 1; k < text.size(); ++k) {
        const char c = text[k];
        const char before = text[k - 1];
        const bool digit_before = (before >= '0' && before <= '9') || before == '.';
        if ((c == 'D' || c == 'd' || c == 'Q' || c == 'q') && digit_before) {
            text[k] = 'E';
            return text;
        }
        if ((c == '+' || c == '-') && digit_before) return text.insert(k, 1, 'E');
    }
    return {};
}

std::string parse(std::string_view text, double& number) { return parse_real(text, number); }
std::string parse(std::string_view text, Offset& number) { return parse_integer(text, number); }

template <class Number>
Number in_range(const std::string& what, std::string_view text, Number low, Number high) {
    Number number = 0;
    const std::string reason = parse(text, number);
    require(reason.empty(), what, ": '", text, "' is ", reason);
    if (number < low || number > high) {
        throw InvalidArgument(concat(what, ": ", text, " is not within ", low, "..", high));
    }
    return number;
}

}  // namespace

std::string nearest_word(std::string_view word, const std::vector<std::string>& candidates) {
    std::string nearest;
    constexpr std::size_t longest = 100;  // The table of distances grows with both lengths.
    if (word.size() > longest) return nearest;
    std::size_t best = std::max<std::size_t>(1, word.size() / 3) + 1;
    for (const std::string& candidate : candidates) {
        const std::size_t distance = edit_distance(word, candidate);
        if (distance < best && distance < word.size()) {  // With a letter in common.
            best = distance;
            nearest = candidate;
        }
    }
    return nearest;
}

std::string unknown_word_message(std::string_view what, std::string_view word,
                                 const std::vector<std::string>& candidates) {
    const std::string nearest = nearest_word(word, candidates);
    std::string message = "unknown " + std::string(what) + " " + quoted(word);
    if (candidates.empty()) return message + "; there are none";
    message += nearest.empty() ? "." : "; did you mean " + quoted(nearest) + "?";
    return message + " Valid: " + list_of(candidates);
}

std::string parse_real(std::string_view token, double& number) {
    if (token.starts_with('+')) {
        token.remove_prefix(1);
        if (token.starts_with('+') || token.starts_with('-')) return "not a number";
    }
    const char* const end = token.data() + token.size();
    auto result = fast_float::from_chars(token.data(), end, number);
    if (result.ec == std::errc{} && result.ptr != end) {
        const std::string rewritten = with_c_exponent(token);
        const char* const rewritten_end = rewritten.data() + rewritten.size();
        result = fast_float::from_chars(rewritten.data(), rewritten_end, number);
        if (result.ptr != rewritten_end) return "not a number";
    }
    if (result.ec == std::errc::result_out_of_range) return "out of range";
    if (result.ec != std::errc{}) return "not a number";
    if (std::isfinite(number)) return {};
    const char first = token.empty() ? '\0' : token[token[0] == '-' ? 1 : 0];
    return first == 'i' || first == 'I' || first == 'n' || first == 'N' ? "not finite"
                                                                        : "out of range";
}

std::string parse_integer(std::string_view token, std::int64_t& number) {
    if (token.starts_with('+')) {
        token.remove_prefix(1);
        if (token.starts_with('-')) return "not an integer";
    }
    const char* const end = token.data() + token.size();
    const auto result = std::from_chars(token.data(), end, number);
    if (result.ec == std::errc::result_out_of_range) return "out of range";
    if (result.ec != std::errc{} || result.ptr != end) return "not an integer";
    return {};
}

Spec::Spec(const std::string& text) : name_(text, 0, text.find_first_of(":,")) {
    require(!name_.empty(), "an option text needs a name: '", text, "'");
    for (std::size_t position = name_.size(); position < text.size();) {
        const bool after_name = text[position] == ':' && position == name_.size();
        const std::size_t comma = std::min(text.find(',', position + 1), text.size());
        const std::string item = text.substr(position + 1, comma - position - 1);
        position = comma;
        const std::size_t equals = item.find('=');
        require(!item.empty() && equals != 0, "something is missing in '", text,
                "'; write NAME[:VALUE][,OPTION=VALUE]");
        if (equals == std::string::npos && (after_name || is_value(item))) {
            values_.push_back(item);
            continue;
        }
        const std::string key = item.substr(0, equals);
        const bool flag = equals == std::string::npos;
        require(options_.emplace(key, flag ? "true" : item.substr(equals + 1)).second, "'", key,
                "' is given twice in '", text, "'");
    }
}

std::string Spec::word(int k, std::string_view fallback) {
    values_read_ = std::max(values_read_, std::size_t(k) + 1);
    return std::string(std::size_t(k) < values_.size() ? values_[std::size_t(k)] : fallback);
}

Offset Spec::integer(int k, Offset fallback, Offset low, Offset high) {
    const std::string text = word(k, "");
    return text.empty() ? fallback : in_range(name_, text, low, high);
}

std::string Spec::word(std::string_view key, std::string_view fallback,
                       const std::vector<std::string>& choices) {
    keys_read_.emplace_back(key);
    const auto option = options_.find(key);
    if (option == options_.end()) return std::string(fallback);
    if (!choices.empty() && std::ranges::find(choices, option->second) == choices.end()) {
        throw InvalidArgument(
            name_ + ": " +
            unknown_word_message("value of " + std::string(key), option->second, choices));
    }
    return option->second;
}

Offset Spec::integer(std::string_view key, Offset fallback, Offset low, Offset high) {
    const std::string text = word(key, "");
    if (!options_.contains(key)) return fallback;
    return in_range(name_ + ", " + std::string(key), text, low, high);
}

double Spec::real(std::string_view key, double fallback, double low, double high) {
    const std::string text = word(key, "");
    if (!options_.contains(key)) return fallback;
    return in_range(name_ + ", " + std::string(key), text, low, high);
}

bool Spec::flag(std::string_view key, bool fallback) {
    const std::string text = word(key, fallback ? "true" : "false", {"true", "false", "on", "off"});
    return text == "true" || text == "on";
}

void Spec::finish() const {
    if (values_.size() > values_read_) {
        throw InvalidArgument(name_ + " takes " +
                              (values_read_ == 0   ? "no value"
                               : values_read_ == 1 ? "one value"
                                                   : std::to_string(values_read_) + " values") +
                              ", not " + quoted(values_[values_read_]));
    }
    for (const auto& [key, value] : options_) {
        if (std::ranges::find(keys_read_, key) == keys_read_.end()) {
            throw InvalidArgument(name_ + ": " + unknown_word_message("option", key, keys_read_));
        }
    }
}

std::string Spec::normalised() const {
    std::string text = name_;
    char separator = ':';
    for (const std::string& value : values_) text += std::exchange(separator, ',') + value;
    for (const auto& [key, value] : options_) {
        text += "," + key;
        if (value != "true") text += "=" + value;
    }
    return text;
}

}  // namespace tessera
