#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tessera/types.hpp"

namespace tessera::cli {

/// std::snprintf into a string.
__attribute__((format(printf, 1, 2))) std::string format(const char* pattern, ...);

/// "1 row", "2 rows".
inline std::string plural(Offset count, const char* word) {
    return std::to_string(count) + " " + word + (count == 1 ? "" : "s");
}

/// "12.3 GB" (powers of 1000).
std::string format_bytes(double bytes);

/// A word of a shell command, quoted if a shell would split or expand it, or a terminal would obey
/// it; then as $'...', which bash, zsh and ksh understand.
std::string shell_word(const std::string& word);

/// The name of a file as a word of a shell command that is no option: "./-a" for "-a".
std::string shell_file(const std::string& name);

/// Text of JSON, in ASCII: an object whose fields keep their order. Bytes that are not UTF-8, in
/// names of files, become U+FFFD.
class JsonObject {
  public:
    JsonObject& add(std::string_view key, std::string_view text);
    JsonObject& add(std::string_view key, const char* text) {
        return add(key, std::string_view(text));
    }
    JsonObject& add(std::string_view key, bool value);
    JsonObject& add(std::string_view key, double number);  ///< null if it is not finite.
    JsonObject& add(std::string_view key, Offset number);
    JsonObject& add(std::string_view key, const JsonObject& object);
    JsonObject& add(std::string_view key, const std::vector<JsonObject>& array);
    JsonObject& add(std::string_view key, const std::vector<std::string>& array);
    std::string text() const;

  private:
    JsonObject& add_raw(std::string_view key, std::string value);
    std::string fields_;
};

}  // namespace tessera::cli
