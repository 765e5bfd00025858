#include "gpu/launch.cuh"
#include "precond/block_ldlt/numeric/block_tiles.cuh"
#include "precond/block_ldlt/numeric/launch_items.cuh"
#include "precond/block_ldlt/numeric/long_sums.cuh"

namespace tessera::block_ldlt::cuda {

namespace {

using namespace tessera::cuda;

constexpr int threads = 128;
constexpr int per_thread = 4;
constexpr int row_warps = 4;  ///< Of a thread block, in products with the matrix.

/// The lanes that share a block row: one for each of its rows.
template <int k>
struct RowTeam {
    static constexpr int teams = threads / k;

    int lane = int(threadIdx.x) % k;
    Offset row = Offset(blockIdx.x) * teams + int(threadIdx.x) / k;
};

template <int k, class T>
__global__ void __launch_bounds__(threads)
    factor_product_kernel(Index block_rows, const T* factors, const Index* permutations, const T* x,
                          T* y) {
    begin_dependent();
    const RowTeam<k> at;
    const bool active = at.row < block_rows;
    const Offset i = active ? at.row : 0;
    const int s = at.lane;
    const T* const f = factors + i * (k * k);
    const Offset place = i * k + permutations[i * k + s];
    const T own = x[place];
    T upper = own;
    for (int r = 1; r < k; ++r) {
        const T other = __shfl_sync(full_warp, own, r, k);
        if (r > s) upper += f[r + s * k] * other;
    }
    const T next = __shfl_down_sync(full_warp, upper, 1, k);
    const T previous = __shfl_up_sync(full_warp, upper, 1, k);
    T middle = f[s + s * k] * upper;
    if (s + 1 < k) middle += f[s + (s + 1) * k] * next;
    if (s > 0) middle += f[s - 1 + s * k] * previous;
    T lower = middle;
    for (int r = 0; r + 1 < k; ++r) {
        const T other = __shfl_sync(full_warp, middle, r, k);
        if (r < s) lower += f[s + r * k] * other;
    }
    if (active) y[place] = lower;
}

/// What the lanes of a warp add up of a block row of the whole matrix, a block a lane at a time.
/// Each lane adds up all rows, in its column of `sums`, before these are added up. With x for
/// y = A x, without it for the sums of |a|.
template <int k, class T>
struct RowSums {
    const PatternView<T>& a;
    const T* x;
    T (&sums)[k][32];
    int lane = int(threadIdx.x) % 32;

    __device__ __forceinline__ void start() {
#pragma unroll
        for (int r = 0; r < k; ++r) sums[r][lane] = T(0);
    }
    /// The entries first .. last - 1, those of an item, times the elements of block row j.
    __device__ __forceinline__ void add(Offset first, Offset last, Offset j, bool transposed) {
        for (Offset e = first; e < last; ++e) {
            const int place = a.places[e], r = place % k, c = place / k;
            const T value = a.values[e];
            const T term = x == nullptr ? abs(value) : value * x[j * k + (transposed ? r : c)];
            sums[transposed ? c : r][lane] += term;
        }
    }
    /// The places begin .. end - 1 of the list of a block row.
    __device__ __forceinline__ void add_row(Offset begin, Offset end) {
        for (Offset e = begin + lane; e < end; e += 32) {
            const Index block = a.row_blocks[e];
            add(a.entry_offsets[block], a.entry_offsets[block + 1], a.columns[block], false);
        }
    }
    /// The blocks begin .. end - 1 of a block column.
    __device__ __forceinline__ void add_column(Offset begin, Offset end) {
        for (Offset b = begin + lane; b < end; b += 32) {
            add(a.entry_offsets[b], a.entry_offsets[b + 1], a.rows[b], true);
        }
    }
    /// What the pieces of a list have added up.
    __device__ __forceinline__ void add_pieces(const LongSums<T>& cut, Offset item) {
        const PieceRange pieces = pieces_of(cut, item);
        for (Index p = pieces.begin + lane; p < pieces.end; p += 32) {
#pragma unroll
            for (int r = 0; r < k; ++r) sums[r][lane] += cut.partial[Offset(p) * k + r];
        }
    }
    /// The sum of row lane % k.
    __device__ __forceinline__ T total() {
        __syncwarp();
        const int row = lane % k, part = lane / k;
        T sum = T(0);
        for (int other = 0; other < k; ++other) sum += sums[row][part * k + (other + row) % k];
#pragma unroll
        for (int distance = k; distance < 32; distance *= 2) {
            sum += __shfl_xor_sync(full_warp, sum, distance);
        }
        return sum;
    }
};

/// A warp a piece of a row's list or, behind these, of a column's.
template <int k, class T>
__global__ void __launch_bounds__(row_warps * 32)
    matrix_pieces_kernel(PatternView<T> a, const T* x) {
    __shared__ T all_sums[row_warps][k][32];
    begin_dependent();
    Offset p = Offset(blockIdx.x) * row_warps + int(threadIdx.x) / 32;
    const bool upper = p >= a.long_rows.piece_count;
    if (upper) p -= a.long_rows.piece_count;
    const LongSums<T>& cut = upper ? a.long_columns : a.long_rows;
    if (p >= cut.piece_count) return;
    RowSums<k, T> row{a, x, all_sums[threadIdx.x / 32]};
    row.start();
    const SumPiece piece = cut.pieces[p];
    if (upper) {
        row.add_column(piece.begin, piece.end);
    } else {
        row.add_row(piece.begin, piece.end);
    }
    const T sum = row.total();
    if (row.lane < k) cut.partial[p * k + row.lane] = sum;
}

/// A warp a block row of the whole matrix; long lists are in pieces.
template <int k, class T>
__global__ void __launch_bounds__(row_warps * 32)
    matrix_product_kernel(PatternView<T> a, const T* x, T* y) {
    __shared__ T all_sums[row_warps][k][32];
    begin_dependent();
    const Offset i = Offset(blockIdx.x) * row_warps + int(threadIdx.x) / 32;
    if (i >= a.block_rows) return;
    RowSums<k, T> row{a, x, all_sums[threadIdx.x / 32]};
    row.start();
    const Offset begin = a.row_offsets[i], end = a.row_offsets[i + 1];
    if (end - begin <= a.long_rows.limit) {
        row.add_row(begin, end);
    } else {
        row.add_pieces(a.long_rows, i);
    }
    const Offset first = a.column_offsets[i], last = a.column_offsets[i + 1];
    if (last - first <= a.long_columns.limit) {
        row.add_column(first, last);
    } else {
        row.add_pieces(a.long_columns, i);
    }
    // The diagonal block by its entries, of which the lower triangle is there.
    const Offset own = a.blocks + i;
    for (Offset e = a.entry_offsets[own] + row.lane; e < a.entry_offsets[own + 1]; e += 32) {
        row.add(e, e + 1, i, false);
        if (a.places[e] % k != a.places[e] / k) row.add(e, e + 1, i, true);
    }
    const T sum = row.total();
    if (row.lane < k) y[i * k + row.lane] = sum;
}

template <class T>
__global__ void __launch_bounds__(threads)
    gather_values_kernel(Offset count, const Offset* source, const Index* row_slots,
                         const Index* column_slots, const Index* slots, const T* scale,
                         const T* matrix, T* values) {
    begin_dependent();
    for_elements<per_thread>(count, [&](Offset e) {
        values[e] = source[e] < 0 ? T(1)
                                  : scale[slots[row_slots[e]]] * matrix[source[e]] *
                                        scale[slots[column_slots[e]]];
    });
}

template <class T>
__global__ void __launch_bounds__(threads)
    gather_kernel(Offset count, const Index* slots, const T* scale, const T* r, T* x) {
    begin_dependent();
    for_elements<per_thread>(count, [&](Offset s) {
        const Index row = slots[s];
        x[s] = row < 0 ? T(0) : scale[row] * r[row];
    });
}

template <class T>
__global__ void __launch_bounds__(threads)
    scatter_kernel(Offset count, const Index* slots, const T* scale, const T* x, T* z) {
    begin_dependent();
    for_elements<per_thread>(count, [&](Offset s) {
        const Index row = slots[s];
        if (row >= 0) z[row] = scale[row] * x[s];
    });
}

}  // namespace

template <class T>
void factor_product(const Context& context, const PatternView<T>& a, const T* factors,
                    const Index* permutations, const T* x, T* y) {
    with_size(a.k, [&](auto size) {
        constexpr int k = decltype(size)::value;
        launch_items<threads>(context, &factor_product_kernel<k, T>, a.block_rows, threads / k,
                              a.block_rows, factors, permutations, x, y);
    });
}

template <class T>
void multiply(const Context& context, const PatternView<T>& a, const T* x, T* y) {
    with_size(a.k, [&](auto size) {
        constexpr int k = decltype(size)::value;
        const Offset pieces = Offset(a.long_rows.piece_count) + a.long_columns.piece_count;
        launch_items<threads>(context, &matrix_pieces_kernel<k, T>, pieces, row_warps, a, x);
        launch_items<threads>(context, &matrix_product_kernel<k, T>, a.block_rows, row_warps, a, x,
                              y);
    });
}

template <class T>
void matrix_product(const Context& context, const PatternView<T>& a, const T* x, T* y) {
    multiply<T>(context, a, x, y);
}

template <class T>
void row_norms(const Context& context, const PatternView<T>& a, T* y) {
    multiply<T>(context, a, nullptr, y);
}

template <class T>
void gather_values(const Context& context, Offset count, const Offset* source,
                   const Index* row_slots, const Index* column_slots, const Index* slots,
                   const T* scale, const T* matrix, T* values) {
    launch_items<threads>(context, &gather_values_kernel<T>, count, threads * per_thread, count,
                          source, row_slots, column_slots, slots, scale, matrix, values);
}

template <class T>
void gather(const Context& context, Offset count, const Index* slots, const T* scale, const T* r,
            T* x) {
    launch_items<threads>(context, &gather_kernel<T>, count, threads * per_thread, count, slots,
                          scale, r, x);
}

template <class T>
void scatter(const Context& context, Offset count, const Index* slots, const T* scale, const T* x,
             T* z) {
    launch_items<threads>(context, &scatter_kernel<T>, count, threads * per_thread, count, slots,
                          scale, x, z);
}

#define TESSERA_INSTANTIATE(T)                                                                     \
    template void factor_product<T>(const Context&, const PatternView<T>&, const T*, const Index*, \
                                    const T*, T*);                                                 \
    template void matrix_product<T>(const Context&, const PatternView<T>&, const T*, T*);          \
    template void row_norms<T>(const Context&, const PatternView<T>&, T*);                         \
    template void gather_values<T>(const Context&, Offset, const Offset*, const Index*,            \
                                   const Index*, const Index*, const T*, const T*, T*);            \
    template void gather<T>(const Context&, Offset, const Index*, const T*, const T*, T*);         \
    template void scatter<T>(const Context&, Offset, const Index*, const T*, const T*, T*);
TESSERA_INSTANTIATE(float)
TESSERA_INSTANTIATE(double)
#undef TESSERA_INSTANTIATE

}  // namespace tessera::block_ldlt::cuda
