#include <algorithm>
#include <bit>

#include "gpu/launch.cuh"
#include "gpu/scan.cuh"
#include "gpu/warp.cuh"
#include "sparse/bsr/kernels.hpp"
#include "sparse/bsr/rows.hpp"

// Products of matrices of blocks: a thread block for each block row of A.
namespace tessera::cuda {

namespace {

constexpr int max_pattern_threads = 256, max_row_threads = 128;
/// Slots of the table of a row in shared memory.
constexpr int small_table = 512;
/// Columns of a row of the product that are kept in shared memory.
constexpr int kept_columns = 512;

/// Column numbers in an open-addressing table of a power of two of slots, shared by a thread block.
struct ColumnTable {
    Index* slots;
    unsigned mask;  ///< Slots - 1.

    __device__ void clear() const {
        for (unsigned s = threadIdx.x; s <= mask; s += blockDim.x) slots[s] = -1;
        __syncthreads();
    }
    /// Adds a column and counts it if it is new; false if there is no room.
    __device__ bool insert(Index column, int* count) const {
        unsigned at = unsigned(column) * 0x9E3779B1u >> 8 & mask;
        for (;;) {
            const Index found = atomicCAS(slots + at, -1, column);
            if (found == column) return true;
            if (found == -1) return unsigned(atomicAdd(count, 1)) < mask / 4 * 3;
            at = (at + 1) & mask;
        }
    }
};

/// The distinct columns of block row i of A B. Returns false where the table has no room for them.
template <class T>
__device__ bool collect_columns(const BsrView<T>& a, const BsrView<T>& b, Index i,
                                const ColumnTable& table, int* count, int* full) {
    if (threadIdx.x == 0) *count = *full = 0;
    table.clear();
    constexpr unsigned lanes = 8;  // Of a row of B.
    for (Offset k = a.row_offsets[i] + threadIdx.x / lanes; k < a.row_offsets[i + 1];
         k += blockDim.x / lanes) {
        const Index row = a.column_indices[k];
        for (Offset t = b.row_offsets[row] + threadIdx.x % lanes; t < b.row_offsets[row + 1];
             t += lanes) {
            if (atomicOr(full, 0) != 0) break;
            if (!table.insert(b.column_indices[t], count)) atomicOr(full, 1);
        }
    }
    __syncthreads();
    return *full == 0;
}

/// Counts the columns of each block row, or writes them in ascending order (`columns` not null).
/// Without `large` in shared memory, one row for each thread block; rows that do not fit there get
/// the count -1 and raise `overflow`. With it, those rows, in tables of `large_slots` slots.
template <class T>
__global__ void __launch_bounds__(max_pattern_threads)
    product_pattern_kernel(const __grid_constant__ BsrView<T> a,
                           const __grid_constant__ BsrView<T> b, Index* counts,
                           const Offset* offsets, Index* columns, Index* large,
                           unsigned large_slots, int* overflow) {
    __shared__ Index small[2 * small_table];
    __shared__ int count, full, written;
    const unsigned slots = large != nullptr ? large_slots : small_table;
    Index* const memory = large != nullptr ? large + Offset(blockIdx.x) * 2 * slots : small;
    const ColumnTable table{memory, slots - 1};
    Index* const list = memory + slots;
    for (Index i = Index(blockIdx.x); i < a.block_rows; i += Index(gridDim.x)) {
        if (large != nullptr && counts[i] >= 0) continue;
        if (large == nullptr && columns != nullptr && counts[i] < 0) continue;
        __syncthreads();
        const bool fits = collect_columns(a, b, i, table, &count, &full);
        if (columns == nullptr) {
            // The count -1 of a large row stays until its columns are written: `-1 - count`.
            if (threadIdx.x == 0) counts[i] = large != nullptr ? -1 - count : fits ? count : -1;
            if (threadIdx.x == 0 && !fits) *overflow = 1;
            continue;
        }
        if (threadIdx.x == 0) written = 0;
        __syncthreads();
        for (unsigned s = threadIdx.x; s < slots; s += blockDim.x) {
            if (memory[s] >= 0) list[atomicAdd(&written, 1)] = memory[s];
        }
        __syncthreads();
        for (int e = int(threadIdx.x); e < count; e += int(blockDim.x)) {
            Offset to = offsets[i];
            for (int other = 0; other < count; ++other) to += list[other] < list[e];
            columns[to] = list[e];
        }
    }
}

/// The number of columns of a row: see product_pattern_kernel.
struct PatternCount {
    const Index* counts;
    __device__ Offset operator()(Offset i) const {
        return counts[i] < 0 ? -1 - counts[i] : counts[i];
    }
};

/// The first of `length` ascending columns that is not below `column`.
__device__ inline int place_of(const Index* columns, int length, Index column) {
    int low = 0, high = length - 1;
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

/// Some blocks of a row of A, with the rows of B that they multiply.
struct Batch {
    static constexpr int most = 32;
    Offset first[most];    ///< Of the row of B.
    int starts[most + 1];  ///< Blocks in the rows of B before.

    /// By the first warp.
    template <class T>
    __device__ void read(const BsrView<T>& a, const BsrView<T>& b, Offset begin, int count) {
        const int lane = int(threadIdx.x);
        Offset length = 0;
        if (lane < count) {
            const Index row = a.column_indices[begin + lane];
            first[lane] = b.row_offsets[row];
            length = b.row_offsets[row + 1] - first[lane];
        }
        starts[lane + 1] = int(warp_inclusive_scan(length));
        if (lane == 0) starts[0] = 0;
    }
    /// The block of A with the pair p of blocks.
    __device__ int block_of(int p, int count) const {
        int k = 0;
        for (int step = most / 2; step > 0; step /= 2) {
            if (k + step < count && starts[k + step] <= p) k += step;
        }
        return k;
    }
};

/// Block row i of C = A B. A thread sums a block of C; for a batch of blocks of A, each first
/// learns with which of them and with which blocks of B. Sizes are constants where they are not 0.
template <int Height, int Inner, int Width, class T>
__global__ void __launch_bounds__(max_row_threads)
    sum_products_kernel(const __grid_constant__ BsrView<T> a, const __grid_constant__ BsrView<T> b,
                        const __grid_constant__ BsrView<T> c, T* values, bool upper) {
    const int height = Height > 0 ? Height : a.height, inner = Inner > 0 ? Inner : a.width,
              width = Width > 0 ? Width : b.width, size = height * width;
    constexpr int most = Height > 0 ? Height * Width : max_bsr_block * max_bsr_block;
    __shared__ Index kept[kept_columns];
    __shared__ Batch batch;
    __shared__ unsigned hits[max_row_threads];  // Bit k: a product with block k of the batch.
    extern __shared__ int places[];             // By block of the batch and thread: that of B.
    const Index i = Index(blockIdx.x);
    const int thread = int(threadIdx.x), threads = int(blockDim.x);
    const Offset row_begin = c.row_offsets[i], a_end = a.row_offsets[i + 1];
    const int length = int(c.row_offsets[i + 1] - row_begin);
    for (int k = thread; k < min(length, kept_columns); k += threads) {
        kept[k] = c.column_indices[row_begin + k];
    }
    const Index* const columns = length <= kept_columns ? kept : c.column_indices + row_begin;
    for (int group = 0; group < length; group += threads) {
        T sums[most];
        for (int e = 0; e < size; ++e) sums[e] = T(0);
        for (Offset begin = a.row_offsets[i]; begin < a_end; begin += Batch::most) {
            const int count = int(min(Offset(Batch::most), a_end - begin));
            hits[thread] = 0;
            if (thread < 32) batch.read(a, b, begin, count);
            __syncthreads();
            for (int p = thread; p < batch.starts[count]; p += threads) {
                const int k = batch.block_of(p, count), t = p - batch.starts[k];
                const Index column = b.column_indices[batch.first[k] + t];
                if (upper && column < i) continue;
                const int owner = place_of(columns, length, column) - group;
                if (owner < 0 || owner >= threads) continue;
                places[k * threads + owner] = t;
                atomicOr(hits + owner, 1u << k);
            }
            __syncthreads();
            for (unsigned left_hits = hits[thread]; left_hits != 0; left_hits &= left_hits - 1) {
                const int k = __ffs(int(left_hits)) - 1;
                const T* const left = a.values + (begin + k) * height * inner;
                const T* const right =
                    b.values + (batch.first[k] + places[k * threads + thread]) * inner * width;
#pragma unroll
                for (int n = 0; n < inner; ++n) {
#pragma unroll
                    for (int r = 0; r < height; ++r) {
                        const T factor = left[r * inner + n];
#pragma unroll
                        for (int e = 0; e < width; ++e) {
                            sums[r * width + e] += factor * right[n * width + e];
                        }
                    }
                }
            }
            __syncthreads();
        }
        if (group + thread < length) {
            T* const block = values + (row_begin + group + thread) * size;
#pragma unroll
            for (int e = 0; e < size; ++e) block[e] = sums[e];
        }
    }
}

}  // namespace

template <class T>
BsrMatrix<T> product_pattern(const Context& context, const BsrView<T>& a, const BsrView<T>& b) {
    const cudaStream_t stream = stream_of(context);
    Buffer<Index> counts(context, a.block_rows);
    Buffer<Offset> offsets(context, Offset(a.block_rows) + 1);
    Buffer<int> overflow = copy_to_buffer(context, std::vector<int>{0});
    Buffer<Index> tables;
    // Few rows, those of coarse matrices, are long.
    const int threads = a.block_rows > 20000 ? 32 : max_pattern_threads;
    const auto run = [&](unsigned blocks, unsigned slots, Index* columns) {
        if (a.block_rows == 0) return;
        product_pattern_kernel<T><<<blocks, threads, 0, stream>>>(
            a, b, counts.data(), offsets.data(), columns, slots > 0 ? tables.data() : nullptr,
            slots, overflow.data());
        TESSERA_CUDA(cudaGetLastError());
    };
    // Rows with many columns take turns in a few tables that have room for all.
    constexpr unsigned large_blocks = 16;
    unsigned large_slots = 0;
    run(unsigned(a.block_rows), 0, nullptr);
    if (copy_to_host(context, overflow)[0] != 0) {
        large_slots = std::bit_ceil(unsigned(b.block_columns) * 2);
        tables = Buffer<Index>(context, Offset(large_blocks) * 2 * large_slots);
        run(large_blocks, large_slots, nullptr);
    }
    exclusive_scan(context, a.block_rows, PatternCount{counts.data()}, offsets.data());
    Offset blocks = 0;
    copy_to_host(context, std::span<const Offset>(offsets.view()).last(1),
                 std::span<Offset>(&blocks, 1));
    BsrMatrix<T> product(context, a.block_rows, b.block_columns, a.height, b.width, blocks);
    Index* const columns = product.column_indices().data();
    run(unsigned(a.block_rows), 0, columns);
    if (large_slots > 0) run(large_blocks, large_slots, columns);
    product.row_offsets() = std::move(offsets);
    return product;
}

template <class T>
void sum_products(const Context& context, const BsrView<T>& a, const BsrView<T>& b,
                  BsrMatrix<T>& product, bool upper) {
    if (a.block_rows == 0) return;
    auto* kernel = &sum_products_kernel<0, 0, 0, T>;
    const auto use = [&](int height, int inner, int width, auto* chosen) {
        if (a.height == height && a.width == inner && b.width == width) kernel = chosen;
    };
    // The unknowns of a node and the near-null vectors of elasticity and diffusion.
    use(1, 1, 1, &sum_products_kernel<1, 1, 1, T>);
    use(2, 2, 3, &sum_products_kernel<2, 2, 3, T>);
    use(3, 2, 3, &sum_products_kernel<3, 2, 3, T>);
    use(3, 3, 3, &sum_products_kernel<3, 3, 3, T>);
    use(3, 3, 6, &sum_products_kernel<3, 3, 6, T>);
    use(6, 3, 6, &sum_products_kernel<6, 3, 6, T>);
    use(6, 6, 6, &sum_products_kernel<6, 6, 6, T>);
    const Offset mean_row = product.blocks() / a.block_rows;
    int threads = 32;
    while (threads < mean_row && threads < max_row_threads) threads *= 2;
    const std::size_t table = std::size_t(threads) * Batch::most * sizeof(int);
    kernel<<<unsigned(a.block_rows), threads, table, stream_of(context)>>>(
        a, b, std::as_const(product).view(), product.values().data(), upper);
    TESSERA_CUDA(cudaGetLastError());
}

#define TESSERA_INSTANTIATE(T)                                                                   \
    template BsrMatrix<T> product_pattern(const Context&, const BsrView<T>&, const BsrView<T>&); \
    template void sum_products(const Context&, const BsrView<T>&, const BsrView<T>&,             \
                               BsrMatrix<T>&, bool);
TESSERA_INSTANTIATE(float)
TESSERA_INSTANTIATE(double)

}  // namespace tessera::cuda
