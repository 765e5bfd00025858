#pragma once

#include "base/find_csr_entry.hpp"
#include "base/for_each.hpp"
#include "tessera/detail/bsr.hpp"

// Loop bodies of for_each_index and exclusive_scan on matrices of blocks.

namespace tessera::bsr {

/// use(column) for each block column of a block row, ascending.
template <class T, class Use>
TESSERA_HOST_DEVICE void merge_rows(const CsrView<T>& matrix, Offset i, int height, int width,
                                    Use&& use) {
    Offset heads[max_bsr_block];
    const Offset* const ends = matrix.row_offsets + i * height + 1;
    for (int r = 0; r < height; ++r) heads[r] = ends[r - 1];
    for (;;) {
        Index column = -1;
        for (int r = 0; r < height; ++r) {
            if (heads[r] == ends[r]) continue;
            const Index found = matrix.column_indices[heads[r]] / width;
            if (column < 0 || found < column) column = found;
        }
        if (column < 0) return;
        use(column);
        for (int r = 0; r < height; ++r) {
            while (heads[r] < ends[r] && matrix.column_indices[heads[r]] - column * width < width) {
                ++heads[r];
            }
        }
    }
}

/// The number of blocks in a block row.
template <class T>
struct CountBlocks {
    static constexpr int work = 64;
    CsrView<T> matrix;
    int height, width;
    Index* counts;

    TESSERA_HOST_DEVICE void operator()(Offset i) const {
        Index count = 0;
        merge_rows(matrix, i, height, width, [&](Index) { ++count; });
        counts[i] = count;
    }
};

/// The block columns of a block row.
template <class T>
struct FillColumns {
    static constexpr int work = 64;
    CsrView<T> matrix;
    int height, width;
    const Offset* offsets;
    Index* columns;

    TESSERA_HOST_DEVICE void operator()(Offset i) const {
        Offset to = offsets[i];
        merge_rows(matrix, i, height, width, [&](Index column) { columns[to++] = column; });
    }
};

/// The values of a row in its blocks, every lanes-th; the others stay as they are.
template <class T>
struct FillValues {
    static constexpr int work = 64;
    int lanes;
    CsrView<T> matrix;
    int height, width;
    const Offset* offsets;
    const Index* columns;
    T* values;

    TESSERA_HOST_DEVICE void operator()(Offset place) const {
        const Offset row = place / lanes;
        const int r = int(row % height);
        Offset block = offsets[row / height];
        for (Offset k = matrix.row_offsets[row] + place % lanes; k < matrix.row_offsets[row + 1];
             k += lanes) {
            const Index column = matrix.column_indices[k];
            while (columns[block] < column / width) ++block;
            values[(block * height + r) * width + column % width] = matrix.values[k];
        }
    }
};

/// A row of the matrix with all entries of its blocks: every lanes-th entry.
template <class T>
struct WriteRow {
    static constexpr int work = 128;
    int lanes;
    BsrView<T> matrix;
    Offset* row_offsets;
    Index* columns;
    T* values;

    TESSERA_HOST_DEVICE void operator()(Offset place) const {
        const int height = matrix.height, width = matrix.width;
        const Offset row = place / lanes, i = row / height, r = row % height;
        const Offset begin = matrix.row_offsets[i];
        const int length = int(matrix.row_offsets[i + 1] - begin) * width;
        const Offset first = begin * matrix.block_size() + r * length;
        for (int e = int(place % lanes); e < length; e += lanes) {
            const Offset k = begin + e / width;
            columns[first + e] = matrix.column_indices[k] * width + e % width;
            values[first + e] = matrix.values[k * matrix.block_size() + r * width + e % width];
        }
        if (place % lanes == 0) row_offsets[row + 1] = first + length;
        if (place == 0) row_offsets[0] = 0;
    }
};

/// Copies the blocks above the diagonal, and the upper triangles of those on it, to below. `lanes`
/// threads share a row, `sharers` of them each of its blocks.
template <class T>
struct MirrorBlocks {
    static constexpr int work = 64;
    int lanes, sharers;
    BsrView<T> matrix;
    T* values;
    int* fault;  ///< Set if the pattern is not symmetric.

    TESSERA_HOST_DEVICE void operator()(Offset place) const {
        const Index i = Index(place / lanes);
        const int n = matrix.height;
        const Index lane = Index(place % lanes);
        for (Offset k = matrix.row_offsets[i] + lane / sharers; k < matrix.row_offsets[i + 1];
             k += lanes / sharers) {
            const Index j = matrix.column_indices[k];
            const Offset found = find_csr_entry(matrix, j, i);
            if (found < 0) raise_flag(fault);
            if (found < 0 || j > i) continue;
            const T* const from = values + found * n * n;
            T* const to = values + k * n * n;
            for (int e = lane % sharers; e < n * n; e += sharers) {
                const int r = e / n, c = e % n;
                if (i != j || c < r) to[e] = from[c * n + r];
            }
        }
    }
};

/// *counter += 1, where several i may do so at once; returns the value before.
TESSERA_HOST_DEVICE inline Index next_of(Index* counter) {
#ifdef __CUDA_ARCH__
    return atomicAdd(counter, 1);
#else
    return std::atomic_ref<Index>(*counter).fetch_add(1, std::memory_order_relaxed);
#endif
}

struct SetZero {
    static constexpr int work = 1;
    Index* numbers;
    TESSERA_HOST_DEVICE void operator()(Offset i) const { numbers[i] = 0; }
};

/// Counts the blocks of each block column.
struct CountColumns {
    static constexpr int work = 8;
    const Index* columns;
    Index* counts;
    TESSERA_HOST_DEVICE void operator()(Offset k) const { next_of(counts + columns[k]); }
};

/// Places the blocks of a block row in the rows of the transpose, in any order there: their
/// positions, and the block row.
struct PlaceBlocks {
    static constexpr int work = 16;
    const Offset* row_offsets;
    const Index* columns;
    const Offset* offsets;
    Index* used;  ///< Blocks placed in each row of the transpose, at first 0.
    Offset* positions;
    Index* rows;

    TESSERA_HOST_DEVICE void operator()(Offset i) const {
        for (Offset k = row_offsets[i]; k < row_offsets[i + 1]; ++k) {
            const Offset to = offsets[columns[k]] + next_of(used + columns[k]);
            positions[to] = k;
            rows[to] = Index(i);
        }
    }
};

/// Copies a placed block to where its row number puts it, transposed.
template <class T>
struct SortPlaced {
    static constexpr int work = 128;
    BsrView<T> matrix;
    const Offset* offsets;  ///< Of the transpose.
    const Offset* positions;
    const Index* rows;
    Index* to_rows;
    T* to_values;

    TESSERA_HOST_DEVICE void operator()(Offset place) const {
        const Offset k = positions[place];
        const Index column = matrix.column_indices[k];
        Offset to = offsets[column];
        for (Offset other = offsets[column]; other < offsets[column + 1]; ++other) {
            to += rows[other] < rows[place];
        }
        to_rows[to] = rows[place];
        const int height = matrix.height, width = matrix.width, size = height * width;
        for (int e = 0; e < size; ++e) {
            to_values[to * size + e % width * height + e / width] = matrix.values[k * size + e];
        }
    }
};

}  // namespace tessera::bsr
