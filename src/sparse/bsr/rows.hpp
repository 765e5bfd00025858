#pragma once

#include "base/find_csr_entry.hpp"
#include "base/for_each.hpp"
#include "sparse/count_blocks.hpp"
#include "tessera/detail/bsr.hpp"

// Loop bodies of for_each_index and exclusive_scan on matrices of blocks.

namespace tessera::bsr {

/// use(column) for each block column of a block row, ascending.
template <class Use>
TESSERA_HOST_DEVICE void merge_rows(const CsrPattern& matrix, Offset i, int height, int width,
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

/// merge_rows for blocks of N x N; 0: of any size.
template <int N, class Use>
TESSERA_HOST_DEVICE void visit_blocks(const CsrPattern& matrix, Offset i, int height, int width,
                                      Use&& use) {
    if constexpr (N > 0) {
        for_blocks<N>(matrix, i, use);
    } else {
        merge_rows(matrix, i, height, width, use);
    }
}

/// The number of blocks in a block row.
template <int N>
struct CountBlocks {
    static constexpr int work = 64;
    CsrPattern matrix;
    const std::uint8_t* partial;  ///< Marks of MarkPartialBlocks, if N > 0.
    int height, width;
    Index* counts;

    TESSERA_HOST_DEVICE void operator()(Offset i) const {
        if constexpr (N > 0) {
            counts[i] = count_blocks_of_row<N>(matrix, i, partial);
        } else {
            Index count = 0;
            merge_rows(matrix, i, height, width, [&](Index) { ++count; });
            counts[i] = count;
        }
    }
};

/// The block columns of a block row, which `lanes` threads share if its blocks are full.
template <int N>
struct FillColumns {
    static constexpr int work = 64;
    int lanes;
    CsrPattern matrix;
    int height, width;
    const Offset* offsets;
    Index* columns;

    TESSERA_HOST_DEVICE void operator()(Offset place) const {
        const Offset i = place / lanes, lane = place % lanes;
        Index* to = columns + offsets[i];
        if constexpr (N > 0) {
            const Offset blocks = offsets[i + 1] - offsets[i];
            if (has_full_blocks<N>(matrix, i, blocks)) {
                const Index* const from = matrix.column_indices + matrix.row_offsets[i * N];
                for (Offset k = lane; k < blocks; k += lanes) to[k] = from[k * N] / N;
                return;
            }
        }
        if (lane > 0) return;
        visit_blocks<N>(matrix, i, height, width, [&](Index column) { *to++ = column; });
    }
};

/// The values of a row in its blocks, every lanes-th; the others stay as they are. Where several
/// threads share a row and the blocks are full, those of a block row write side by side.
template <int N, class T>
struct FillValues {
    static constexpr int work = 64;
    int lanes;
    CsrView<T> matrix;
    int block_height, block_width;
    const Offset* offsets;
    const Index* columns;
    T* values;

    TESSERA_HOST_DEVICE void operator()(Offset place) const {
        const int height = N > 0 ? N : block_height, width = N > 0 ? N : block_width;
        const Offset row = place / lanes, i = row / height, first = matrix.row_offsets[row];
        const int r = int(row % height);
        Offset block = offsets[i];
        if constexpr (N > 0) {
            const Offset blocks = offsets[i + 1] - block;
            const bool full = has_full_blocks<N>(matrix, i, blocks);
            if (full && lanes > 1) {
                T* const to = values + block * (N * N);
                const Index length = Index(blocks) * N;
                const T* const from = matrix.values + matrix.row_offsets[i * N];
                for (Index e = Index(place % (N * lanes)); e < length * N; e += N * lanes) {
                    const Index k = e / (N * N), inside = e % (N * N);
                    to[e] = from[inside / N * length + k * N + inside % N];
                }
                return;
            }
            if (full) {
                T* const to = values + (block * N + r) * N;
                for (int e = int(place % lanes); e < matrix.row_offsets[row + 1] - first;
                     e += lanes) {
                    to[e / N * (N * N) + e % N] = matrix.values[first + e];
                }
                return;
            }
        }
        for (Offset k = first + place % lanes; k < matrix.row_offsets[row + 1]; k += lanes) {
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

/// Copies the blocks above the diagonal, and the upper triangles of those on it, to below; leaves
/// columns after those of the rows. `lanes` threads share a row, `sharers` of them each of its
/// blocks.
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
            if (j >= matrix.block_rows) continue;
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

/// Places the blocks of a block row in the rows of the transpose, in any order there: the block
/// row, and their places in it. `lanes` threads share a block row.
struct PlaceBlocks {
    static constexpr int work = 16;
    int lanes;
    const Offset* row_offsets;
    const Index* columns;
    const Offset* offsets;
    Index* used;  ///< Blocks placed in each row of the transpose, at first 0.
    Index* places;
    Index* rows;

    TESSERA_HOST_DEVICE void operator()(Offset place) const {
        const Offset i = place / lanes;
        for (Offset k = row_offsets[i] + place % lanes; k < row_offsets[i + 1]; k += lanes) {
            const Offset to = offsets[columns[k]] + next_of(used + columns[k]);
            places[to] = Index(k - row_offsets[i]);
            rows[to] = Index(i);
        }
    }
};

/// The place of a placed block in its row of the transpose, where its row number puts it.
struct SortPlaced {
    static constexpr int work = 128;
    const Offset* row_offsets;
    const Index* columns;
    const Offset* offsets;  ///< Row offsets of the transpose.
    const Index* places;
    const Index* rows;
    Index* to_rows;
    Index* to_places;

    TESSERA_HOST_DEVICE void operator()(Offset place) const {
        const Index column = columns[row_offsets[rows[place]] + places[place]];
        Offset to = offsets[column];
        for (Offset other = offsets[column]; other < offsets[column + 1]; ++other) {
            to += rows[other] < rows[place];
        }
        to_rows[to] = rows[place];
        to_places[to] = places[place];
    }
};

/// Copies an entry of a matrix to its transpose, or (`Back`) from there.
template <bool Back, class T>
struct TransposeEntry {
    static constexpr int work = 2;
    int height, width;          ///< The blocks of the matrix have this size.
    const Offset* row_offsets;  ///< Where the rows of the matrix begin.
    const Index* rows;          ///< For each block of the transpose its row in the matrix,
    const Index* places;        ///< and its place there.
    const T* from;
    T* to;

    TESSERA_HOST_DEVICE void operator()(Offset e) const {
        const int size = height * width, at = int(e % size);
        const Offset k = e / size, block = row_offsets[rows[k]] + places[k];
        const Offset entry = block * size + at % height * width + at / height;
        if constexpr (Back) {
            to[entry] = from[e];
        } else {
            to[e] = from[entry];
        }
    }
};

/// How many blocks of B the blocks of A meet in A B: of `samples` blocks of A, evenly spread, each
/// place counts some.
struct CountProducts {
    static constexpr int work = 256;
    Offset places, samples;
    Offset blocks;  ///< The number of blocks of A.
    const Index* columns;
    const Offset* row_offsets;  ///< Where the rows of B begin.
    Offset* counts;             ///< By place.

    TESSERA_HOST_DEVICE void operator()(Offset place) const {
        Offset count = 0;
        for (Offset s = place; s < samples; s += places) {
            const Index column = columns[blocks * s / samples];
            count += row_offsets[column + 1] - row_offsets[column];
        }
        counts[place] = count;
    }
};

}  // namespace tessera::bsr
