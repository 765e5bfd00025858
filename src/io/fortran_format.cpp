#include "io/fortran_format.hpp"

#include <algorithm>
#include <cctype>
#include <optional>

namespace tessera::io {

namespace {

/// Recursive descent over
///   list := "(" item { [","] item } ")"
///   item := k"P" | [n]"X" | [n]list | [n](I|E|D|F|G|ES|EN)w["."d]["E"e]
class FormatParser {
  public:
    explicit FormatParser(std::string_view text) {
        for (const char c : text) {
            if (c != ' ') text_ += char(std::toupper(static_cast<unsigned char>(c)));
        }
    }

    std::string parse(std::vector<FortranField>& fields) {
        list(0);
        if (error_.empty() && at_ != text_.size()) error_ = "text behind the last parenthesis";
        if (error_.empty() && fields_.empty()) error_ = "no number in it";
        fields = fields_;
        return error_;
    }

  private:
    // A line is not longer than this, and a format has not more items, repeats counted.
    static constexpr std::size_t most_columns = 1 << 16;
    static constexpr int most_items = 1 << 14;
    static constexpr int deepest = 8;

    char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

    void fail(const std::string& what) {
        if (error_.empty()) error_ = what;
    }

    std::optional<std::size_t> number() {
        if (!std::isdigit(static_cast<unsigned char>(peek()))) return std::nullopt;
        std::size_t value = 0;
        while (std::isdigit(static_cast<unsigned char>(peek()))) {
            value = std::min(10 * value + std::size_t(text_[at_++] - '0'), most_columns);
        }
        return value;
    }

    void list(int depth) {
        if (depth > deepest) return fail("parentheses too deep");
        if (peek() != '(') return fail("'(' expected");
        ++at_;
        while (error_.empty() && peek() != ')') {
            if (peek() == '\0') return fail("')' missing");
            if (peek() == ',') {
                ++at_;
            } else {
                item(depth);
            }
        }
        ++at_;
    }

    void item(int depth) {
        if (++items_ > most_items) return fail("too many items");
        const bool negative = peek() == '-';
        if (negative) ++at_;
        const std::optional<std::size_t> count = number();
        const std::size_t repeat = count.value_or(1);
        const char kind = peek();
        if (kind == 'P' && count) {
            ++at_;
            scale_ = negative ? -int(*count) : int(*count);
        } else if (negative) {
            fail("a sign without P");
        } else if (kind == 'X') {
            ++at_;
            advance(repeat);
        } else if (kind == '(') {
            group(depth, repeat);
        } else {
            numbers(repeat);
        }
    }

    void group(int depth, std::size_t repeat) {
        // Fortran starts the next line at the last such group, not at the beginning.
        if (depth == 0 && !fields_.empty()) return fail("numbers in front of a group");
        const std::size_t begin = at_;
        for (std::size_t k = 0; k < std::max<std::size_t>(repeat, 1) && error_.empty(); ++k) {
            if (++items_ > most_items) return fail("too many items");
            at_ = begin;
            list(depth + 1);
        }
    }

    void numbers(std::size_t repeat) {
        const char kind = peek();
        if (std::string_view("IEDFG").find(kind) == std::string_view::npos || kind == '\0') {
            return fail(std::string("'") + kind + "' is none of I, E, D, F, G, P, X");
        }
        ++at_;
        if (kind == 'E' && (peek() == 'S' || peek() == 'N')) ++at_;
        const std::optional<std::size_t> width = number();
        if (!width || *width == 0) return fail("a number without its width");
        std::size_t decimals = 0;
        if (peek() == '.') {
            ++at_;
            decimals = number().value_or(0);
            if (peek() == 'E') {
                ++at_;
                number();
            }
        }
        for (std::size_t k = 0; k < repeat && error_.empty(); ++k) {
            if (++items_ > most_items) return fail("too many items");
            fields_.push_back({column_, *width, decimals, scale_, kind == 'I'});
            advance(*width);
        }
    }

    void advance(std::size_t columns) {
        column_ += columns;
        if (column_ > most_columns) fail("the line is too long");
    }

    std::string text_;
    std::size_t at_ = 0;
    std::size_t column_ = 0;
    int items_ = 0;
    int scale_ = 0;
    std::vector<FortranField> fields_;
    std::string error_;
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

std::string parse_fortran_format(std::string_view text, std::vector<FortranField>& fields) {
    return FormatParser(text).parse(fields);
}

std::string fortran_number(std::string_view text, const FortranField& field) {
    std::string number;
    for (const char c : text) {
        if (c != ' ') number += c;
    }
    if (field.integer) return number;
    std::size_t mantissa = 0;  // where the mantissa ends
    while (mantissa < number.size() &&
           (is_digit(number[mantissa]) || number[mantissa] == '.' ||
            (mantissa == 0 && (number[0] == '-' || number[0] == '+')))) {
        ++mantissa;
    }
    if (mantissa == 0 || !(is_digit(number[mantissa - 1]) || number[mantissa - 1] == '.')) {
        return number;
    }
    if (field.scale != 0 && mantissa == number.size()) {
        number += "E" + std::to_string(-field.scale);
    }
    if (field.decimals > 0 && number.find('.') == std::string::npos) {
        const std::size_t first = is_digit(number[0]) ? 0 : 1;
        const std::size_t digits = mantissa - first;
        if (digits <= field.decimals) {
            number.insert(first, field.decimals - digits + 1, '0');
            mantissa += field.decimals - digits + 1;
        }
        number.insert(mantissa - field.decimals, 1, '.');
    }
    return number;
}

}  // namespace tessera::io
