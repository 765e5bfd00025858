#include "report/text.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "tessera/io.hpp"

namespace tessera::cli {

std::string format(const char* pattern, ...) {
    std::va_list arguments;
    va_start(arguments, pattern);
    std::va_list again;
    va_copy(again, arguments);
    const int length = std::vsnprintf(nullptr, 0, pattern, arguments);
    va_end(arguments);
    std::string result(std::size_t(std::max(length, 0)), '\0');
    std::vsnprintf(result.data(), result.size() + 1, pattern, again);
    va_end(again);
    return result;
}

std::string format_bytes(double bytes) {
    static constexpr std::array units = {"B", "kB", "MB", "GB", "TB", "PB"};
    std::size_t unit = 0;
    for (; bytes >= 1000 && unit + 1 < units.size(); ++unit) bytes /= 1000;
    return format(unit == 0 ? "%.0f %s" : "%.1f %s", bytes, units[unit]);
}

namespace {

/// $'...', which holds printable characters of ASCII only.
std::string escaped_shell_word(const std::string& word) {
    std::string quoted = "$'";
    for (const char c : word) {
        const bool plain = c >= ' ' && c <= '~' && c != '\'' && c != '\\';
        quoted += plain ? std::string(1, c) : format("\\%03o", static_cast<unsigned char>(c));
    }
    return quoted + "'";
}

}  // namespace

std::string shell_word(const std::string& word) {
    const auto plain = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               std::string_view("-_./:,=+@%").find(c) != std::string_view::npos;
    };
    if (!word.empty() && std::all_of(word.begin(), word.end(), plain)) return word;
    if (io::printable(word) != word) return escaped_shell_word(word);
    std::string quoted = "'";
    for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return quoted + "'";
}

std::string shell_file(const std::string& name) {
    return shell_word(name.starts_with('-') ? "./" + name : name);
}

namespace {

std::string json_string(std::string_view text) {
    using Json = nlohmann::json;
    return Json(text).dump(-1, ' ', true, Json::error_handler_t::replace);
}

template <class Items, class F>
std::string json_array(const Items& items, F&& text) {
    std::string array;
    for (const auto& item : items) array += (array.empty() ? "" : ", ") + text(item);
    return "[" + array + "]";
}

}  // namespace

JsonObject& JsonObject::add_raw(std::string_view key, std::string value) {
    if (!fields_.empty()) fields_ += ", ";
    fields_ += json_string(key) + ": " + std::move(value);
    return *this;
}

JsonObject& JsonObject::add(std::string_view key, std::string_view text) {
    return add_raw(key, json_string(text));
}
JsonObject& JsonObject::add(std::string_view key, bool value) {
    return add_raw(key, value ? "true" : "false");
}
JsonObject& JsonObject::add(std::string_view key, double number) {
    return add_raw(key, std::isfinite(number) ? format("%.17g", number) : "null");
}
JsonObject& JsonObject::add(std::string_view key, Offset number) {
    return add_raw(key, std::to_string(number));
}
JsonObject& JsonObject::add(std::string_view key, const JsonObject& object) {
    return add_raw(key, object.text());
}
JsonObject& JsonObject::add(std::string_view key, const std::vector<JsonObject>& array) {
    return add_raw(key, json_array(array, [](const JsonObject& item) { return item.text(); }));
}
JsonObject& JsonObject::add(std::string_view key, const std::vector<std::string>& array) {
    return add_raw(key,
                   json_array(array, [](const std::string& item) { return json_string(item); }));
}

std::string JsonObject::text() const { return "{" + fields_ + "}"; }

}  // namespace tessera::cli
