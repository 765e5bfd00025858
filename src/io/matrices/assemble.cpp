#include "io/matrices/assemble.hpp"

#include <cmath>
#include <limits>
#include <numeric>
#include <tuple>

#include "base/host_memory/host_memory.hpp"
#include "base/parallel.hpp"

namespace tessera::io {

namespace {

Index checked_size(const char* what, Offset size) {
    constexpr Offset max_size = std::numeric_limits<Index>::max();
    expect(size >= 0, size, " ", what, ": a size cannot be negative");
    expect(size <= max_size, size, " ", what, ": a matrix has at most ", max_size, " ", what);
    return Index(size);
}

}  // namespace

void MatrixHeader::set_sizes(Offset row_count, Offset column_count, const InputFile& file) {
    rows = checked_size("rows", row_count);
    columns = checked_size("columns", column_count);
    if (file.stream.size()) check_sizes(file, *file.stream.size());
    expect(symmetry == Symmetry::general || rows == columns,
           symmetry == Symmetry::symmetric ? "a symmetric" : "a skew-symmetric",
           " matrix must be square, not ", rows, " x ", columns);
}

void MatrixHeader::check_sizes(const InputFile& file, Offset bytes) const {
    if (file.allow_empty_rows) return;
    const Offset believed = std::max(Offset(1) << 20, 16 * std::min(bytes, Offset(1) << 40));
    const bool rows_fit = rows <= believed;
    expect(rows_fit && columns <= believed, rows_fit ? columns : rows,
           rows_fit ? " columns" : " rows", " are claimed by a file of only ", bytes,
           " bytes; allow empty rows (--allow-empty-rows) if that is right");
}

void require_memory(const InputFile& file, double bytes) {
    require_host_memory("reading " + file.name, bytes);
}

void MatrixHeader::check_pattern() const {
    expect(field != Field::pattern || symmetry != Symmetry::skew_symmetric,
           "a pattern has no signs and cannot be skew-symmetric");
}

RowBuckets row_buckets(Index rows, Offset entries) {
    constexpr Offset entries_per_bucket = 1 << 16;
    const Offset wanted = std::clamp<Offset>(entries / entries_per_bucket, 1, 1024);
    RowBuckets buckets;
    const Offset last = std::max<Offset>(rows, 1) - 1;
    while ((last >> buckets.shift) + 1 > wanted) ++buckets.shift;
    buckets.count = Index((last >> buckets.shift) + 1);
    return buckets;
}

EntryChunk::EntryChunk(std::span<const Entry> in_file_order, RowBuckets buckets)
    : entries(std::make_unique_for_overwrite<Entry[]>(in_file_order.size())),
      bucket_starts(std::size_t(buckets.count) + 1) {
    for (const Entry& entry : in_file_order) {
        ++bucket_starts[std::size_t(entry.row >> buckets.shift) + 1];
    }
    std::partial_sum(bucket_starts.begin(), bucket_starts.end(), bucket_starts.begin());
    std::vector<Offset> next(bucket_starts.begin(), bucket_starts.end() - 1);
    for (const Entry& entry : in_file_order) {
        entries[std::size_t(next[std::size_t(entry.row >> buckets.shift)]++)] = entry;
    }
}

namespace {

/// Sorts one row by column, keeping the order of equal columns.
void sort_row(Index* columns, double* values, Offset count,
              std::vector<std::tuple<Index, Offset, double>>& scratch) {
    scratch.clear();
    for (Offset k = 0; k < count; ++k) scratch.emplace_back(columns[k], k, values[k]);
    std::ranges::sort(scratch);
    for (Offset k = 0; k < count; ++k) {
        std::tie(columns[k], std::ignore, values[k]) = scratch[std::size_t(k)];
    }
}

struct DuplicateCounts {
    Offset all = 0;      ///< Entries of the expanded matrix that repeat the previous one.
    Offset in_file = 0;  ///< Repeated entries that are no mirror images.
};

/// Rows [first, first + offsets.size()) of the matrix: their entries placed from `base` on, sorted.
DuplicateCounts assemble_bucket(CsrMatrix<double>& matrix, std::span<const EntryChunk> chunks,
                                Index bucket, Index first, Index rows, Offset base, bool mirrored) {
    const std::size_t b = std::size_t(bucket);
    std::vector<Offset> next(std::size_t(rows) + 1);
    const auto each_entry = [&](auto&& f) {
        for (const EntryChunk& chunk : chunks) {
            const Entry* const end = chunk.entries.get() + chunk.bucket_starts[b + 1];
            for (const Entry* e = chunk.entries.get() + chunk.bucket_starts[b]; e != end; ++e) {
                f(*e);
            }
        }
    };
    each_entry([&](const Entry& entry) { ++next[std::size_t(entry.row - first) + 1]; });
    Offset* const offsets = matrix.row_offsets().data() + first;
    next[0] = base;
    for (Index i = 0; i < rows; ++i) {
        offsets[i] = next[std::size_t(i)];
        next[std::size_t(i) + 1] += next[std::size_t(i)];
    }
    Index* const columns = matrix.column_indices().data();
    double* const values = matrix.values().data();
    each_entry([&](const Entry& entry) {
        const Offset position = next[std::size_t(entry.row - first)]++;
        columns[position] = entry.column;
        values[position] = entry.value;
    });
    DuplicateCounts repeats;
    std::vector<std::tuple<Index, Offset, double>> scratch;
    for (Index i = 0; i < rows; ++i) {
        const Offset begin = offsets[i];
        const Offset end = next[std::size_t(i)];  // Row end, after placing.
        if (!std::is_sorted(columns + begin, columns + end)) {
            sort_row(columns + begin, values + begin, end - begin, scratch);
        }
        for (Offset k = begin + 1; k < end; ++k) {
            if (columns[k] != columns[k - 1]) continue;
            ++repeats.all;
            if (!mirrored || columns[k] <= first + i) ++repeats.in_file;
        }
    }
    return repeats;
}

/// The matrix with repeated columns of a row summed from left to right.
CsrMatrix<double> sum_duplicates(const InputFile& file, CsrMatrix<double>& from, Offset repeats) {
    CsrMatrix<double> to(file.cpu, from.rows(), Index(from.columns()), from.nonzeros() - repeats);
    const CsrView<double> source = from.view();
    Offset position = 0;
    for (Index i = 0; i < source.rows; ++i) {
        to.row_offsets().data()[i] = position;
        for (Offset k = source.row_offsets[i]; k < source.row_offsets[i + 1]; ++k) {
            const Index column = source.column_indices[k];
            if (k > source.row_offsets[i] && column == source.column_indices[k - 1]) {
                double& sum = to.values().data()[position - 1];
                sum += source.values[k];
                if (!std::isfinite(sum)) {
                    throw ParseError(file.name, 0,
                                     concat("the entries of row ", i + 1, ", column ", column + 1,
                                            " sum to a number that is not finite"));
                }
                continue;
            }
            to.column_indices().data()[position] = column;
            to.values().data()[position++] = source.values[k];
        }
    }
    to.row_offsets().data()[source.rows] = position;
    return to;
}

}  // namespace

CsrMatrix<double> assemble(const InputFile& file, const MatrixHeader& header, RowBuckets buckets,
                           std::span<const EntryChunk> chunks) {
    with_error_line(file.name, header.line, [&] {
        header.check_sizes(file, file.stream.size().value_or(file.stream.position()));
    });
    const bool mirrored = header.symmetry != Symmetry::general;
    std::vector<Offset> bases(std::size_t(buckets.count) + 1);
    for (const EntryChunk& chunk : chunks) {
        for (std::size_t b = 0; b + 1 < bases.size(); ++b) {
            bases[b + 1] += chunk.bucket_starts[b + 1] - chunk.bucket_starts[b];
        }
    }
    std::partial_sum(bases.begin(), bases.end(), bases.begin());
    CsrMatrix<double> matrix(file.cpu, header.rows, header.columns, bases.back());
    std::vector<DuplicateCounts> repeats(std::size_t(buckets.count));
    parallel_tasks(file.cpu.threads(), buckets.count, [&](Offset b) {
        const Offset first = b << buckets.shift;
        const Offset end = std::min<Offset>(header.rows, (b + 1) << buckets.shift);
        repeats[std::size_t(b)] =
            assemble_bucket(matrix, chunks, Index(b), Index(first), Index(end - first),
                            bases[std::size_t(b)], mirrored);
    });
    matrix.row_offsets().data()[header.rows] = bases.back();
    DuplicateCounts total;
    for (const auto& [all, in_file] : repeats) {
        total.all += all;
        total.in_file += in_file;
    }
    if (total.all > 0) matrix = sum_duplicates(file, matrix, total.all);
    constexpr const char* fields[] = {"real", "integer", "pattern"};
    if (file.header != nullptr) {
        *file.header = {header.format, fields[int(header.field)], header.symmetry, total.in_file};
    }
    return matrix;
}

CsrMatrix<double> assemble(const InputFile& file, const MatrixHeader& header,
                           std::span<const Entry> entries) {
    const RowBuckets buckets = row_buckets(header.rows, Offset(entries.size()));
    const EntryChunk chunk(entries, buckets);
    return assemble(file, header, buckets, {&chunk, 1});
}

CsrMatrix<double> assemble_dense(const InputFile& file, const MatrixHeader& header,
                                 std::span<const double> values) {
    const bool triangle = header.symmetry != Symmetry::general;
    const auto zeros = std::size_t(std::ranges::count(values, 0));
    const std::size_t most = (values.size() - zeros) * (triangle ? 2 : 1);
    require_memory(file, double(most) * matrix_entry_bytes);
    std::vector<Entry> entries;
    entries.reserve(most);
    const double* value = values.data();
    const int skipped = header.symmetry == Symmetry::skew_symmetric ? 1 : 0;
    for (Index j = 0; j < header.columns; ++j) {
        for (Index i = triangle ? j + skipped : 0; i < header.rows; ++i, ++value) {
            if (*value == 0) continue;
            Entry images[2];
            entries.insert(entries.end(), images,
                           put_entry(images, Entry{i, j, *value}, header.symmetry));
        }
    }
    return assemble(file, header, entries);
}

}  // namespace tessera::io
