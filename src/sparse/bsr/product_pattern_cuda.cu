#include <algorithm>
#include <bit>

#include "gpu/for_each.cuh"
#include "gpu/scan.cuh"
#include "gpu/warp.cuh"
#include "sparse/bsr/kernels.hpp"
#include "sparse/bsr/rows.hpp"

// Patterns of products of matrices of blocks.
namespace tessera::cuda {

namespace {

constexpr int max_pattern_threads = 256;
/// Slots of the table of a row in shared memory.
constexpr int small_table = 512;

/// Column numbers in an open-addressing table of a power of two of slots, shared by a thread block.
struct ColumnTable {
    Index* slots;
    unsigned mask;  ///< Slots - 1.

    __device__ void clear() const {
        for (unsigned s = threadIdx.x; s <= mask; s += blockDim.x) slots[s] = -1;
        __syncthreads();
    }
    /// Adds a column and counts it if it is new; false if there is no room. As many threads may add
    /// at once, the table may become full before one of them is told.
    __device__ bool insert(Index column, int* count) const {
        unsigned at = unsigned(column) * 0x9E3779B1u >> 8 & mask;
        for (unsigned tries = 0; tries <= mask; ++tries) {
            const Index found = atomicCAS(slots + at, -1, column);
            if (found == column) return true;
            if (found == -1) return unsigned(atomicAdd(count, 1)) < mask / 4 * 3;
            at = (at + 1) & mask;
        }
        return false;
    }
};

/// Slots for the columns of block row i of A B: enough for the blocks of all rows of B that it
/// takes, or `most`. `sum` is a number in shared memory.
template <class T>
__device__ unsigned slots_of_row(const BsrView<T>& a, const BsrView<T>& b, Index i, unsigned most,
                                 int* sum) {
    if (threadIdx.x == 0) *sum = 0;
    __syncthreads();
    int own = 0;
    for (Offset k = a.row_offsets[i] + threadIdx.x; k < a.row_offsets[i + 1]; k += blockDim.x) {
        const Index row = a.column_indices[k];
        own = min(own + int(b.row_offsets[row + 1] - b.row_offsets[row]), int(most));
    }
    if (own > 0) atomicAdd(sum, own);
    __syncthreads();
    unsigned slots = 32;
    while (slots < most && (slots - 1) / 4 * 3 <= unsigned(*sum)) slots *= 2;
    return slots;
}

/// The distinct columns of block row i of A B, `lanes` threads for a row of B. Returns false where
/// the table has no room for them.
template <class T>
__device__ bool collect_columns(const BsrView<T>& a, const BsrView<T>& b, Index i, unsigned lanes,
                                const ColumnTable& table, int* count, int* full) {
    if (threadIdx.x == 0) *count = *full = 0;
    table.clear();
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

/// Counts the columns of the block rows with the count -1, or writes them in ascending order
/// (`columns` not null). Without `large` in shared memory, one row for each thread block; rows that
/// do not fit there keep the count -1 and raise `overflow`. With it, those rows, in tables of
/// `large_slots` slots.
template <class T>
__global__ void __launch_bounds__(max_pattern_threads)
    product_pattern_kernel(const __grid_constant__ BsrView<T> a,
                           const __grid_constant__ BsrView<T> b, Index* counts,
                           const Offset* offsets, Index* columns, Index* large,
                           unsigned large_slots, unsigned lanes, int* overflow) {
    __shared__ Index small[2 * small_table];
    __shared__ int count, full, written;
    Index* const memory = large != nullptr ? large + Offset(blockIdx.x) * 2 * large_slots : small;
    for (Offset row = blockIdx.x; row < a.block_rows; row += gridDim.x) {
        const Index i = Index(row);
        if ((columns == nullptr || large != nullptr) != (counts[i] < 0)) continue;
        __syncthreads();
        const unsigned slots =
            large != nullptr ? large_slots : slots_of_row(a, b, i, small_table, &count);
        const ColumnTable table{memory, slots - 1};
        Index* const list = memory + slots;
        __syncthreads();
        const bool fits = collect_columns(a, b, i, lanes, table, &count, &full);
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

}  // namespace

template <class T>
BsrMatrix<T> product_pattern(const Context& context, const BsrView<T>& a, const BsrView<T>& b) {
    const cudaStream_t stream = stream_of(context);
    Buffer<Index> counts(context, a.block_rows);
    TESSERA_CUDA(cudaMemsetAsync(counts.data(), 0xff, sizeof(Index) * std::size_t(a.block_rows),
                                 stream));  // -1
    Buffer<Offset> offsets(context, Offset(a.block_rows) + 1);
    Buffer<int> overflow = copy_to_buffer(context, std::vector<int>{0});
    Buffer<Index> tables;
    const int threads = a.block_rows > 20000 ? 32 : max_pattern_threads;
    const unsigned lanes = b.blocks <= b.block_rows              ? 1
                           : b.blocks < 5 * Offset(b.block_rows) ? 4
                                                                 : 8;
    const auto run = [&](unsigned blocks, unsigned slots, Index* columns) {
        if (a.block_rows == 0) return;
        product_pattern_kernel<T><<<blocks, threads, 0, stream>>>(
            a, b, counts.data(), offsets.data(), columns, slots > 0 ? tables.data() : nullptr,
            slots, lanes, overflow.data());
        TESSERA_CUDA(cudaGetLastError());
    };
    // Rows with many columns take turns in a few tables that have room for all.
    constexpr unsigned large_blocks = 16;
    unsigned large_slots = 0;
    run(unsigned(a.block_rows), 0, nullptr);
    if (copy_to_host(context, overflow)[0] != 0) {
        constexpr unsigned most_slots = 1u << 31;
        large_slots =
            std::bit_ceil(std::min(unsigned(b.block_columns), most_slots / 2) * 2);
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

template BsrMatrix<float> product_pattern(const Context&, const BsrView<float>&,
                                          const BsrView<float>&);
template BsrMatrix<double> product_pattern(const Context&, const BsrView<double>&,
                                           const BsrView<double>&);

}  // namespace tessera::cuda
