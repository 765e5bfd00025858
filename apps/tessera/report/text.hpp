#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tessera/types.hpp"

namespace tessera::cli {

/// std::snprintf into a string.
__attribute__((format(printf, 1, 2))) std::string format(const char* pattern, ...);

/// "12.3 GB" (powers of 1000).
std::string format_bytes(double bytes);

/// A word of a shell command, quoted if a shell would split or expand it.
std::string shell_word(const std::string& word);

/// Writes to a file, or to stdout for "-". Throws InvalidArgument if that fails.
void write_text(const std::string& path, const std::string& text);

/// Throws InvalidArgument unless the file can be written and is none of `inputs`, which may include
/// words that are not files. An existing file is not changed. Empty and "-" are allowed.
void check_output(const std::string& option, const std::string& path,
                  const std::vector<std::string>& inputs);

/// Throws InvalidArgument unless the ending chooses a format to write.
void check_ending(const std::string& option, const std::string& path);

/// Text of JSON: an object whose fields keep their order.
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
