#include <algorithm>

#include "io/formats.hpp"
#include "io/text.hpp"
#include "tessera/spec.hpp"

namespace tessera::io {

namespace {

bool is_comment(std::string_view line) { return line[0] == '#' || line[0] == '%'; }

/// The words of a line, which commas or semicolons may divide as well.
std::vector<std::string_view> numbers_of(std::string& line) {
    std::ranges::replace(line, ',', ' ');
    std::ranges::replace(line, ';', ' ');
    return words(line);
}

/// Whether a number is missing before a comma or semicolon. One that ends a line follows its last
/// number.
bool lacks_number(std::string_view line) {
    bool has_number = false;
    for (const char c : line) {
        const bool divides = c == ',' || c == ';';
        if (divides && !has_number) return true;
        has_number = !divides && (has_number || !is_blank(c));
    }
    return false;
}

/// Whether a word may be one number with a decimal comma: digits, a comma, digits.
bool has_decimal_comma(std::string_view word) {
    const auto remove_digits = [&] {
        const std::size_t end = std::min(word.find_first_not_of("0123456789"), word.size());
        word.remove_prefix(end);
        return end > 0;
    };
    if (word.starts_with('+') || word.starts_with('-')) word.remove_prefix(1);
    if (!remove_digits() || !word.starts_with(',')) return false;
    word.remove_prefix(1);
    return remove_digits() && (word.empty() || word[0] == 'e' || word[0] == 'E');
}

/// Whether all words of a line, which commas do not divide, may be numbers with decimal commas.
bool has_decimal_commas(std::string line) {
    std::ranges::replace(line, ';', ' ');
    return std::ranges::all_of(words(line), has_decimal_comma);
}

/// Whether a word is a number, be it one that is refused: out of range, NaN or infinite.
bool is_number(std::string_view word) {
    double number = 0;
    return parse_real(word, number) != "not a number";
}

}  // namespace

bool is_plain_text(std::string_view start) {
    if (start.starts_with(byte_order_mark)) start.remove_prefix(byte_order_mark.size());
    while (!start.empty()) {
        const std::size_t end = start.find('\n');
        std::string line(trimmed(start.substr(0, end)));
        start.remove_prefix(end == start.npos ? start.size() : end + 1);
        if (line.empty() || is_comment(line)) continue;
        return std::ranges::all_of(numbers_of(line), is_number);
    }
    return false;
}

DenseColumns parse_plain_text(InputFile&& file) {
    skip_byte_order_mark(file.stream);
    Lines lines(file.stream);
    std::vector<double> by_rows;
    Index rows = 0;
    std::size_t width = 0;
    bool is_table = true, may_have_decimal_commas = true;
    Offset first_line = 0;
    with_error_line(file.name, lines.number(), [&] {
        std::string_view text;
        while (lines.next(text)) {
            std::string line(trimmed(text));
            if (line.empty() || is_comment(line)) continue;
            if (rows == 0) first_line = lines.number();
            may_have_decimal_commas = may_have_decimal_commas && has_decimal_commas(line);
            expect(!lacks_number(line), "a number is missing between commas, or before one");
            const auto found = numbers_of(line);
            for (const std::string_view word : found) by_rows.push_back(real_of(word, "value"));
            if (rows == 0) width = found.size();
            is_table = is_table && found.size() == width;
            ++rows;
        }
        return 0;
    });
    if (may_have_decimal_commas) {
        throw ParseError(file.name, first_line,
                         "commas divide numbers, but these look like decimals: write 1.5 for 1,5, "
                         "and 1 5 for two numbers");
    }
    // Numbers in lines of any length are one vector, and so are those of one line.
    if (!is_table || width == 1 || rows == 1) {
        return {Index(by_rows.size()), 1, std::move(by_rows)};
    }
    DenseColumns table{rows, Index(width), std::vector<double>(by_rows.size())};
    for (std::size_t i = 0; i < std::size_t(rows); ++i) {
        for (std::size_t j = 0; j < width; ++j) {
            table.values[j * std::size_t(rows) + i] = by_rows[i * width + j];
        }
    }
    return table;
}

}  // namespace tessera::io
