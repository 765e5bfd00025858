#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tessera/csr.hpp"

namespace tessera::io {

template <class T>
struct Entry {
    Index row;
    Index column;
    T value;
};

/// Rows cut into ranges of 2^shift, so that the entries of one range fit a core's cache.
struct RowBuckets {
    int shift = 0;
    Index count = 1;
};
RowBuckets row_buckets(Index rows, Offset entries);

/// Entries of one piece of a file, grouped by bucket, in file order within each.
template <class T>
struct EntryChunk {
    std::unique_ptr<Entry<T>[]> entries;
    std::vector<Offset> bucket_starts;  ///< count + 1 positions in `entries`.

    EntryChunk() = default;
    EntryChunk(std::span<const Entry<T>> in_file_order, RowBuckets buckets);
};

/// The matrix sum of the entries: columns sorted, duplicates summed in file order. The result does
/// not depend on how the entries were cut into chunks, nor on the threads. `duplicates` receives
/// the number of entries that were summed into another (with `mirrored` only those on or below the
/// diagonal: the others are images). Throws ParseError if a sum is not finite.
template <class T>
CsrMatrix<T> assemble(const Context& cpu, Index rows, Index columns, RowBuckets buckets,
                      std::span<const EntryChunk<T>> chunks, bool mirrored, const std::string& name,
                      Offset& duplicates);

/// The nonzero elements of a dense matrix; element (i, j) is values[i row_step + j column_step].
template <class T>
CsrMatrix<T> from_dense(const Context& cpu, Index rows, Index columns, const T* values,
                        Offset row_step, Offset column_step);

}  // namespace tessera::io
