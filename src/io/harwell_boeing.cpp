#include "io/harwell_boeing.hpp"

#include <cmath>

#include "io/assemble.hpp"
#include "io/fortran_format.hpp"
#include "io/text.hpp"
#include "tessera/spec.hpp"

namespace tessera::io {

namespace {

constexpr std::size_t integer_width = 14;  ///< Of the header's integers: I14, or 1X,I13.
constexpr std::size_t header_lines = 4;

struct BoeingHeader {
    bool rutherford = false;
    char field = 'r';     ///< r, i, p.
    char symmetry = 'u';  ///< s, u, z, r.
    Index rows = 0;
    Index columns = 0;
    Offset entries = 0;
    bool right_hand_sides = false;
    std::string formats[3];  ///< Of column starts, row indices, values.
};

/// The type word of a line three, or nothing: [rcpiq] [suhzr] [ae].
std::string type_word(std::string_view line) {
    const auto parts = words(line);
    if (parts.empty() || parts[0].size() != 3) return "";
    const std::string type = lower_case(parts[0]);
    const bool known = std::string_view("rcpiq").find(type[0]) != std::string_view::npos &&
                       std::string_view("suhzr").find(type[1]) != std::string_view::npos &&
                       std::string_view("ae").find(type[2]) != std::string_view::npos;
    return known ? type : "";
}

/// The texts of the first `count` fields of a line, up to the first blank one. Some programs write
/// numbers of another width than their format says; where that cuts words, the words are taken.
std::vector<std::string_view> cut(std::string_view line, const std::vector<FortranField>& fields,
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
        texts.push_back(trimmed(line.substr(fields[f].begin, fields[f].width)));
        if (texts.back().empty()) {
            texts.pop_back();
            break;
        }
    }
    return texts;
}

/// Reads the lines of the file with their number at hand for messages.
class BoeingReader {
  public:
    BoeingReader(std::string_view text, const std::string& name) : lines_(text), name_(name) {}

    [[noreturn]] void fail(const std::string& message) const {
        throw ParseError(name_, lines_.number(), message);
    }

    std::string_view line(const char* what) {
        std::string_view next;
        if (!lines_.next(next)) fail(std::string("the file ends where ") + what + " should follow");
        while (!next.empty() && is_blank(next.back())) next.remove_suffix(1);
        return next;
    }

    Offset integer(std::string_view word, const char* what) const {
        Offset number = 0;
        const std::string reason = parse_integer(word, number);
        if (!reason.empty()) fail(std::string(what) + " " + shown(word) + " is " + reason);
        return number;
    }

    /// The integers of a header line: in columns of 14, or, where these cut words, between blanks.
    std::vector<Offset> integers(std::string_view line, std::size_t first_column) const {
        const std::string_view rest = line.substr(std::min(first_column, line.size()));
        std::vector<Offset> numbers;
        for (std::size_t at = 0; at < rest.size(); at += integer_width) {
            const std::string_view word = trimmed(rest.substr(at, integer_width));
            Offset number = 0;
            if (!word.empty() && !parse_integer(word, number).empty()) {
                numbers.clear();
                for (const std::string_view part : words(rest)) {
                    numbers.push_back(integer(part, "number"));
                }
                return numbers;
            }
            numbers.push_back(number);
        }
        return numbers;
    }

    /// take(k, text, field) for `count` numbers that start on the next line.
    template <class Take>
    void numbers(Offset count, const std::string& format, const char* what, Take&& take) {
        std::vector<FortranField> fields;
        const std::string reason = parse_fortran_format(format, fields);
        if (!reason.empty()) {
            fail("the format " + shown(format) + " of the " + what + " cannot be used: " + reason);
        }
        for (Offset k = 0; k < count;) {
            const std::size_t expected = std::size_t(std::min(Offset(fields.size()), count - k));
            const auto texts = cut(line(what), fields, expected);
            if (texts.size() < expected) {
                fail("expected " + std::to_string(expected) + " " + what + " in the format " +
                     format + ", found " + std::to_string(texts.size()));
            }
            for (std::size_t f = 0; f < expected; ++f, ++k) {
                take(k, fortran_number(texts[f], fields[f]));
            }
        }
    }

  private:
    Lines lines_;
    const std::string& name_;
};

void parse_type(const BoeingReader& reader, std::string_view line, BoeingHeader& header) {
    const std::string type = type_word(line);
    if (type.empty()) {
        reader.fail("expected a type such as RUA, RSA or PUA, found " + shown(trimmed(line)));
    }
    if (type[0] == 'c')
        reader.fail("complex matrices are not supported; write A + iB as the real [A -B; B A]");
    if (type[0] == 'q') reader.fail("matrices with their values in another file are not supported");
    if (type[1] == 'h') reader.fail("hermitian matrices are not supported");
    if (type[2] == 'e') reader.fail("elemental (unassembled) matrices are not supported");
    header.field = type[0];
    header.symmetry = type[1];
    if (header.field == 'p' && header.symmetry == 'z') {
        reader.fail("a pattern has no signs and cannot be skew-symmetric");
    }
}

/// The formats in a line, told by their parentheses.
void parse_formats(const BoeingReader& reader, std::string_view line, BoeingHeader& header) {
    const std::size_t needed = header.field == 'p' ? 2 : 3;
    std::size_t at = 0;
    for (std::size_t k = 0; k < needed; ++k) {
        const std::size_t begin = line.find('(', at);
        int depth = 0;
        std::size_t end = begin;
        while (end < line.size()) {
            depth += line[end] == '(' ? 1 : line[end] == ')' ? -1 : 0;
            ++end;
            if (depth == 0) break;
        }
        if (begin == std::string_view::npos || depth != 0) {
            reader.fail("expected " + std::to_string(needed) + " formats such as (13I6), found " +
                        shown(trimmed(line)));
        }
        header.formats[k] = line.substr(begin, end - begin);
        at = end;
    }
}

BoeingHeader parse_header(BoeingReader& reader, const std::string& name, std::size_t file_bytes,
                          const ReadOptions& options) {
    BoeingHeader header;
    reader.line("the title");
    const auto cards = reader.integers(reader.line("the numbers of lines"), 0);
    header.rutherford = cards.size() < 5;
    header.right_hand_sides = cards.size() >= 5 && cards[4] > 0;
    const std::string_view line = reader.line("the type and the sizes");
    parse_type(reader, line, header);
    const std::size_t type_end = line.find_first_not_of(' ') + 3;
    auto sizes = reader.integers(line, std::max(integer_width, type_end));
    if (sizes.size() < 3) sizes = reader.integers(line, type_end);
    if (sizes.size() < 3) {
        reader.fail("expected the numbers of rows, columns and entries, found " +
                    shown(trimmed(line)));
    }
    constexpr Offset line_three = 3;
    check_size(name, line_three, "rows", sizes[0], file_bytes, options);
    check_size(name, line_three, "columns", sizes[1], file_bytes, options);
    header.rows = Index(sizes[0]);
    header.columns = Index(sizes[1]);
    header.entries = sizes[2];
    if ((header.symmetry == 's' || header.symmetry == 'z') && sizes[0] != sizes[1]) {
        reader.fail("a symmetric matrix must be square, not " + std::to_string(sizes[0]) + " x " +
                    std::to_string(sizes[1]));
    }
    // A number takes a byte at the least.
    if (header.entries < 0 || header.entries > Offset(file_bytes) ||
        sizes[1] > Offset(file_bytes)) {
        reader.fail(std::to_string(sizes[1]) + " columns and " + std::to_string(header.entries) +
                    " entries are claimed by a file of only " + std::to_string(file_bytes) +
                    " bytes");
    }
    parse_formats(reader, reader.line("the formats"), header);
    if (header.right_hand_sides) reader.line("the type of the right-hand sides");
    return header;
}

std::vector<Offset> parse_column_starts(BoeingReader& reader, const BoeingHeader& header) {
    std::vector<Offset> starts(std::size_t(header.columns) + 1);
    reader.numbers(Offset(starts.size()), header.formats[0], "column starts",
                   [&](Offset k, const std::string& text) {
                       const Offset start = reader.integer(text, "column start") - 1;
                       const Offset least = k == 0 ? 0 : starts[std::size_t(k) - 1];
                       const Offset most = k == 0 ? 0 : header.entries;
                       if (start < least || start > most) {
                           reader.fail("column start " + text + " is not within " +
                                       std::to_string(least + 1) + ".." + std::to_string(most + 1));
                       }
                       starts[std::size_t(k)] = start;
                   });
    if (starts.back() != header.entries) {
        reader.fail("the column starts end at " + std::to_string(starts.back() + 1) + ", but " +
                    std::to_string(header.entries) + " entries are claimed");
    }
    return starts;
}

template <class T>
T parse_value(const BoeingReader& reader, char field, const std::string& text) {
    if (field == 'i') return T(reader.integer(text, "value"));
    double number = 0;
    std::string reason = parse_real(text, number);
    const T value = T(number);
    if (reason.empty() && !std::isfinite(value)) reason = "out of range of single precision";
    if (!reason.empty()) reader.fail("value " + shown(text) + " is " + reason);
    return value;
}

/// The entries in file order, with the images of symmetric ones.
template <class T>
std::vector<Entry<T>> parse_entries(BoeingReader& reader, const BoeingHeader& header) {
    const std::vector<Offset> starts = parse_column_starts(reader, header);
    const bool mirrored = header.symmetry == 's' || header.symmetry == 'z';
    std::vector<Entry<T>> stored(static_cast<std::size_t>(header.entries));
    Index column = 0;
    reader.numbers(header.entries, header.formats[1], "row indices",
                   [&](Offset k, const std::string& text) {
                       const Offset row = reader.integer(text, "row index");
                       if (row < 1 || row > header.rows) {
                           reader.fail("row index " + text + " is not within 1.." +
                                       std::to_string(header.rows));
                       }
                       while (k >= starts[std::size_t(column) + 1]) ++column;
                       stored[std::size_t(k)] = {Index(row - 1), column, T(1)};
                   });
    if (header.field != 'p') {
        reader.numbers(
            header.entries, header.formats[2], "values", [&](Offset k, const std::string& text) {
                Entry<T>& entry = stored[std::size_t(k)];
                entry.value = parse_value<T>(reader, header.field, text);
                if (header.symmetry == 'z' && entry.row == entry.column && entry.value != 0) {
                    reader.fail("the diagonal of a skew-symmetric matrix is zero, found " +
                                shown(text));
                }
            });
    }
    if (!mirrored) return stored;
    std::vector<Entry<T>> entries;
    entries.reserve(2 * stored.size());
    for (const Entry<T>& entry : stored) {
        entries.push_back(entry);
        if (entry.row == entry.column) continue;
        entries.push_back(
            {entry.column, entry.row, header.symmetry == 'z' ? -entry.value : entry.value});
    }
    return entries;
}

}  // namespace

bool is_harwell_boeing(std::string_view text) {
    Lines lines(text);
    std::string_view line;
    std::string type;
    for (std::size_t k = 0; k < header_lines; ++k) {
        if (!lines.next(line)) return false;
        if (k == 2) type = type_word(line);
    }
    return !type.empty() && line.find('(') != std::string_view::npos;
}

template <class T>
CsrMatrix<T> parse_harwell_boeing(const Context& cpu, std::string_view text,
                                  const std::string& name, const ReadOptions& options,
                                  FileFacts* facts) {
    BoeingReader reader(text, name);
    const BoeingHeader header = parse_header(reader, name, text.size(), options);
    const bool mirrored = header.symmetry == 's' || header.symmetry == 'z';
    FileFacts found{header.rutherford ? "Rutherford-Boeing" : "Harwell-Boeing",
                    header.field == 'p'   ? "pattern"
                    : header.field == 'i' ? "integer"
                                          : "real",
                    header.symmetry == 's'   ? Symmetry::symmetric
                    : header.symmetry == 'z' ? Symmetry::skew_symmetric
                                             : Symmetry::general,
                    header.entries, 0};
    const auto entries = parse_entries<T>(reader, header);
    const RowBuckets buckets = row_buckets(header.rows, Offset(entries.size()));
    const EntryChunk<T> chunk(entries, buckets);
    CsrMatrix<T> matrix = assemble<T>(cpu, header.rows, header.columns, buckets, {&chunk, 1},
                                      mirrored, name, found.duplicates);
    if (facts != nullptr) *facts = found;
    return matrix;
}

#define TESSERA_INSTANTIATE(T)                     \
    template CsrMatrix<T> parse_harwell_boeing<T>( \
        const Context&, std::string_view, const std::string&, const ReadOptions&, FileFacts*);
TESSERA_INSTANTIATE(float)
TESSERA_INSTANTIATE(double)

}  // namespace tessera::io
