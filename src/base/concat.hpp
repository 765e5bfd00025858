#pragma once

#include <charconv>
#include <string>
#include <type_traits>
#include <vector>

#include "tessera/types.hpp"

namespace tessera {

/// The shortest text that is read as the same number.
inline std::string number_text(double number) {
    char digits[32];
    return {digits, std::to_chars(digits, digits + sizeof digits, number).ptr};
}

/// As std::printf writes it in the locale C, whatever locales the host has set: `digits`
/// significant ones, or those after the point in scientific and fixed notation.
inline std::string number_text(double number, std::chars_format format, int digits) {
    char text[352];  // The largest double has 309 digits before the point.
    return {text, std::to_chars(text, text + sizeof text, number, format, digits).ptr};
}

/// Concatenates texts and numbers (in decimal, with six digits where they are not integers).
template <class... Parts>
std::string concat(const Parts&... parts) {
    std::string text;
    const auto append = [&text](const auto& part) {
        using Part = std::remove_cvref_t<decltype(part)>;
        if constexpr (std::is_floating_point_v<Part>) {
            text += number_text(double(part), std::chars_format::general, 6);
        } else if constexpr (std::is_arithmetic_v<Part> && !std::is_same_v<Part, char>) {
            text += std::to_string(part);
        } else {
            text += part;
        }
    };
    (append(parts), ...);
    return text;
}

/// "a, b, c", or `none` where the list is empty.
inline std::string list_of(const std::vector<std::string>& names, const char* none = "none") {
    std::string list;
    for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
    return list.empty() ? none : list;
}

/// Throws InvalidArgument with the parts as its message unless the condition is true.
template <class... Parts>
void require(bool condition, const Parts&... parts) {
    if (!condition) throw InvalidArgument(concat(parts...));
}

/// require whose error names the argument (InvalidArgument::argument).
template <class... Parts>
void require_argument(const char* argument, bool condition, const Parts&... parts) {
    if (!condition) throw InvalidArgument(concat(parts...), argument);
}

/// f(), whose InvalidArguments that name no argument name this one.
template <class F>
decltype(auto) naming_argument(const char* argument, F&& f) {
    try {
        return f();
    } catch (InvalidArgument& error) {  // Changed in place: the error may be of a derived class.
        error.name_argument(argument);
        throw;
    }
}

}  // namespace tessera
