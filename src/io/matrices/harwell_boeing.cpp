#include <cctype>
#include <limits>
#include <optional>

#include "io/formats.hpp"
#include "io/matrices/assemble.hpp"
#include "io/text.hpp"
#include "tessera/spec.hpp"

namespace tessera::io {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_one_of(char c, std::string_view choices) {
    return choices.find(c) != std::string_view::npos;
}

/// Recursive descent over
///   list := "(" { item | "," } ")"
///   item := k"P" | [n]"X" | [n]list | [n](I|E|D|F|G|ES|EN)w["."d]["E"e]
class FormatParser {
  public:
    explicit FormatParser(std::string_view text) {
        text_ = upper_case(text);
        std::erase(text_, ' ');
    }

    std::vector<FortranField> parse() {
        list(0);
        expect(at_ == text_.size(), "text after the last parenthesis");
        expect(!fields_.empty(), "no number in it");
        return std::move(fields_);
    }

  private:
    // Bound on the characters of a line and on the items of a format, repeats counted.
    static constexpr std::size_t max_columns = 1 << 16;
    static constexpr int max_items = 1 << 14;
    static constexpr int max_depth = 8;

    char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
    bool skip(char c) {
        if (peek() != c) return false;
        ++at_;
        return true;
    }

    std::optional<std::size_t> number() {
        if (!is_digit(peek())) return std::nullopt;
        std::size_t value = 0;
        while (is_digit(peek())) {
            value = std::min(10 * value + std::size_t(text_[at_++] - '0'), max_columns);
        }
        return value;
    }

    void count_item() { expect(++items_ <= max_items, "too many items"); }

    void list(int depth) {
        expect(depth <= max_depth, "parentheses nested too deep");
        expect(skip('('), "'(' expected");
        while (!skip(')')) {
            expect(at_ < text_.size(), "')' missing");
            if (!skip(',')) item(depth);
        }
    }

    void item(int depth) {
        count_item();
        const bool negative = skip('-');
        const std::optional<std::size_t> count = number();
        const std::size_t repeat = count.value_or(1);
        if (count && skip('P')) {
            scale_ = negative ? -int(*count) : int(*count);
        } else if (negative) {
            reject("a sign without P");
        } else if (skip('X')) {
            advance(repeat);
        } else if (peek() == '(') {
            // Fortran starts the next line at the last such group, not at the beginning.
            expect(depth > 0 || fields_.empty(), "numbers before a group");
            const std::size_t begin = at_;
            for (std::size_t k = 0; k < std::max<std::size_t>(repeat, 1); ++k) {
                count_item();
                at_ = begin;
                list(depth + 1);
            }
        } else {
            numbers(repeat);
        }
    }

    void numbers(std::size_t repeat) {
        const char kind = peek();
        expect(is_one_of(kind, "IEDFG"), "'", kind, "' is not one of I, E, D, F, G, P, X");
        ++at_;
        if (kind == 'E' && is_one_of(peek(), "SN")) ++at_;
        const std::size_t width = number().value_or(0);
        expect(width > 0, "a number without its width");
        std::size_t decimals = 0;
        if (skip('.')) {
            decimals = number().value_or(0);
            if (skip('E')) number();
        }
        for (std::size_t k = 0; k < repeat; ++k) {
            count_item();
            fields_.push_back({column_, width, decimals, scale_, kind == 'I'});
            advance(width);
        }
    }

    void advance(std::size_t columns) {
        column_ += columns;
        expect(column_ <= max_columns, "the line is too long");
    }

    std::string text_;
    std::size_t at_ = 0;
    std::size_t column_ = 0;
    int items_ = 0;
    int scale_ = 0;
    std::vector<FortranField> fields_;
};

constexpr std::size_t integer_width = 14;  ///< Width of the header's integers: I14, or 1X,I13.

struct BoeingHeader : MatrixHeader {
    std::string formats[4];  ///< Formats of column starts, row indices, values, right-hand sides.
    bool has_right_hand_sides = false;
    std::string right_hand_type;  ///< Its first letter is F (full) or M (as the matrix).
    Offset right_hand_sides = 0;
};

/// The type word of line three, or nothing: [rcpiq] [suhzr] [ae].
std::string type_word(std::string_view line) {
    const auto parts = words(line);
    if (parts.empty() || parts[0].size() != 3) return "";
    const std::string type = lower_case(parts[0]);
    const bool known =
        is_one_of(type[0], "rcpiq") && is_one_of(type[1], "suhzr") && is_one_of(type[2], "ae");
    return known ? type : "";
}

/// The texts of the first `count` fields of a line, up to the first blank one. Some programs write
/// numbers of another width than their format says; if that cuts words, words between blanks are
/// read.
std::vector<std::string_view> split_fields(std::string_view line,
                                           const std::vector<FortranField>& fields,
                                           std::size_t count) {
    const auto separate = words(line);
    bool inside = true;
    for (std::size_t f = 0; inside && f < count && f < separate.size(); ++f) {
        const std::size_t begin = std::size_t(separate[f].data() - line.data());
        inside = begin >= fields[f].begin &&
                 begin + separate[f].size() <= fields[f].begin + fields[f].width;
    }
    if (!inside && separate.size() == count) return separate;
    std::vector<std::string_view> texts;
    for (std::size_t f = 0; f < count && fields[f].begin < line.size(); ++f) {
        const auto text = trimmed(line.substr(fields[f].begin, fields[f].width));
        if (text.empty()) break;
        texts.push_back(text);
    }
    return texts;
}

std::string_view next_line(Lines& lines, const char* what) {
    std::string_view line;
    expect(lines.next(line), "the file ends where ", what, " should follow");
    while (!line.empty() && is_blank(line.back())) line.remove_suffix(1);
    return line;
}

/// The integers of a header line: in columns of 14, or, where these cut words, between blanks.
std::vector<Offset> header_integers(std::string_view line, std::size_t first_column) {
    const std::string_view rest = line.substr(std::min(first_column, line.size()));
    std::vector<std::string_view> texts;
    for (std::size_t at = 0; at < rest.size(); at += integer_width) {
        texts.push_back(trimmed(rest.substr(at, integer_width)));
        if (texts.back().empty()) texts.back() = "0";
    }
    Offset number = 0;
    const auto wrong = [&](auto text) { return !parse_integer(text, number).empty(); };
    if (std::ranges::any_of(texts, wrong)) texts = words(rest);
    std::vector<Offset> numbers;
    for (const std::string_view text : texts) numbers.push_back(integer_of(text, "number"));
    return numbers;
}

/// take(k, text) for `count` numbers, the first one on the next line.
template <class Visit>
void each_number(Lines& lines, Offset count, const std::string& format, const char* what,
                 Visit&& visit) {
    std::vector<FortranField> fields;
    try {
        fields = parse_fortran_format(format);
    } catch (const InputError& error) {
        reject("the format ", Quoted{format}, " of the ", what, " cannot be used: ", error.message);
    }
    for (Offset k = 0; k < count;) {
        const std::size_t expected = std::size_t(std::min(Offset(fields.size()), count - k));
        const auto texts = split_fields(next_line(lines, what), fields, expected);
        expect(texts.size() >= expected, "expected ", expected, " ", what, " in the format ",
               format, ", found ", texts.size());
        for (std::size_t f = 0; f < expected; ++f) visit(k++, fortran_number(texts[f], fields[f]));
    }
}

void parse_type(std::string_view line, BoeingHeader& header) {
    const std::string type = type_word(line);
    expect(!type.empty(), "expected a type such as RUA, RSA or PUA, found ", Quoted{trimmed(line)});
    expect(type[0] != 'c', complex_message);
    expect(type[0] != 'q', "matrices with their values in another file are not supported");
    expect(type[1] != 'h', hermitian_message);
    expect(type[2] != 'e', "elemental (unassembled) matrices are not supported");
    header.field = type[0] == 'p' ? Field::pattern : type[0] == 'i' ? Field::integer : Field::real;
    header.symmetry = type[1] == 's'   ? Symmetry::symmetric
                      : type[1] == 'z' ? Symmetry::skew_symmetric
                                       : Symmetry::general;
    header.check_pattern();
}

/// The formats in a line, by their parentheses.
void parse_formats(std::string_view line, BoeingHeader& header) {
    const std::size_t of_matrix = header.field == Field::pattern ? 2 : 3;
    const std::size_t needed = header.has_right_hand_sides ? 4 : of_matrix;
    std::size_t position = 0;
    for (std::size_t k = 0; k < needed; ++k) {
        if (k == 2 && of_matrix == 2) continue;  // A pattern has no format of values.
        const std::size_t begin = line.find('(', position);
        int depth = 0;
        std::size_t end = begin;
        while (end < line.size()) {
            depth += line[end] == '(' ? 1 : line[end] == ')' ? -1 : 0;
            ++end;
            if (depth == 0) break;
        }
        if (k == 3 && begin == std::string_view::npos) return;  // Said where they are read.
        expect(begin != std::string_view::npos && depth == 0, "expected ", of_matrix,
               " formats such as (13I6), found ", Quoted{trimmed(line)});
        header.formats[k] = line.substr(begin, end - begin);
        position = end;
    }
}

BoeingHeader parse_header(Lines& lines, const InputFile& file) {
    BoeingHeader header;
    next_line(lines, "the title");
    const auto cards = header_integers(next_line(lines, "the numbers of lines"), 0);
    header.format = cards.size() < 5 ? "Rutherford-Boeing" : "Harwell-Boeing";
    const std::string_view line = next_line(lines, "the type and the sizes");
    parse_type(line, header);
    const std::size_t type_end = line.find_first_not_of(' ') + 3;
    auto sizes = header_integers(line, std::max(integer_width, type_end));
    if (sizes.size() < 3) sizes = header_integers(line, type_end);
    expect(sizes.size() >= 3, "expected the numbers of rows, columns and entries, found ",
           Quoted{trimmed(line)});
    header.set_sizes(sizes[0], sizes[1], file);
    header.entries = sizes[2];
    header.line = lines.number();
    expect(header.entries >= 0, header.entries, " entries: a number cannot be negative");
    // A number has at least one byte.
    const Offset limit = file.stream.size().value_or(std::numeric_limits<Offset>::max());
    expect(header.entries <= limit && sizes[1] <= limit, sizes[1], " columns and ", header.entries,
           " entries are claimed by a file of only ", limit, " bytes");
    header.has_right_hand_sides = cards.size() >= 5 && cards[4] > 0;
    parse_formats(next_line(lines, "the formats"), header);
    if (header.has_right_hand_sides) {
        const std::string_view sides = next_line(lines, "the type of the right-hand sides");
        const auto parts = words(sides);
        header.right_hand_type = parts.empty() ? "" : lower_case(parts[0]);
        const auto counts = header_integers(sides, integer_width);
        header.right_hand_sides = counts.empty() ? 0 : counts[0];
    }
    return header;
}

std::vector<Offset> parse_column_starts(Lines& lines, const BoeingHeader& header) {
    std::vector<Offset> starts;
    const auto visit = [&](Offset k, const std::string& text) {
        const Offset start = integer_of(text, "column start");
        const Offset low = k == 0 ? 1 : starts.back() + 1;
        const Offset high = k == 0 ? 1 : header.entries + 1;
        expect(start >= low && start <= high, "column start ", text, " is not within ", low, "..",
               high);
        starts.push_back(start - 1);
    };
    each_number(lines, Offset(header.columns) + 1, header.formats[0], "column starts", visit);
    expect(starts.back() == header.entries, "the column starts end at ", starts.back() + 1,
           ", but ", header.entries, " entries are claimed");
    return starts;
}

/// The entries in file order, with the mirror images of symmetric ones.
std::vector<Entry> parse_entries(Lines& lines, const InputFile& file, const BoeingHeader& header) {
    const int images = header.symmetry == Symmetry::general ? 1 : 2;
    require_memory(file, double(header.entries) * images * matrix_entry_bytes);
    const std::vector<Offset> starts = parse_column_starts(lines, header);
    std::vector<Entry> stored;
    if (file.stream.size()) stored.reserve(std::size_t(header.entries));
    Index column = 0;
    const auto store_row = [&](Offset k, const std::string& text) {
        const Offset row = integer_of(text, "row index");
        expect(row >= 1 && row <= header.rows, "row index ", text, " is not within 1..",
               header.rows);
        while (k >= starts[std::size_t(column) + 1]) ++column;
        stored.push_back({Index(row - 1), column, 1});
    };
    each_number(lines, header.entries, header.formats[1], "row indices", store_row);
    const auto store_value = [&](Offset k, const std::string& text) {
        stored[std::size_t(k)].value = value_of(text, header.field);
        check_diagonal(stored[std::size_t(k)], header.symmetry, text);
    };
    if (header.field != Field::pattern) {
        each_number(lines, header.entries, header.formats[2], "values", store_value);
    }
    if (header.symmetry == Symmetry::general) return stored;
    std::vector<Entry> entries(2 * stored.size());
    Entry* out = entries.data();
    for (const Entry& entry : stored) out = put_entry(out, entry, header.symmetry);
    entries.resize(std::size_t(out - entries.data()));
    return entries;
}

/// The first right-hand side, after the values.
void read_right_hand_side(Lines& lines, const BoeingHeader& header, FileHeader& result) {
    if (!header.has_right_hand_sides || header.right_hand_sides < 1) return;
    if (!header.right_hand_type.starts_with('f')) {
        result.note =
            "The right-hand sides in the file are stored as sparse ones and were not read.";
        return;
    }
    if (header.formats[3].empty()) {
        result.note = "The right-hand sides in the file have no format and were not read.";
        return;
    }
    const auto store = [&](Offset, const std::string& text) {
        result.right_hand_side.push_back(value_of(text, Field::real));
    };
    each_number(lines, header.rows, header.formats[3], "right-hand sides", store);
    if (header.right_hand_sides > 1) {
        result.note = concat("The file has ", header.right_hand_sides,
                             " right-hand sides; the first one was read.");
    }
}

}  // namespace

std::vector<FortranField> parse_fortran_format(std::string_view format) {
    return FormatParser(format).parse();
}

std::string fortran_number(std::string_view text, const FortranField& field) {
    std::string number(text);
    std::erase(number, ' ');
    if (field.integer) return number;
    const std::size_t first = number.starts_with('-') || number.starts_with('+') ? 1 : 0;
    std::size_t mantissa =  // End of the mantissa.
        std::min(number.find_first_not_of("0123456789.", first), number.size());
    if (mantissa == first) return number;
    if (field.scale != 0 && mantissa == number.size()) {
        number += "E" + std::to_string(-field.scale);
    }
    if (field.decimals > 0 && number.find('.') == std::string::npos) {
        const std::size_t digits = mantissa - first;
        if (digits <= field.decimals) {
            number.insert(first, field.decimals - digits + 1, '0');
            mantissa += field.decimals - digits + 1;
        }
        number.insert(mantissa - field.decimals, 1, '.');
    }
    return number;
}

bool is_harwell_boeing(std::string_view start) {
    InputStream stream(start);
    Lines lines(stream);
    std::string_view line;
    std::string type;
    for (int k = 0; k < 4; ++k) {
        if (!lines.next(line)) return false;
        if (k == 2) type = type_word(line);
    }
    return !type.empty() && line.find('(') != std::string_view::npos;
}

CsrMatrix<double> parse_harwell_boeing(InputFile&& file) {
    Lines lines(file.stream);
    return with_error_line(file.name, lines.number(), [&] {
        const BoeingHeader header = parse_header(lines, file);
        const std::vector<Entry> entries = parse_entries(lines, file, header);
        FileHeader found;
        if (file.header != nullptr) read_right_hand_side(lines, header, found);
        CsrMatrix<double> matrix = assemble(file, header, entries);
        if (file.header != nullptr) {
            file.header->right_hand_side = std::move(found.right_hand_side);
            file.header->note = std::move(found.note);
        }
        return matrix;
    });
}

}  // namespace tessera::io
