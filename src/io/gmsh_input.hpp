#pragma once

#include <bit>
#include <cstring>

#include "io/gmsh.hpp"
#include "io/text.hpp"

namespace tessera::io {

/// Walks a Gmsh file: words and lines of text, and numbers that are words or binary, whichever the
/// file holds. `what` names a number in messages.
class GmshInput {
  public:
    GmshInput(std::string_view bytes, GmshFile& file) : bytes_(bytes), file_(file) {}

    /// What was read last.
    GmshPlace place() const { return file_.binary ? GmshPlace(begin_) : begin_line_; }
    [[noreturn]] void fail(const std::string& message) const { file_.fail(place(), message); }

    /// False at the end of the file, blanks and empty lines left aside.
    bool more();
    /// The next word of text.
    std::string_view word(const char* what);
    /// The rest of the line, without blanks at its ends.
    std::string_view rest_of_line();
    /// Goes behind the end of the line, where binary numbers may start.
    void skip_line_end();
    Offset text_integer(const char* what, Offset least, Offset most);

    /// An int of the file: a word or 4 bytes.
    int integer(const char* what);
    /// A size_t of the file: a word or 8 bytes, not negative.
    Offset size(const char* what);
    /// Finite.
    double real(const char* what);

    /// Fails unless `count` items of so many numbers, ints (4 bytes) and others (8 bytes), can
    /// follow.
    void check_count(Offset count, const char* what, Offset ints, Offset others) const;

    /// The first 4 bytes of binary data are the number 1, in the file's byte order.
    void take_byte_order();
    void expect_end(std::string_view section);
    /// Goes behind the end of a section.
    void skip_section(std::string_view section);

  private:
    void skip_blanks();

    template <class Word>
    Word binary_number(const char* what) {
        begin_ = position_;
        if (bytes_.size() - position_ < sizeof(Word)) {
            fail(std::string("the file ends where ") + what + " should be");
        }
        char number[sizeof(Word)];
        std::memcpy(number, bytes_.data() + position_, sizeof(Word));
        if (swapped_) {
            for (std::size_t k = 0; k < sizeof(Word) / 2; ++k) {
                std::swap(number[k], number[sizeof(Word) - 1 - k]);
            }
        }
        position_ += sizeof(Word);
        return std::bit_cast<Word>(number);
    }

    std::string_view bytes_;
    GmshFile& file_;
    std::size_t begin_ = 0;     ///< Of what was read last.
    std::size_t position_ = 0;  ///< Behind it.
    Offset begin_line_ = 1;
    Offset line_ = 1;
    bool swapped_ = false;
};

}  // namespace tessera::io
