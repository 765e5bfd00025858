#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tessera/io.hpp"

/// What the readers of text files share.
namespace tessera::io {

/// Blanks between the words of a line; '\r' so that lines may end in CRLF.
constexpr bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

/// The words of a line.
std::vector<std::string_view> words(std::string_view line);

/// The line without blanks at its ends.
std::string_view trimmed(std::string_view line);

std::string lower_case(std::string_view text);

/// 'text' for a message: in quotes, at most 60 characters, unprintable ones as '?'.
std::string shown(std::string_view text);

/// Walks the lines of a text.
class Lines {
  public:
    explicit Lines(std::string_view text) : text_(text) {}

    /// Sets `line` (without its end) and counts it; false at the end of the text.
    bool next(std::string_view& line);
    Offset number() const { return number_; }
    std::size_t position() const { return position_; }

  private:
    std::string_view text_;
    std::size_t position_ = 0;
    Offset number_ = 0;
};

/// Throws ParseError unless 0 <= size <= 2^31 - 1 and, so that a damaged file cannot ask for all
/// memory, size <= max(2^20, 16 file_bytes) or options.allow_empty_rows.
void check_size(const std::string& name, Offset line, const char* what, Offset size,
                std::size_t file_bytes, const ReadOptions& options);

/// Throws InvalidArgument unless `cpu` is a CPU context.
void require_cpu(const Context& cpu, const char* function);

}  // namespace tessera::io
