#include "io/gmsh_input.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tessera/error.hpp"
#include "tessera/spec.hpp"

namespace tessera::io {

namespace {

constexpr int least_int = std::numeric_limits<int>::min();
constexpr int most_int = std::numeric_limits<int>::max();

bool is_space(char c) { return is_blank(c) || c == '\n'; }

}  // namespace

void GmshInput::skip_blanks() {
    while (position_ < bytes_.size() && is_space(bytes_[position_])) {
        line_ += bytes_[position_] == '\n';
        ++position_;
    }
    begin_ = position_;
    begin_line_ = line_;
}

bool GmshInput::more() {
    skip_blanks();
    return position_ < bytes_.size();
}

std::string_view GmshInput::word(const char* what) {
    if (!more()) fail(std::string("the file ends where ") + what + " should be");
    while (position_ < bytes_.size() && !is_space(bytes_[position_])) ++position_;
    return bytes_.substr(begin_, position_ - begin_);
}

std::string_view GmshInput::rest_of_line() {
    begin_ = position_;
    begin_line_ = line_;
    const std::size_t end = std::min(bytes_.find('\n', position_), bytes_.size());
    position_ = end;
    return trimmed(bytes_.substr(begin_, end - begin_));
}

void GmshInput::skip_line_end() {
    if (position_ < bytes_.size() && bytes_[position_] == '\n') {
        ++position_;
        ++line_;
    }
}

Offset GmshInput::text_integer(const char* what, Offset least, Offset most) {
    const std::string_view text = word(what);
    Offset number = 0;
    std::string reason = parse_integer(text, number);
    if (reason.empty() && number < least) reason = least == 0 ? "negative" : "too small";
    if (reason.empty() && number > most) reason = "too large";
    if (reason.empty()) return number;
    if (text.starts_with('$')) {
        fail(std::string("expected ") + what + ", found " + shown(text) +
             ": the section is shorter than its counts say");
    }
    fail(std::string(what) + " " + shown(text) + " is " + reason);
}

int GmshInput::integer(const char* what) {
    if (file_.binary) return binary_number<std::int32_t>(what);
    return int(text_integer(what, least_int, most_int));
}

Offset GmshInput::size(const char* what) {
    if (!file_.binary) return text_integer(what, 0, std::numeric_limits<Offset>::max());
    const Offset number = binary_number<std::int64_t>(what);
    if (number < 0) fail(std::string(what) + " " + std::to_string(number) + " is negative");
    return number;
}

double GmshInput::real(const char* what) {
    if (file_.binary) {
        const double number = binary_number<double>(what);
        if (!std::isfinite(number)) fail(std::string(what) + " is not finite");
        return number;
    }
    const std::string_view text = word(what);
    double number = 0;
    const std::string reason = parse_real(text, number);
    if (!reason.empty()) fail(std::string(what) + " " + shown(text) + " is " + reason);
    return number;
}

void GmshInput::check_count(Offset count, const char* what, Offset ints, Offset others) const {
    // A number in a text takes two bytes at least, a digit and a blank.
    const Offset least = file_.binary ? 4 * ints + 8 * others : 2 * (ints + others);
    const Offset left = Offset(bytes_.size() - position_) + 1;
    if (count >= 0 && count <= left / least) return;
    fail(std::to_string(count) + " " + what +
         (count < 0 ? ": a count cannot be negative"
                    : " are claimed, but only " + std::to_string(left - 1) + " bytes follow"));
}

void GmshInput::take_byte_order() {
    if (!rest_of_line().empty()) fail("expected nothing else in this line");
    skip_line_end();
    const std::int32_t one = binary_number<std::int32_t>("the number that tells the byte order");
    if (one == 1) return;
    if (one != 1 << 24) fail("expected the number 1, which tells the byte order");
    swapped_ = true;
}

void GmshInput::expect_end(std::string_view section) {
    const std::string end = "$End" + std::string(section);
    const std::string_view found = word(end.c_str());
    if (found == end) return;
    fail("expected " + end + ", found " + shown(found) +
         ": the section is longer than its counts say");
}

void GmshInput::skip_section(std::string_view section) {
    const std::string end = "$End" + std::string(section);
    const std::size_t found = bytes_.find("\n" + end, position_);
    if (found == std::string_view::npos) fail("the section has no " + end);
    if (!file_.binary) {
        line_ += std::count(bytes_.begin() + std::ptrdiff_t(position_),
                            bytes_.begin() + std::ptrdiff_t(found), '\n');
    }
    position_ = found;
    expect_end(section);
}

}  // namespace tessera::io
