#pragma once

#include <cmath>
#include <limits>
#include <utility>

#include "io/gmsh/gmsh.hpp"

namespace tessera::io {

inline constexpr int min_int = std::numeric_limits<int>::min();
inline constexpr int max_int = std::numeric_limits<int>::max();

/// Reads a Gmsh file word by word or number by number; numbers are text or binary, depending on the
/// file. `what` names a number in messages.
class GmshInput {
  public:
    explicit GmshInput(InputStream& stream) : stream_(stream) {}

    /// Location of the word or number read last.
    GmshLocation location() const { return binary ? begin_ : begin_line_; }

    /// Skips blanks and empty lines; false at the end of the file.
    bool more() {
        do {
            for (; at_ < window_.size() && is_space(window_[at_]); ++at_) {
                line_ += window_[at_] == '\n';
            }
        } while (at_ == window_.size() && load(1));
        begin();
        return at_ < window_.size();
    }

    /// A word; valid until the next one is read.
    std::string_view word(const char* what) {
        expect(more(), "the file ends where ", what, " should be");
        return text_until(is_space);
    }

    std::string_view rest_of_line() {
        begin();
        return trimmed(text_until([](char c) { return c == '\n'; }));
    }

    /// Moves past the end of the line, where binary numbers may start.
    void end_line() {
        expect(rest_of_line().empty(), "expected nothing else in this line");
        if (at_ == window_.size()) return;
        ++at_;
        ++line_;
    }

    Offset text_integer(const char* what, Offset low, Offset high) {
        const std::string_view text = word(what);
        expect(!text.starts_with('$'), "expected ", what, ", found ", Quoted{text},
               ": the section is shorter than its counts say");
        const Offset number = integer_of(text, what);
        expect(number <= high, what, " ", Quoted{text}, " is too large");
        expect(number >= low, what, " ", Quoted{text}, low == 0 ? " is negative" : " is too small");
        return number;
    }

    template <class Word>
    Word binary_number(const char* what) {
        begin();
        expect(window_.size() - at_ >= sizeof(Word) || load(sizeof(Word)), "the file ends where ",
               what, " should be");
        at_ += sizeof(Word);
        return load_number<Word>(window_.data() + at_ - sizeof(Word), swapped);
    }

    /// An int of the file: a word or 4 bytes.
    int integer(const char* what) {
        return binary ? binary_number<std::int32_t>(what)
                      : int(text_integer(what, min_int, max_int));
    }

    /// A size_t of the file: a word or 8 bytes, not negative.
    Offset size(const char* what) {
        if (!binary) return text_integer(what, 0, std::numeric_limits<Offset>::max());
        return not_negative(what, binary_number<std::int64_t>(what));
    }

    /// A tag of a node or element: an int in binary files of version 2.2, else a size_t.
    Offset tag(const char* what) {
        return is_version_4 || !binary ? size(what) : not_negative(what, integer(what));
    }

    /// A finite floating-point number.
    double real(const char* what) {
        if (!binary) {
            const std::string_view text = word(what);
            expect(!text.starts_with('$'), "expected ", what, ", found ", Quoted{text},
                   ": numbers are missing in this section (a node has a tag, x, y and z)");
            return real_of(text, what);
        }
        const double number = binary_number<double>(what);
        expect(std::isfinite(number), what, " is not finite");
        return number;
    }

    /// Reads a count, a size_t, and checks it as below.
    Offset item_count(const char* what, Offset ints, Offset others) {
        return checked(size(concat("the number of ", what).c_str()), what, ints, others);
    }

    /// Returns `count`; throws if it is negative, or if the size of the file is known and too small
    /// for so many items of `ints` 4-byte and `others` 8-byte numbers.
    Offset checked(Offset count, const char* what, Offset ints, Offset others) const {
        // A number in a text needs at least two bytes, a digit and a blank.
        const Offset bytes = binary ? 4 * ints + 8 * others : 2 * (ints + others);
        expect(count >= 0, count, " ", what, ": a count cannot be negative");
        if (!stream_.size()) return count;
        const Offset left = *stream_.size() - position() + 1;
        expect(count <= left / bytes, count, " ", what, " are claimed, but only ", left - 1,
               " bytes follow");
        return count;
    }

    void expect_end(std::string_view section) {
        const std::string end = concat("$End", section);
        const std::string_view found = word(end.c_str());
        expect(found == end, "expected ", end, ", found ", Quoted{found},
               ": the section is longer than its counts say");
    }

    /// Moves from the beginning of a line to the end of a section that is not read.
    void skip_section(std::string_view section) {
        const std::string end = concat("\n$End", section);
        if (load(end.size() - 1) && window_.starts_with(std::string_view(end).substr(1))) return;
        for (std::size_t found = std::string_view::npos; found == std::string_view::npos;) {
            found = window_.find(end, at_);
            // The beginning of the end may be in the window.
            const std::size_t next =
                std::min(found, window_.size() - std::min(window_.size(), end.size() - 1));
            if (!binary) line_ += std::ranges::count(window_.substr(0, next).substr(at_), '\n');
            at_ = next;
            expect(found == next || load(window_.size() - at_ + 1), "the section has no $End",
                   section);
        }
    }

  protected:
    bool binary = false;
    bool swapped = false;       ///< Binary numbers are in the other byte order.
    bool is_version_4 = false;  ///< Version 4.1.

  private:
    static bool is_space(char c) { return is_blank(c) || c == '\n'; }

    static Offset not_negative(const char* what, Offset number) {
        expect(number >= 0, what, " ", number, " is negative");
        return number;
    }

    Offset position() const { return stream_.position() + Offset(at_); }

    void begin() {
        begin_ = position();
        begin_line_ = line_;
    }

    /// Moves the window to the position; false if the file ends before it has that many bytes.
    bool load(std::size_t bytes) {
        stream_.skip(std::exchange(at_, 0));
        window_ = stream_.peek(bytes);
        return window_.size() >= bytes;
    }

    /// The text up to the first character with ends(c).
    template <class Ends>
    std::string_view text_until(Ends&& ends) {
        std::size_t length = 0;
        do {
            while (at_ + length < window_.size() && !ends(window_[at_ + length])) ++length;
            expect(length <= max_line_bytes, long_line_message);
        } while (at_ + length == window_.size() && load(length + 1));
        at_ += length;
        return window_.substr(at_ - length, length);
    }

    InputStream& stream_;
    std::string_view window_;  ///< Some bytes of the stream, not skipped there yet.
    std::size_t at_ = 0;       ///< End of the word or number read last in the window.
    Offset begin_ = 0;         ///< Its start in the file.
    Offset begin_line_ = 1;
    Offset line_ = 1;
};

}  // namespace tessera::io
