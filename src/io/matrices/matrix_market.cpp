#include <fast_float/fast_float.h>

#include <cmath>

#include "io/formats.hpp"
#include "io/matrices/amgx.hpp"
#include "io/matrices/assemble.hpp"
#include "io/matrices/line_chunks.hpp"
#include "tessera/spec.hpp"

namespace tessera::io {

namespace {

constexpr std::string_view banner_word = "%%matrixmarket";
constexpr const char* banner_example = "'%%MatrixMarket matrix coordinate real general'";

struct MarketHeader : MatrixHeader {
    bool array = false;
    AmgxWords amgx = {};
};

void check_keyword(const char* what, std::string_view word, const std::vector<std::string>& valid) {
    if (std::ranges::find(valid, word) != valid.end()) return;
    const std::string text = concat(Quoted{word});  // Quotes that the message adds itself.
    reject(unknown_word_message(what, std::string_view(text).substr(1, text.size() - 2), valid));
}

/// Some programs write one %.
bool is_banner_word(std::string_view word) {
    return word == banner_word || word == banner_word.substr(1);
}

void parse_banner(std::string_view line, MarketHeader& header) {
    const std::string lower = lower_case(line);
    const auto banner = words(lower);
    const std::string_view found = trimmed(line);
    expect(!banner.empty() && is_banner_word(banner[0]), "expected a banner such as ",
           banner_example, ", found ", Quoted{found});
    expect(banner.size() == 5, "the banner needs five words, as in ", banner_example, ", found ",
           Quoted{found});
    check_keyword("object", banner[1], {"matrix", "vector"});
    check_keyword("format", banner[2], {"coordinate", "array"});
    expect(banner[1] == "matrix" || banner[2] == "array", "a vector has the format array");
    expect(banner[3] != "complex", complex_message);
    check_keyword("field", banner[3], {"real", "double", "integer", "unsigned-integer", "pattern"});
    expect(banner[4] != "hermitian", hermitian_message);
    check_keyword("symmetry", banner[4], {"general", "symmetric", "skew-symmetric"});
    header.array = banner[2] == "array";
    header.field = banner[3] == "pattern"           ? Field::pattern
                   : banner[3].ends_with("integer") ? Field::integer
                                                    : Field::real;
    header.symmetry = banner[4] == "general"     ? Symmetry::general
                      : banner[4] == "symmetric" ? Symmetry::symmetric
                                                 : Symmetry::skew_symmetric;
    expect(!header.array || header.field != Field::pattern,
           "an array file holds numbers; only coordinate files can be pattern");
    header.check_pattern();
}

void parse_sizes(std::string_view line, const InputFile& file, MarketHeader& header) {
    const auto numbers = words(line);
    // Some programs write a vector with its number of rows alone.
    const bool is_vector = header.array && numbers.size() == 1;
    const std::size_t expected = is_vector ? 1 : header.array ? 2 : 3;
    expect(numbers.size() == expected, "expected the sizes 'rows columns",
           header.array ? "" : " entries", "', found ", Quoted{line});
    Offset sizes[3] = {1, 1, 0};
    constexpr const char* what[3] = {"number of rows", "number of columns", "number of entries"};
    for (std::size_t k = 0; k < expected; ++k) sizes[k] = integer_of(numbers[k], what[k]);
    header.set_sizes(sizes[0], sizes[1], file);
    const Offset n = sizes[0];
    header.entries = !header.array                            ? sizes[2]
                     : header.symmetry == Symmetry::general   ? n * sizes[1]
                     : header.symmetry == Symmetry::symmetric ? n * (n + 1) / 2
                                                              : n * (n - 1) / 2;
    const std::string shape = concat(sizes[0], " x ", sizes[1]);
    expect(header.entries >= 0, "a number of entries cannot be negative");
    expect(header.entries == 0 || (header.rows > 0 && header.columns > 0), "a matrix of ", shape,
           " cannot have ", header.entries, " entries");
    if (!file.stream.size()) return;
    // At least "i j\n", "i j v\n" or "v\n"; the last line may lack its end.
    const Offset line_bytes = header.array ? 2 : header.field == Field::pattern ? 4 : 6;
    const Offset left = *file.stream.size() - file.stream.position();
    expect(header.entries <= (left + 1) / line_bytes, header.entries, " entries are claimed",
           header.array ? " (" + shape + ")" : "", ", but only ", left,
           " bytes follow; the file is truncated or its sizes are wrong");
}

/// The header; the rest of the stream are the entries.
MarketHeader parse_header(InputFile& file) {
    MarketHeader header;
    header.format = "Matrix Market";
    skip_byte_order_mark(file.stream);
    Lines lines(file.stream);
    return with_error_line(file.name, lines.number(), [&] {
        std::string_view line;
        expect(lines.next(line), "the text is empty");
        parse_banner(line, header);
        while (lines.next(line)) {
            line = trimmed(line);
            if (line.empty()) continue;
            if (line[0] == '%') {
                if (!header.amgx.found) parse_amgx_words(line, header.amgx);
                continue;
            }
            header.line = lines.number();
            parse_sizes(line, file, header);
            return header;
        }
        reject("the file ends before its line of sizes, 'rows columns",
               header.array ? "'" : " entries'");
    });
}

// Each line is first read by a fast parser of the usual form; other lines are read by the fallback,
// which parses all forms and reports errors. Every text ends in '\n' (see TextChunks).

const char* skip_blanks(const char* p) {
    while (is_blank(*p)) ++p;
    return p;
}

/// An unsigned number of at most `max_digits` digits; nullptr if there is none.
const char* fast_digits(const char* p, int max_digits, std::uint64_t& number) {
    unsigned digit = unsigned(*p) - unsigned('0');
    if (digit > 9) return nullptr;
    const char* const begin = p;
    number = 0;
    do {
        number = 10 * number + digit;
        digit = unsigned(*++p) - unsigned('0');
    } while (digit <= 9);
    return p - begin <= max_digits ? p : nullptr;
}

template <Field field>
const char* fast_value(const char* p, const char* end, double& value) {
    if constexpr (field == Field::integer) {
        constexpr int max_digits = 15;  // Below 2^53.
        const bool negative = *p == '-';
        std::uint64_t number = 0;
        p = fast_digits(p + negative, max_digits, number);
        if (p == nullptr) return nullptr;
        value = negative ? double(-std::int64_t(number)) : double(number);
        return p;
    } else {
        const auto result = fast_float::from_chars(p, end, value);
        return result.ec == std::errc{} && std::isfinite(value) ? result.ptr : nullptr;
    }
}

/// The position after this line, if the rest of it is blank; else nullptr.
const char* fast_line_end(const char* p) {
    if (*p == '\n') return p + 1;
    if (!is_blank(*p)) return nullptr;
    p = skip_blanks(p);
    return *p == '\n' ? p + 1 : nullptr;
}

template <Field field>
const char* fast_entry(const char* p, const char* end, const MarketHeader& header, Entry& entry) {
    constexpr int max_digits = 10;
    std::uint64_t row = 0;
    std::uint64_t column = 0;
    p = fast_digits(skip_blanks(p), max_digits, row);
    if (p == nullptr || !is_blank(*p)) return nullptr;
    p = fast_digits(skip_blanks(p), max_digits, column);
    if (p == nullptr) return nullptr;
    if (row - 1 >= std::uint64_t(header.rows) || column - 1 >= std::uint64_t(header.columns)) {
        return nullptr;
    }
    entry = {Index(row - 1), Index(column - 1), 1};
    if constexpr (field != Field::pattern) {
        if (!is_blank(*p)) return nullptr;
        p = fast_value<field>(skip_blanks(p), end, entry.value);
        if (p == nullptr) return nullptr;
        if (header.symmetry == Symmetry::skew_symmetric && row == column && entry.value != 0) {
            return nullptr;
        }
    }
    return fast_line_end(p);
}

Index fallback_index(std::string_view word, const char* what, Index size) {
    const Offset number = integer_of(word, what);
    expect(number != 0, what, " 0: indices start at 1");
    expect(number >= 1 && number <= size, what, " ", number, " is not within 1..", size);
    return Index(number - 1);
}

Entry fallback_entry(std::string_view line, const MarketHeader& header) {
    const auto parts = words(line);
    const bool pattern = header.field == Field::pattern;
    expect(pattern || parts.size() != 2, "expected 'row column value', found ", Quoted{line},
           ": a file without values has 'pattern' in its banner");
    expect(parts.size() == (pattern ? 2 : 3), "expected 'row column",
           pattern ? "' (the banner says pattern)" : " value'", ", found ", Quoted{line});
    Entry entry{};
    entry.row = fallback_index(parts[0], "row", header.rows);
    entry.column = fallback_index(parts[1], "column", header.columns);
    entry.value = 1;
    if (pattern) return entry;
    entry.value = value_of(parts[2], header.field);
    check_diagonal(entry, header.symmetry, parts[2]);
    return entry;
}

template <Field field>
ChunkOutcome parse_coordinate_chunk(std::string_view text, const MarketHeader& header,
                                    RowBuckets buckets, Offset limit, EntryChunk& chunk) {
    const std::size_t shortest_line = field == Field::pattern ? 4 : 6;
    const std::size_t images = header.symmetry == Symmetry::general ? 1 : 2;
    const auto entries =
        std::make_unique_for_overwrite<Entry[]>(text.size() / shortest_line * images);
    Entry* out = entries.get();
    ChunkOutcome outcome = parse_lines<Entry>(
        text, limit, header.entries,
        [&](const char* p, const char* end, Entry& entry) {
            return fast_entry<field>(p, end, header, entry);
        },
        [&](std::string_view line, auto&& add) { add(fallback_entry(line, header)); },
        [&](const Entry& entry) { out = put_entry(out, entry, header.symmetry); });
    chunk = EntryChunk({entries.get(), out}, buckets);
    return outcome;
}

template <Field field>
ChunkOutcome parse_array_chunk(std::string_view text, const MarketHeader& header, RowBuckets,
                               Offset limit, std::vector<double>& values) {
    values.clear();
    return parse_lines<double>(
        text, limit, header.entries,
        [&](const char* p, const char* end, double& value) {
            p = fast_value<field>(skip_blanks(p), end, value);
            return p == nullptr ? nullptr : fast_line_end(p);
        },
        [&](std::string_view line, auto&& add) {  // Several values, separated by blanks.
            for (const auto word : words(line)) add(value_of(word, header.field));
        },
        [&](const double& value) { values.push_back(value); });
}

/// The chunks of the rest of the file, read by parse(text, header, buckets, limit, chunk). An entry
/// takes `entry_bytes` in a chunk and in what is made of the chunks.
template <class Chunk, class Parse>
std::vector<Chunk> parse_body(InputFile& file, const MarketHeader& header, RowBuckets buckets,
                              std::size_t chunk_bytes, std::size_t entry_bytes, Parse parse) {
    require_memory(file, double(header.entries) * double(entry_bytes));
    return parse_chunks<Chunk>(file, chunk_bytes, header.entries, header.line,
                               [&](std::string_view text, Offset limit, Chunk& chunk) {
                                   return parse(text, header, buckets, limit, chunk);
                               });
}

std::vector<double> parse_array(InputFile& file, const MarketHeader& header,
                                std::size_t chunk_bytes) {
    const auto parse = header.field == Field::integer ? &parse_array_chunk<Field::integer>
                                                      : &parse_array_chunk<Field::real>;
    const auto chunks =
        parse_body<std::vector<double>>(file, header, {}, chunk_bytes, 2 * sizeof(double), parse);
    std::vector<double> all;
    all.reserve(std::size_t(header.entries));
    for (const std::vector<double>& values : chunks)
        all.insert(all.end(), values.begin(), values.end());
    return all;
}

}  // namespace

bool is_matrix_market(std::string_view start) {
    if (start.starts_with(byte_order_mark)) start.remove_prefix(byte_order_mark.size());
    while (!start.empty() && is_blank(start.front())) start.remove_prefix(1);
    const std::string word = lower_case(start.substr(0, banner_word.size()));
    return word == banner_word || word.starts_with(banner_word.substr(1));
}

namespace {

CsrMatrix<double> parse_rest(InputFile& file, const MarketHeader& header, std::size_t chunk_bytes) {
    if (header.amgx.found && !header.array) return parse_amgx_body(file, header, header.amgx);
    if (header.array) {
        const std::vector<double> values = parse_array(file, header, chunk_bytes);
        return assemble_dense(file, header, values);
    }
    const Offset images = header.symmetry == Symmetry::general ? 1 : 2;
    const RowBuckets buckets =
        row_buckets(header.rows, std::min(header.entries, Offset(1) << 40) * images);
    const auto parse = header.field == Field::pattern   ? &parse_coordinate_chunk<Field::pattern>
                       : header.field == Field::integer ? &parse_coordinate_chunk<Field::integer>
                                                        : &parse_coordinate_chunk<Field::real>;
    const std::size_t entry_bytes =
        std::size_t(images) * (sizeof(Entry) + sizeof(double) + sizeof(Index));
    const auto chunks =
        parse_body<EntryChunk>(file, header, buckets, chunk_bytes, entry_bytes, parse);
    return assemble(file, header, buckets, chunks);
}

}  // namespace

CsrMatrix<double> parse_matrix_market(InputFile&& file, std::size_t chunk_bytes) {
    const MarketHeader header = parse_header(file);
    return parse_rest(file, header, chunk_bytes);
}

DenseColumns parse_matrix_market_columns(InputFile&& file) {
    const MarketHeader header = parse_header(file);
    const bool is_row = header.rows == 1;
    DenseColumns result{is_row ? header.columns : header.rows, is_row ? 1 : header.columns, {}};
    if (header.array && header.symmetry == Symmetry::general) {
        result.values = parse_array(file, header, default_chunk_bytes);
        return result;
    }
    // Sparse columns take more memory than they seem to need.
    require_memory(file, double(header.rows) * double(header.columns) * sizeof(double));
    const CsrMatrix<double> matrix = parse_rest(file, header, default_chunk_bytes);
    const CsrView<double> view = matrix.view();
    result.values.assign(std::size_t(header.rows) * std::size_t(header.columns), 0.0);
    for (Index i = 0; i < view.rows; ++i) {
        for (Offset k = view.row_offsets[i]; k < view.row_offsets[i + 1]; ++k) {
            const auto column = std::size_t(view.column_indices[k]);
            result.values[column * std::size_t(header.rows) + std::size_t(i)] = view.values[k];
        }
    }
    return result;
}

}  // namespace tessera::io
