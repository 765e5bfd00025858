#include <fast_float/fast_float.h>

#include <charconv>
#include <cmath>

#include "tessera/spec.hpp"

namespace tessera {

namespace {

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

}  // namespace

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

}  // namespace tessera
