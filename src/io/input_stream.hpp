#pragma once

#include <concepts>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/types.hpp"

namespace tessera::io {

/// Longest line of a text that is read.
inline constexpr std::size_t max_line_bytes = std::size_t(1) << 20;
inline constexpr const char* long_line_message = "the line is longer than 1 MiB";

/// The bytes of an input, read once from the beginning to the end.
class InputStream {
  public:
    /// Bytes in memory, which must outlive the stream.
    template <std::convertible_to<std::string_view> Text>
    InputStream(const Text& text) : text_(text), size_(text_.size()) {}

    /// A file or pipe; of a gzipped one (by its first bytes, 1f 8b) the unzipped bytes. Rejects
    /// what does not exist (naming the nearest file in the folder), folders and unreadable files;
    /// the functions below throw a ParseError that names the file if it cannot be read, is a broken
    /// gzip stream, or was changed since it was opened.
    static InputStream open(const std::string& path);

    /// All bytes that are in memory, at least `bytes` of them unless the input ends before; valid
    /// until the next call of `peek` or `read`.
    std::string_view peek(std::size_t bytes);
    /// Skips bytes that `peek` returned.
    void skip(std::size_t bytes) { begin_ += bytes; }
    /// Reads the next bytes; returns their number, less than `bytes` at the end only.
    std::size_t read(char* to, std::size_t bytes);
    /// Reads whole lines, `bytes` or one line at least unless the input ends before; the text ends
    /// in
    /// '\n', so that loops over digits and blanks need no other end. Of a line longer than
    /// max_line_bytes it is more than that many bytes.
    std::string_view read_lines(std::size_t bytes, std::vector<char>& memory);

    /// Bytes passed so far.
    Offset position() const { return loaded_ - Offset(end_ - begin_); }
    /// Bytes of the input; unknown for pipes and gzipped files until their end was read.
    std::optional<Offset> size() const { return size_; }
    void check_unchanged() const;
    /// Reads the rest, so that the checksum of a gzipped file is checked.
    void finish();

  private:
    struct File;

    std::size_t load(char* to, std::size_t bytes);
    std::string_view unread() const { return {buffer_.data() + begin_, end_ - begin_}; }

    std::shared_ptr<File> file_;  ///< Null for bytes in memory.
    std::string_view text_;       ///< The bytes in memory that are not loaded.
    std::optional<Offset> size_;
    bool ended_ = false;
    Offset loaded_ = 0;         ///< Bytes taken from the file.
    std::vector<char> buffer_;  ///< The unread bytes are begin_ .. end_.
    std::size_t begin_ = 0;
    std::size_t end_ = 0;
};

}  // namespace tessera::io
