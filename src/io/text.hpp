#pragma once

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "base/concat.hpp"
#include "io/input_stream.hpp"
#include "tessera/io.hpp"

/// Words, lines and numbers for readers and writers.
namespace tessera::io {

/// An error in the input just read; the reader adds the line and throws a ParseError.
struct InputError {
    std::string message;
};
template <class... Parts>
[[noreturn]] void reject(const Parts&... parts) {
    throw InputError{concat(parts...)};
}
template <class... Parts>
void expect(bool condition, const Parts&... parts) {
    if (!condition) reject(parts...);
}

/// f(); its InputError is thrown as a ParseError at `line` (0: no line), which f may change.
template <class F>
auto with_error_line(const std::string& name, const Offset& line, F&& f) {
    try {
        return f();
    } catch (const InputError& error) {
        throw ParseError(name, line, error.message);
    }
}

/// Blanks between the words of a line; '\r' so that lines may end in CRLF.
constexpr bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

/// The words of a line.
std::vector<std::string_view> words(std::string_view line);

/// The line without blanks at its ends.
std::string_view trimmed(std::string_view line);

// Letters of ASCII alone, in whatever locale.
std::string lower_case(std::string_view text);
std::string upper_case(std::string_view text);

/// 'text' in a message: in quotes, at most 60 characters, unprintable ones as '?'.
struct Quoted {
    std::string_view text;
};
std::string& operator+=(std::string& message, Quoted quoted);

/// The number in a word. Rejects others; `what` names it: "row 'x' is not an integer".
Offset integer_of(std::string_view word, const char* what);
double real_of(std::string_view word, const char* what);

/// The lines of an input, one after another.
class Lines {
  public:
    explicit Lines(InputStream& stream) : stream_(stream) {}

    /// Sets `line` (without its end; valid until the next call) and counts it; false at the end.
    /// Rejects a line of more than max_line_bytes.
    bool next(std::string_view& line);
    const Offset& number() const { return number_; }

  private:
    InputStream& stream_;
    Offset number_ = 0;
};

/// A binary number; `swap`: in the other byte order.
template <class Number>
Number load_number(const char* bytes, bool swap) {
    char copy[sizeof(Number)];
    std::memcpy(copy, bytes, sizeof(Number));
    if (swap) std::reverse(copy, copy + sizeof(Number));
    return std::bit_cast<Number>(copy);
}

template <class Number>
void append_number(std::string& bytes, Number number, bool swap = false) {
    static_assert(std::endian::native == std::endian::little);
    number = load_number<Number>(reinterpret_cast<const char*>(&number), swap);
    bytes.append(reinterpret_cast<const char*>(&number), sizeof(Number));
}

/// Throws InvalidArgument unless `cpu` is a CPU context.
void require_cpu(const Context& cpu, const char* function);

}  // namespace tessera::io
