#include "report/text.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "tessera/types.hpp"

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

std::string shell_word(const std::string& word) {
    const auto plain = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               std::string_view("-_./:,=+@%").find(c) != std::string_view::npos;
    };
    if (!word.empty() && std::all_of(word.begin(), word.end(), plain)) return word;
    std::string quoted = "'";
    for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return quoted + "'";
}

void write_text(const std::string& path, const std::string& text) {
    if (path == "-") {
        std::cout << text << std::flush;
        if (!std::cout) throw InvalidArgument("stdout cannot be written");
        return;
    }
    std::ofstream file(path, std::ios::binary);
    file << text << std::flush;
    if (!file) throw InvalidArgument("'" + path + "' cannot be written");
}

void check_output(const std::string& option, const std::string& path,
                  const std::vector<std::string>& inputs) {
    if (path.empty() || path == "-") return;
    const std::filesystem::path file(path);
    const std::filesystem::path folder = file.has_parent_path() ? file.parent_path() : ".";
    std::error_code error;
    if (!std::filesystem::is_directory(folder, error)) {
        throw InvalidArgument(option + ": there is no folder '" + folder.string() +
                              "'; create it first");
    }
    if (std::filesystem::is_directory(file, error)) {
        throw InvalidArgument(option + ": '" + path + "' is a folder; name a file");
    }
    // Only creating a file shows whether it can be created.
    const int created = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (created >= 0) {
        ::close(created);
        ::unlink(path.c_str());
    } else if (errno != EEXIST || (::access(path.c_str(), W_OK) != 0 && errno != ENOENT)) {
        throw InvalidArgument(option + ": '" + path +
                              "' cannot be written: " + std::strerror(errno));
    }
    for (const std::string& input : inputs) {
        if (std::filesystem::equivalent(file, input, error)) {
            throw InvalidArgument(
                option + ": '" + path +
                "' is read by this command and would be overwritten; name another file");
        }
    }
}

void check_ending(const std::string& option, const std::string& path) {
    if (path.ends_with(".mtx") || path.ends_with(".mtx.gz") || path.ends_with(".petsc")) return;
    throw InvalidArgument(option + ": '" + path + "' must end in .mtx, .mtx.gz or .petsc");
}

namespace {

std::string json_string(std::string_view text) {
    std::string quoted = "\"";
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == '"' || c == '\\') {
            quoted += '\\';
            quoted += c;
        } else if (c == '\n') {
            quoted += "\\n";
        } else if (byte < 0x20 || byte == 0x7f) {
            quoted += format("\\u%04x", byte);
        } else {
            quoted += c;
        }
    }
    return quoted + "\"";
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
