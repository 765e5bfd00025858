#include <algorithm>
#include <limits>

#include "base/scratch/scratch.hpp"
#include "gpu/for_each.cuh"
#include "gpu/warp.cuh"
#include "sparse/bsr/kernels.hpp"
#include "sparse/bsr/rows.hpp"

// Values of products of matrices of blocks.
namespace tessera::cuda {

namespace {

constexpr int product_threads = 128;

/// The first of `length` ascending columns that is not below `column`; `length`: none.
__device__ inline int place_of(const Index* columns, int length, Index column) {
    int low = 0, high = length;
    while (low < high) {
        const int middle = (low + high) / 2;
        if (columns[middle] < column) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/// Some of the entries (blocks) of a row of C: one of `parts` shares of them, or of those on and
/// above the diagonal.
struct RowPart {
    Index row;
    Offset first = 0, last = 0;

    template <class T>
    __device__ RowPart(const BsrView<T>& c, Offset number, int parts, bool upper)
        : row(Index(number / parts)) {
        if (row >= c.block_rows) return;
        const Offset end = c.row_offsets[row + 1];
        first = c.row_offsets[row];
        if (upper) first += place_of(c.column_indices + first, int(end - first), row);
        const Offset share = (end - first + parts - 1) / parts;
        first += number % parts * share;
        last = min(end, first + share);
    }
    /// One entry.
    __device__ RowPart(Index its_row, Offset entry) : row(its_row), first(entry), last(entry + 1) {}
};

/// Rows of a matrix of single entries with more of them (hubs of graphs) are summed after the
/// others, each entry of C by lanes of its own: the walks along so many rows of B would take
/// seconds.
constexpr Offset max_row_entries = 2048;

/// The long rows that a kernel has left to the next one.
struct LongRows {
    unsigned count;
    Index rows[1];  ///< As many as A may have.
};

/// Whether a part is of a long row; its first part notes the row.
template <class T>
__device__ bool leaves_long_row(const BsrView<T>& a, Index row, bool is_first, LongRows* left) {
    if (a.row_offsets[row + 1] - a.row_offsets[row] <= max_row_entries) return false;
    if (is_first) left->rows[atomicAdd(&left->count, 1u)] = row;
    return true;
}

/// A walk along a row of B from a column on; nothing for row -1.
template <class T>
struct RowWalk {
    static constexpr Index none = std::numeric_limits<Index>::max();
    const Index* columns;
    const T* block;
    int left = 0;       ///< Blocks from this one on.
    Index next = none;  ///< The column of this one.

    __device__ RowWalk(const BsrView<T>& b, Index row, Index column) {
        if (row < 0) return;
        const Offset first = b.row_offsets[row];
        columns = b.column_indices + first;
        left = int(b.row_offsets[row + 1] - first);
        const int passed = place_of(columns, left, column);
        columns += passed;
        left -= passed;
        block = b.values + (first + passed) * b.block_size();
        if (left > 0) next = *columns;
    }
    __device__ void advance(int block_size) {
        ++columns;
        block += block_size;
        next = --left > 0 ? *columns : none;
    }
    /// Whether there is a block in a column; columns before it are passed over.
    __device__ bool reaches(Index column, int block_size) {
        while (next < column) advance(block_size);
        return next == column;
    }
};

/// D += A B for A of 8 x 4 numbers and B of 4 x 8, one of each in a lane: row lane / 4 and column
/// lane % 4 of A, row lane % 4 and column lane / 4 of B. Of D, a lane has row lane / 4, columns
/// 2 (lane % 4) and the next.
__device__ __forceinline__ void add_product(double (&d)[2], double a, double b) {
    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
        : "+d"(d[0]), "+d"(d[1])
        : "d"(a), "d"(b));
}

/// A block of A and one of B whose product is a term.
template <class T>
struct Term {
    const T *left, *right;
};

template <class T>
__device__ const T zero_block[max_bsr_block * max_bsr_block] = {};

/// C = A B: a warp for some columns of a row of C, `parts` warps for a row. Each lane walks along
/// the row of B of one block of A. In a column of C, the blocks of A that contribute stand side by
/// side, those of B below each other: tensor cores multiply four columns by four rows at a time,
/// in double also where T is float. `inverse`: inverse_of the width of blocks of A; divisions would
/// be done anew for each column of C.
template <class T>
__global__ void __launch_bounds__(product_threads)
    sum_products_kernel(const __grid_constant__ BsrView<T> a, const __grid_constant__ BsrView<T> b,
                        const __grid_constant__ BsrView<T> c, T* values, bool upper, int parts,
                        unsigned inverse) {
    __shared__ Term<T> all_terms[product_threads / 32][2][32 + 4];
    const RowPart part(c, (Offset(blockIdx.x) * product_threads + threadIdx.x) / 32, parts, upper);
    if (part.first >= part.last) return;
    const int lane = int(threadIdx.x) % 32, height = a.height, inner = a.width, width = b.width,
              deep = lane % 4, row = min(lane / 4, height - 1), column = min(lane / 4, width - 1);
    // Where a lane begins in the first blocks, and how far it goes on.
    const int first_term = quotient_of(deep, inverse), first_entry = deep - first_term * inner,
              more_terms = quotient_of(4, inverse), more_entries = 4 - more_terms * inner;
    const int results = lane / 4 < height ? max(0, min(2, width - 2 * deep)) : 0;
    const Offset a_begin = a.row_offsets[part.row], a_end = a.row_offsets[part.row + 1];
    for (Offset begin = a_begin; begin == a_begin || begin < a_end; begin += 32) {
        const Offset k = begin + lane;
        const Index* next_column = c.column_indices + part.first;
        RowWalk<T> walk(b, k < a_end ? a.column_indices[k] : -1, *next_column);
        const T* const own_block = a.values + k * height * inner;
        T* to = values + (part.first * height + row) * width + 2 * deep;
        Term<T>*terms = all_terms[threadIdx.x / 32][0], *others = all_terms[threadIdx.x / 32][1];
        __syncwarp();
        for (int more = int(part.last - part.first); more > 0; --more) {
            const bool meets = walk.reaches(*next_column++, inner * width);
            const unsigned lanes = __ballot_sync(full_warp, meets);
            const int count = __popc(lanes);
            if (meets) {
                terms[__popc(lanes & ((1u << lane) - 1))] = {own_block, walk.block};
                walk.advance(inner * width);
            }
            if (lane < 4) terms[count + lane] = {zero_block<T>, zero_block<T>};
            __syncwarp();
            double sums[2] = {0, 0};
            const Term<T>* term = terms + first_term;
            int entry = first_entry;  // A column of the block of A, a row of that of B.
#pragma unroll 2
            for (int left = count * inner; left > 0; left -= 4) {
                add_product(sums, double(term->left[row * inner + entry]),
                            double(term->right[entry * width + column]));
                entry += more_entries;
                term += more_terms;
                if (entry >= inner) {
                    entry -= inner;
                    ++term;
                }
            }
            for (int e = 0; e < results; ++e) {
                to[e] = T((begin == a_begin ? 0.0 : double(to[e])) + sums[e]);
            }
            to += height * width;
            Term<T>* const used = terms;
            terms = others;
            others = used;
        }
    }
}

/// C = A B for matrices of single entries: `Lanes` lanes for some columns of a row, whose terms of
/// an entry are summed in a fixed tree.
template <int Lanes, class T>
__device__ __forceinline__ void sum_entries(const BsrView<T>& a, const BsrView<T>& b,
                                            const BsrView<T>& c, T* values, const RowPart part) {
    const int lane = int(threadIdx.x) % Lanes;
    const unsigned group = (full_warp >> (32 - Lanes)) << (threadIdx.x % 32 / Lanes * Lanes);
    const Offset a_begin = a.row_offsets[part.row], a_end = a.row_offsets[part.row + 1];
    for (Offset begin = a_begin; begin == a_begin || begin < a_end; begin += Lanes) {
        const Offset k = begin + lane;
        const T factor = k < a_end ? a.values[k] : T(0);
        RowWalk<T> walk(b, k < a_end ? a.column_indices[k] : -1, c.column_indices[part.first]);
        for (Offset to = part.first; to < part.last; ++to) {
            T sum = 0;
            if (walk.reaches(c.column_indices[to], 1)) {
                sum = factor * *walk.block;
                walk.advance(1);
            }
#pragma unroll
            for (int distance = Lanes / 2; distance > 0; distance /= 2) {
                sum += __shfl_xor_sync(group, sum, distance);
            }
            if (lane == 0) values[to] = (begin == a_begin ? T(0) : values[to]) + sum;
        }
    }
}

/// All rows but the long ones, `parts` groups of lanes for a row of C.
template <int Lanes, class T>
__global__ void __launch_bounds__(product_threads)
    sum_entries_kernel(const __grid_constant__ BsrView<T> a, const __grid_constant__ BsrView<T> b,
                       const __grid_constant__ BsrView<T> c, T* values, bool upper, int parts,
                       LongRows* left) {
    const Offset group = (Offset(blockIdx.x) * product_threads + threadIdx.x) / Lanes;
    const RowPart part(c, group, parts, upper);
    if (part.first >= part.last) return;
    const bool notes = group % parts == 0 && threadIdx.x % Lanes == 0;
    if (leaves_long_row(a, part.row, notes, left)) return;
    sum_entries<Lanes>(a, b, c, values, part);
}

/// The long rows, a warp for each entry in turn.
template <class T>
__global__ void __launch_bounds__(product_threads)
    sum_long_rows_kernel(const __grid_constant__ BsrView<T> a, const __grid_constant__ BsrView<T> b,
                         const __grid_constant__ BsrView<T> c, T* values, bool upper,
                         const LongRows* left) {
    const unsigned count = left->count;
    const Offset warps = Offset(gridDim.x) * product_threads / 32,
                 warp = (Offset(blockIdx.x) * product_threads + threadIdx.x) / 32;
    for (unsigned r = 0; r < count; ++r) {
        const RowPart all(c, left->rows[r], 1, upper);
        for (Offset entry = all.first + warp; entry < all.last; entry += warps) {
            sum_entries<32>(a, b, c, values, RowPart(all.row, entry));
        }
    }
}

}  // namespace

template <class T>
void sum_products(const Context& context, const BsrView<T>& a, const BsrView<T>& b,
                  const BsrView<T>& c, T* values, bool upper) {
    if (a.block_rows == 0) return;
    // Warps that fill the GPU, if rows of the product have at least 2 blocks for each.
    constexpr Offset warps = 65536;
    const Offset parts = std::max<Offset>(
        1, std::min((warps + a.block_rows - 1) / a.block_rows, c.blocks / a.block_rows / 2));
    // Eight lanes for rows that have no more entries: 5 % of a setup for diffusion.
    const bool entries = a.block_size() * b.block_size() == 1,
               few = entries && a.blocks <= 8 * Offset(a.block_rows);
    const unsigned blocks = blocks_for(a.block_rows * parts, product_threads / (few ? 8 : 32));
    const cudaStream_t stream = stream_of(context);
    if (!entries) {
        sum_products_kernel<<<blocks, product_threads, 0, stream>>>(
            a, b, c, values, upper, int(parts), inverse_of(a.width));
        TESSERA_CUDA(cudaGetLastError());
        return;
    }
    const Scratch<Index> memory(context, a.blocks / max_row_entries + 2);
    auto* const left = reinterpret_cast<LongRows*>(memory.data());
    TESSERA_CUDA(cudaMemsetAsync(left, 0, sizeof(unsigned), stream));
    auto* const kernel = few ? &sum_entries_kernel<8, T> : &sum_entries_kernel<32, T>;
    kernel<<<blocks, product_threads, 0, stream>>>(a, b, c, values, upper, int(parts), left);
    TESSERA_CUDA(cudaGetLastError());
    if (a.blocks <= max_row_entries) return;
    constexpr unsigned blocks_for_long_rows = 2048;
    sum_long_rows_kernel<<<blocks_for_long_rows, product_threads, 0, stream>>>(a, b, c, values,
                                                                               upper, left);
    TESSERA_CUDA(cudaGetLastError());
}

template void sum_products(const Context&, const BsrView<float>&, const BsrView<float>&,
                           const BsrView<float>&, float*, bool);
template void sum_products(const Context&, const BsrView<double>&, const BsrView<double>&,
                           const BsrView<double>&, double*, bool);

}  // namespace tessera::cuda
