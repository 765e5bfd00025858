#include "io/assemble.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/parallel.hpp"
#include "io/tasks.hpp"

namespace tessera::io {

RowBuckets row_buckets(Index rows, Offset entries) {
    constexpr Offset entries_a_bucket = 1 << 16;
    const Offset wanted = std::clamp<Offset>(entries / entries_a_bucket, 1, 1024);
    RowBuckets buckets;
    const Offset last = std::max<Offset>(rows, 1) - 1;
    while ((last >> buckets.shift) + 1 > wanted) ++buckets.shift;
    buckets.count = Index((last >> buckets.shift) + 1);
    return buckets;
}

template <class T>
EntryChunk<T>::EntryChunk(std::span<const Entry<T>> in_file_order, RowBuckets buckets)
    : entries(std::make_unique_for_overwrite<Entry<T>[]>(in_file_order.size())),
      bucket_starts(std::size_t(buckets.count) + 1) {
    for (const Entry<T>& entry : in_file_order) {
        ++bucket_starts[std::size_t(entry.row >> buckets.shift) + 1];
    }
    for (Index b = 0; b < buckets.count; ++b) {
        bucket_starts[std::size_t(b) + 1] += bucket_starts[std::size_t(b)];
    }
    std::vector<Offset> next(bucket_starts.begin(), bucket_starts.end() - 1);
    for (const Entry<T>& entry : in_file_order) {
        entries[std::size_t(next[std::size_t(entry.row >> buckets.shift)]++)] = entry;
    }
}

namespace {

/// Sorts one row by column, keeping the order of equal columns.
template <class T>
void sort_row(Index* columns, T* values, Offset count, std::vector<std::pair<Index, T>>& scratch) {
    constexpr Offset short_row = 24;
    if (count <= short_row) {
        for (Offset k = 1; k < count; ++k) {
            const Index column = columns[k];
            const T value = values[k];
            Offset at = k;
            for (; at > 0 && columns[at - 1] > column; --at) {
                columns[at] = columns[at - 1];
                values[at] = values[at - 1];
            }
            columns[at] = column;
            values[at] = value;
        }
        return;
    }
    scratch.resize(std::size_t(count));
    for (Offset k = 0; k < count; ++k) scratch[std::size_t(k)] = {columns[k], values[k]};
    std::stable_sort(scratch.begin(), scratch.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (Offset k = 0; k < count; ++k) {
        columns[k] = scratch[std::size_t(k)].first;
        values[k] = scratch[std::size_t(k)].second;
    }
}

struct Repeats {
    Offset all = 0;      ///< Entries of the expanded matrix that repeat the one before.
    Offset in_file = 0;  ///< Those that are no images.
};

/// Rows [first, first + offsets.size()) of the matrix: their entries placed from `base` on, sorted.
template <class T>
Repeats place_bucket(CsrMatrix<T>& matrix, std::span<const EntryChunk<T>> chunks, Index bucket,
                     Index first, Index rows, Offset base, bool mirrored) {
    const std::size_t b = std::size_t(bucket);
    std::vector<Offset> next(std::size_t(rows) + 1);
    const auto each_entry = [&](auto&& f) {
        for (const EntryChunk<T>& chunk : chunks) {
            const Entry<T>* const end = chunk.entries.get() + chunk.bucket_starts[b + 1];
            for (const Entry<T>* e = chunk.entries.get() + chunk.bucket_starts[b]; e != end; ++e) {
                f(*e);
            }
        }
    };
    each_entry([&](const Entry<T>& entry) { ++next[std::size_t(entry.row - first) + 1]; });
    Offset* const offsets = matrix.row_offsets().data() + first;
    next[0] = base;
    for (Index i = 0; i < rows; ++i) {
        offsets[i] = next[std::size_t(i)];
        next[std::size_t(i) + 1] += next[std::size_t(i)];
    }
    Index* const columns = matrix.column_indices().data();
    T* const values = matrix.values().data();
    each_entry([&](const Entry<T>& entry) {
        const Offset at = next[std::size_t(entry.row - first)]++;
        columns[at] = entry.column;
        values[at] = entry.value;
    });
    Repeats repeats;
    std::vector<std::pair<Index, T>> scratch;
    for (Index i = 0; i < rows; ++i) {
        const Offset begin = offsets[i];
        const Offset end = next[std::size_t(i)];  // after placing: where the row ends
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
template <class T>
CsrMatrix<T> sum_repeats(const Context& cpu, CsrMatrix<T>& from, Offset repeats,
                         const std::string& name) {
    CsrMatrix<T> to(cpu, from.rows(), Index(from.columns()), from.nonzeros() - repeats);
    const CsrView<T> source = from.view();
    Offset at = 0;
    for (Index i = 0; i < source.rows; ++i) {
        to.row_offsets().data()[i] = at;
        for (Offset k = source.row_offsets[i]; k < source.row_offsets[i + 1]; ++k) {
            const Index column = source.column_indices[k];
            if (k > source.row_offsets[i] && column == source.column_indices[k - 1]) {
                T& sum = to.values().data()[at - 1];
                sum += source.values[k];
                if (!std::isfinite(sum)) {
                    throw ParseError(name, 0,
                                     "the entries of row " + std::to_string(i + 1) + ", column " +
                                         std::to_string(column + 1) +
                                         " sum to a number that is not finite");
                }
                continue;
            }
            to.column_indices().data()[at] = column;
            to.values().data()[at++] = source.values[k];
        }
    }
    to.row_offsets().data()[source.rows] = at;
    return to;
}

}  // namespace

template <class T>
CsrMatrix<T> assemble(const Context& cpu, Index rows, Index columns, RowBuckets buckets,
                      std::span<const EntryChunk<T>> chunks, bool mirrored, const std::string& name,
                      Offset& duplicates) {
    std::vector<Offset> bases(std::size_t(buckets.count) + 1);
    for (const EntryChunk<T>& chunk : chunks) {
        for (std::size_t b = 0; b + 1 < bases.size(); ++b) {
            bases[b + 1] += chunk.bucket_starts[b + 1] - chunk.bucket_starts[b];
        }
    }
    for (std::size_t b = 0; b + 1 < bases.size(); ++b) bases[b + 1] += bases[b];
    CsrMatrix<T> matrix(cpu, rows, columns, bases.back());
    std::vector<Repeats> repeats(std::size_t(buckets.count));
    parallel_tasks(cpu.threads(), buckets.count, [&](Offset b) {
        const Offset first = b << buckets.shift;
        const Offset end = std::min<Offset>(rows, (b + 1) << buckets.shift);
        repeats[std::size_t(b)] = place_bucket(matrix, chunks, Index(b), Index(first),
                                               Index(end - first), bases[std::size_t(b)], mirrored);
    });
    matrix.row_offsets().data()[rows] = bases.back();
    Repeats total;
    for (const Repeats& part : repeats) {
        total.all += part.all;
        total.in_file += part.in_file;
    }
    duplicates = total.in_file;
    if (total.all == 0) return matrix;
    return sum_repeats(cpu, matrix, total.all, name);
}

template <class T>
CsrMatrix<T> from_dense(const Context& cpu, Index rows, Index columns, const T* values,
                        Offset row_step, Offset column_step) {
    std::vector<Offset> offsets(std::size_t(rows) + 1);
    const Offset grain = std::max<Offset>(1, parallel_grain / std::max<Offset>(columns, 1));
    parallel_ranges(
        cpu.threads(), rows,
        [&](Offset first, Offset last) {
            for (Offset i = first; i < last; ++i) {
                for (Offset j = 0; j < columns; ++j) {
                    offsets[std::size_t(i) + 1] += values[i * row_step + j * column_step] != 0;
                }
            }
        },
        grain);
    for (std::size_t i = 0; i < std::size_t(rows); ++i) offsets[i + 1] += offsets[i];
    CsrMatrix<T> matrix(cpu, rows, columns, offsets.back());
    std::copy(offsets.begin(), offsets.end(), matrix.row_offsets().data());
    parallel_ranges(
        cpu.threads(), rows,
        [&](Offset first, Offset last) {
            Offset at = offsets[std::size_t(first)];
            for (Offset i = first; i < last; ++i) {
                for (Offset j = 0; j < columns; ++j) {
                    const T value = values[i * row_step + j * column_step];
                    if (value == 0) continue;
                    matrix.column_indices().data()[at] = Index(j);
                    matrix.values().data()[at++] = value;
                }
            }
        },
        grain);
    return matrix;
}

#define TESSERA_INSTANTIATE(T)                                                                  \
    template struct EntryChunk<T>;                                                              \
    template CsrMatrix<T> assemble<T>(const Context&, Index, Index, RowBuckets,                 \
                                      std::span<const EntryChunk<T>>, bool, const std::string&, \
                                      Offset&);                                                 \
    template CsrMatrix<T> from_dense<T>(const Context&, Index, Index, const T*, Offset, Offset);
TESSERA_INSTANTIATE(float)
TESSERA_INSTANTIATE(double)

}  // namespace tessera::io
