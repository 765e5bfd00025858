#pragma once

#include <cmath>
#include <limits>

#include "io/gmsh/gmsh.hpp"
#include "io/text.hpp"

namespace tessera::io {

/// Reads a Gmsh file word by word or number by number; numbers are words or binary, whichever the
/// file holds. `what` names a number in messages.
class GmshInput {
  public:
    explicit GmshInput(std::string_view bytes) : bytes_(bytes) {}

    /// What was read last.
    GmshPlace place() const { return binary ? GmshPlace(begin_) : begin_line_; }

    /// False at the end of the file, blanks and empty lines left aside.
    bool more() {
        while (position_ < bytes_.size() && is_space(bytes_[position_])) {
            line_ += bytes_[position_] == '\n';
            ++position_;
        }
        begin_ = position_;
        begin_line_ = line_;
        return position_ < bytes_.size();
    }

    std::string_view word(const char* what) {
        if (!more()) reject(std::string("the file ends where ") + what + " should be");
        while (position_ < bytes_.size() && !is_space(bytes_[position_])) ++position_;
        return bytes_.substr(begin_, position_ - begin_);
    }

    std::string_view rest_of_line() {
        begin_ = position_;
        begin_line_ = line_;
        position_ = std::min(bytes_.find('\n', position_), bytes_.size());
        return trimmed(bytes_.substr(begin_, position_ - begin_));
    }

    /// Goes after the end of the line, where binary numbers may start.
    void end_line() {
        if (!rest_of_line().empty()) reject("expected nothing else in this line");
        if (position_ == bytes_.size()) return;
        ++position_;
        ++line_;
    }

    Offset text_integer(const char* what, Offset low, Offset high) {
        const std::string_view text = word(what);
        if (text.starts_with('$')) {
            reject(std::string("expected ") + what + ", found " + shown(text) +
                   ": the section is shorter than its counts say");
        }
        const Offset number = integer_of(text, what);
        if (number >= low && number <= high) return number;
        reject(std::string(what) + " " + shown(text) + " is " +
               (number > high ? "too large"
                : low == 0    ? "negative"
                              : "too small"));
    }

    template <class Word>
    Word binary_number(const char* what) {
        begin_ = position_;
        if (bytes_.size() - position_ < sizeof(Word)) {
            reject(std::string("the file ends where ") + what + " should be");
        }
        position_ += sizeof(Word);
        return load_number<Word>(bytes_.data() + begin_, swapped);
    }

    /// An int of the file: a word or 4 bytes.
    int integer(const char* what) {
        if (binary) return binary_number<std::int32_t>(what);
        return int(
            text_integer(what, std::numeric_limits<int>::min(), std::numeric_limits<int>::max()));
    }

    /// A size_t of the file: a word or 8 bytes, not negative.
    Offset size(const char* what) {
        if (!binary) return text_integer(what, 0, std::numeric_limits<Offset>::max());
        return not_negative(what, binary_number<std::int64_t>(what));
    }

    /// A tag of a node or element: an int in version 2.2, a size_t in 4.1.
    Offset tag(const char* what) { return newer ? size(what) : not_negative(what, integer(what)); }

    /// Finite.
    double real(const char* what) {
        if (!binary) return real_of<double>(word(what), what);
        const double number = binary_number<double>(what);
        if (!std::isfinite(number)) reject(std::string(what) + " is not finite");
        return number;
    }

    /// A number of items, each of so many ints (4 bytes) and others (8 bytes), that can follow.
    Offset checked(Offset count, const char* what, Offset ints, Offset others) const {
        // A number in a text takes two bytes at least, a digit and a blank.
        const Offset bytes = binary ? 4 * ints + 8 * others : 2 * (ints + others);
        const Offset left = Offset(bytes_.size() - position_) + 1;
        if (count >= 0 && count <= left / bytes) return count;
        reject(std::to_string(count) + " " + what +
               (count < 0
                    ? ": a count cannot be negative"
                    : " are claimed, but only " + std::to_string(left - 1) + " bytes follow"));
    }

    void expect_end(std::string_view section) {
        const std::string end = "$End" + std::string(section);
        const std::string_view found = word(end.c_str());
        if (found == end) return;
        reject("expected " + end + ", found " + shown(found) +
               ": the section is longer than its counts say");
    }

    /// Goes to the end of a section that is not read.
    void skip_section(std::string_view section) {
        const std::string end = "\n$End" + std::string(section);
        std::size_t found = bytes_.find(end, position_ - 1);
        if (found == std::string_view::npos) reject("the section has no " + end.substr(1));
        found = std::max(found, position_);
        if (!binary) line_ += std::ranges::count(bytes_.substr(0, found).substr(position_), '\n');
        position_ = found;
    }

  protected:
    bool binary = false;
    bool swapped = false;  ///< Binary numbers are in the other byte order.
    bool newer = false;    ///< Version 4.1.

  private:
    static bool is_space(char c) { return is_blank(c) || c == '\n'; }

    static Offset not_negative(const char* what, Offset number) {
        if (number >= 0) return number;
        reject(std::string(what) + " " + std::to_string(number) + " is negative");
    }

    std::string_view bytes_;
    std::size_t begin_ = 0;     ///< Of what was read last.
    std::size_t position_ = 0;  ///< After it.
    Offset begin_line_ = 1;
    Offset line_ = 1;
};

}  // namespace tessera::io
