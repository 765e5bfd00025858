#include <fast_float/fast_float.h>

#include <cmath>
#include <cstring>
#include <system_error>
#include <type_traits>

#include "io/matrix_market.hpp"
#include "io/text.hpp"
#include "io/text_chunks.hpp"
#include "tessera/spec.hpp"

namespace tessera::io {

namespace {

// Each line is first read by code that knows only the usual form and checks everything about it;
// whatever it does not recognise goes to the patient reader, which knows all forms and finds words
// for what is wrong. Every text ends in '\n' (see TextChunks).

const char* skip_blanks(const char* p) {
    while (is_blank(*p)) ++p;
    return p;
}

/// An unsigned number of at most `most_digits` digits; nullptr if there is none.
const char* quick_digits(const char* p, int most_digits, std::uint64_t& number) {
    unsigned digit = unsigned(*p) - unsigned('0');
    if (digit > 9) return nullptr;
    const char* const begin = p;
    number = 0;
    do {
        number = 10 * number + digit;
        digit = unsigned(*++p) - unsigned('0');
    } while (digit <= 9);
    return p - begin <= most_digits ? p : nullptr;
}

template <class T, Field field>
const char* quick_value(const char* p, const char* end, T& value) {
    if constexpr (field == Field::integer) {
        constexpr int most_digits = 18;
        const bool negative = *p == '-';
        std::uint64_t number = 0;
        p = quick_digits(p + negative, most_digits, number);
        value = negative ? T(-std::int64_t(number)) : T(std::int64_t(number));
        return p;
    } else {
        const auto result = fast_float::from_chars(p, end, value);
        return result.ec == std::errc{} && std::isfinite(value) ? result.ptr : nullptr;
    }
}

/// Behind the line `p` is in, if only blanks are left of it; else nullptr.
const char* quick_line_end(const char* p) {
    if (*p == '\n') return p + 1;
    if (!is_blank(*p)) return nullptr;
    p = skip_blanks(p);
    return *p == '\n' ? p + 1 : nullptr;
}

template <class T, Field field>
const char* quick_entry(const char* p, const char* end, const MatrixMarketHeader& header,
                        Entry<T>& entry) {
    constexpr int most_digits = 10;
    std::uint64_t row = 0;
    std::uint64_t column = 0;
    p = quick_digits(skip_blanks(p), most_digits, row);
    if (p == nullptr || !is_blank(*p)) return nullptr;
    p = quick_digits(skip_blanks(p), most_digits, column);
    if (p == nullptr) return nullptr;
    if (row - 1 >= std::uint64_t(header.rows) || column - 1 >= std::uint64_t(header.columns)) {
        return nullptr;
    }
    entry.row = Index(row - 1);
    entry.column = Index(column - 1);
    entry.value = 1;
    if constexpr (field != Field::pattern) {
        if (!is_blank(*p)) return nullptr;
        p = quick_value<T, field>(skip_blanks(p), end, entry.value);
        if (p == nullptr) return nullptr;
        if (header.symmetry == Symmetry::skew_symmetric && row == column && entry.value != 0) {
            return nullptr;
        }
    }
    return quick_line_end(p);
}

template <class T>
std::string patient_value(std::string_view word, Field field, T& value) {
    std::string reason;
    if (field == Field::integer) {
        std::int64_t number = 0;
        reason = parse_integer(word, number);
        value = T(number);
    } else {
        double number = 0;
        reason = parse_real(word, number);
        value = T(number);
        if (reason.empty() && !std::isfinite(value)) reason = "out of range of single precision";
    }
    return reason.empty() ? "" : "value " + shown(word) + " is " + reason;
}

std::string patient_index(std::string_view word, const char* what, Index size, Index& index) {
    std::int64_t number = 0;
    const std::string reason = parse_integer(word, number);
    if (!reason.empty()) return std::string(what) + " " + shown(word) + " is " + reason;
    if (number == 0) return std::string(what) + " 0: indices start at 1";
    if (number < 1 || number > size) {
        return std::string(what) + " " + std::to_string(number) + " is not within 1.." +
               std::to_string(size);
    }
    index = Index(number - 1);
    return "";
}

template <class T>
std::string patient_entry(std::string_view line, const MatrixMarketHeader& header,
                          Entry<T>& entry) {
    const auto parts = words(line);
    const bool pattern = header.field == Field::pattern;
    if (parts.size() != (pattern ? 2 : 3)) {
        return std::string(pattern ? "expected 'row column' (the banner says pattern)"
                                   : "expected 'row column value'") +
               ", found " + shown(trimmed(line));
    }
    std::string error = patient_index(parts[0], "row", header.rows, entry.row);
    if (error.empty()) error = patient_index(parts[1], "column", header.columns, entry.column);
    entry.value = 1;
    if (error.empty() && !pattern) error = patient_value(parts[2], header.field, entry.value);
    if (error.empty() && header.symmetry == Symmetry::skew_symmetric && entry.row == entry.column &&
        entry.value != 0) {
        error = "the diagonal of a skew-symmetric matrix is zero, found value " + shown(parts[2]);
    }
    return error;
}

template <class T>
std::string patient_number(std::string_view line, const MatrixMarketHeader& header, T& value) {
    const auto parts = words(line);
    if (parts.size() != 1) return "expected one value, found " + shown(trimmed(line));
    return patient_value(parts[0], header.field, value);
}

/// Walks the lines of a chunk. quick(p, end, item) returns the place behind the line or nullptr,
/// patient(line, item) an error or nothing; take(item) receives what they read.
template <class Item, class Quick, class Patient, class Take>
ChunkOutcome walk_lines(std::string_view chunk, Offset limit, Offset promised, Quick&& quick,
                        Patient&& patient, Take&& take) {
    ChunkOutcome outcome;
    const char* p = chunk.data();
    const char* const end = p + chunk.size();
    Item item{};
    while (p != end) {
        ++outcome.lines;
        const char* next = quick(p, end, item);
        if (next == nullptr) {
            next = static_cast<const char*>(std::memchr(p, '\n', std::size_t(end - p))) + 1;
            const std::string_view line(p, std::size_t(next - p) - 1);
            const std::string_view content = trimmed(line);
            p = next;
            if (content.empty() || content[0] == '%') continue;
            outcome.error = patient(line, item);
        }
        p = next;
        if (outcome.error.empty() && outcome.entries == limit) {
            outcome.error = "expected the end of the file after " + std::to_string(promised) +
                            " entries, found another";
        }
        if (!outcome.error.empty()) {
            outcome.error_line = outcome.lines;
            return outcome;
        }
        ++outcome.entries;
        take(item);
    }
    return outcome;
}

template <class T, Field field>
ChunkOutcome parse_coordinate_chunk(std::string_view text, const MatrixMarketHeader& header,
                                    RowBuckets buckets, Offset limit, EntryChunk<T>& chunk) {
    constexpr std::size_t shortest_line = field == Field::pattern ? 4 : 6;
    const bool mirrored = header.symmetry != Symmetry::general;
    const T sign = header.symmetry == Symmetry::skew_symmetric ? T(-1) : T(1);
    const std::size_t room = text.size() / shortest_line * (mirrored ? 2 : 1);
    const auto entries = std::make_unique_for_overwrite<Entry<T>[]>(room);
    Entry<T>* out = entries.get();
    ChunkOutcome outcome = walk_lines<Entry<T>>(
        text, limit, header.entries,
        [&](const char* p, const char* end, Entry<T>& entry) {
            return quick_entry<T, field>(p, end, header, entry);
        },
        [&](std::string_view line, Entry<T>& entry) { return patient_entry(line, header, entry); },
        [&](const Entry<T>& entry) {
            *out++ = entry;
            if (mirrored && entry.row != entry.column) {
                *out++ = {entry.column, entry.row, sign * entry.value};
            }
        });
    chunk = EntryChunk<T>({entries.get(), out}, buckets);
    return outcome;
}

template <class T, Field field>
ChunkOutcome parse_array_chunk(std::string_view text, const MatrixMarketHeader& header,
                               Offset limit, std::vector<T>& values) {
    values.clear();
    return walk_lines<T>(
        text, limit, header.entries,
        [&](const char* p, const char* end, T& value) {
            p = quick_value<T, field>(skip_blanks(p), end, value);
            return p == nullptr ? nullptr : quick_line_end(p);
        },
        [&](std::string_view line, T& value) { return patient_number(line, header, value); },
        [&](const T& value) { values.push_back(value); });
}

/// f(the field as a constant).
template <class F>
auto with_field(Field field, F&& f) {
    switch (field) {
        case Field::integer:
            return f(std::integral_constant<Field, Field::integer>{});
        case Field::pattern:
            return f(std::integral_constant<Field, Field::pattern>{});
        default:
            return f(std::integral_constant<Field, Field::real>{});
    }
}

/// Large files in larger chunks, so that the tables of chunks stay small.
std::size_t chunk_size(std::size_t body_bytes, std::size_t chunk_bytes) {
    constexpr std::size_t most_chunks = 1 << 14;
    return std::max(chunk_bytes, body_bytes / most_chunks);
}

}  // namespace

template <class T>
std::vector<EntryChunk<T>> parse_coordinates(int threads, std::string_view text,
                                             const std::string& name,
                                             const MatrixMarketHeader& header, RowBuckets buckets,
                                             std::size_t chunk_bytes) {
    const std::string_view body = text.substr(header.body);
    const TextChunks chunks(body, chunk_size(body.size(), chunk_bytes));
    std::vector<EntryChunk<T>> parsed(std::size_t(chunks.count()));
    with_field(header.field, [&](auto field) {
        parse_chunks(threads, chunks, header.entries, name, header.line,
                     [&](Offset k, Offset limit) {
                         return parse_coordinate_chunk<T, field()>(chunks[k], header, buckets,
                                                                   limit, parsed[std::size_t(k)]);
                     });
    });
    return parsed;
}

template <class T>
std::vector<T> parse_array(int threads, std::string_view text, const std::string& name,
                           const MatrixMarketHeader& header, std::size_t chunk_bytes) {
    const std::string_view body = text.substr(header.body);
    const TextChunks chunks(body, chunk_size(body.size(), chunk_bytes));
    std::vector<std::vector<T>> parsed(std::size_t(chunks.count()));
    const auto parse = [&](auto field) {
        parse_chunks(threads, chunks, header.entries, name, header.line,
                     [&](Offset k, Offset limit) {
                         return parse_array_chunk<T, field()>(chunks[k], header, limit,
                                                              parsed[std::size_t(k)]);
                     });
    };
    if (header.field == Field::integer) {
        parse(std::integral_constant<Field, Field::integer>{});
    } else {
        parse(std::integral_constant<Field, Field::real>{});
    }
    std::vector<T> values;
    values.reserve(std::size_t(header.entries));
    for (const std::vector<T>& part : parsed) values.insert(values.end(), part.begin(), part.end());
    return values;
}

#define TESSERA_INSTANTIATE(T)                                                            \
    template std::vector<EntryChunk<T>> parse_coordinates<T>(                             \
        int, std::string_view, const std::string&, const MatrixMarketHeader&, RowBuckets, \
        std::size_t);                                                                     \
    template std::vector<T> parse_array<T>(int, std::string_view, const std::string&,     \
                                           const MatrixMarketHeader&, std::size_t);
TESSERA_INSTANTIATE(float)
TESSERA_INSTANTIATE(double)

}  // namespace tessera::io
