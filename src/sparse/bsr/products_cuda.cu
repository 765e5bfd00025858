#include <algorithm>
#include <bit>

#include "gpu/launch.cuh"
#include "gpu/scan.cuh"
#include "gpu/warp.cuh"
#include "sparse/bsr/kernels.hpp"
#include "sparse/bsr/rows.hpp"

// Products of matrices of blocks.
namespace tessera::cuda {

namespace {

constexpr int max_pattern_threads = 256, product_threads = 128;
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

/// Counts the columns of each block row, or writes them in ascending order (`columns` not null).
/// Without `large` in shared memory, one row for each thread block; rows that do not fit there get
/// the count -1 and raise `overflow`. With it, those rows, in tables of `large_slots` slots.
template <class T>
__global__ void __launch_bounds__(max_pattern_threads)
    product_pattern_kernel(const __grid_constant__ BsrView<T> a,
                           const __grid_constant__ BsrView<T> b, Index* counts,
                           const Offset* offsets, Index* columns, Index* large,
                           unsigned large_slots, unsigned lanes, int* overflow) {
    __shared__ Index small[2 * small_table];
    __shared__ int count, full, written;
    Index* const memory = large != nullptr ? large + Offset(blockIdx.x) * 2 * large_slots : small;
    for (Index i = Index(blockIdx.x); i < a.block_rows; i += Index(gridDim.x)) {
        if (large != nullptr && counts[i] >= 0) continue;
        if (large == nullptr && columns != nullptr && counts[i] < 0) continue;
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

/// What the threads of a warp share when they sum up to `Slots` consecutive blocks of a row of C:
/// their columns and, for a batch of blocks of a row of A, the blocks of B to multiply with.
template <int Slots>
struct Batch {
    static constexpr int most = 32;
    Offset first[most];    ///< By block of A: of the blocks of B between the columns.
    int starts[most + 1];  ///< How many of them there are before.
    Index columns[Slots];
    unsigned hits[Slots];      ///< Bit k: block k of A contributes ...
    int places[most * Slots];  ///< ... with this one of the blocks between the columns.

    template <class T>
    __device__ void read(const BsrView<T>& a, const BsrView<T>& b, Offset begin, int count,
                         int slots, Index lowest) {
        const int lane = int(threadIdx.x) % 32;
        int length = 0;
        if (lane < count) {
            const Index row = a.column_indices[begin + lane];
            const Offset start = b.row_offsets[row];
            const Index* const found = b.column_indices + start;
            const int all = int(b.row_offsets[row + 1] - start);
            const int low = place_of(found, all, lowest);
            first[lane] = start + low;
            length = place_of(found + low, all - low, columns[slots - 1] + 1);
        }
        starts[lane + 1] = int(warp_inclusive_scan(Offset(length)));
        if (lane == 0) starts[0] = 0;
        if (lane < slots) hits[lane] = 0;
        __syncwarp();
        for (int p = lane; p < starts[count]; p += 32) {
            int k = 0;
            for (int step = most / 2; step > 0; step /= 2) {
                if (k + step < count && starts[k + step] <= p) k += step;
            }
            const int t = p - starts[k];
            const int slot = place_of(columns, slots, b.column_indices[first[k] + t]);
            places[k * Slots + slot] = t;
            atomicOr(hits + slot, 1u << k);
        }
        __syncwarp();
    }
};

/// `count` consecutive numbers, the constant N if that is not 0; two at a time where N is even.
template <int N, class T, int Room>
__device__ void load(const T* from, int count, T (&to)[Room]) {
    if constexpr (N > 0 && N % 2 == 0) {
        struct alignas(2 * sizeof(T)) Pair {
            T first, second;
        };
#pragma unroll
        for (int e = 0; e < N; e += 2) {
            const Pair pair = *reinterpret_cast<const Pair*>(from + e);
            to[e] = pair.first;
            to[e + 1] = pair.second;
        }
    } else {
#pragma unroll
        for (int e = 0; e < Room; ++e) {
            if (e < count) to[e] = from[e];
        }
    }
}

/// C = A B: a warp for some blocks of a row of C, a thread for a row of one of them. `parts` warps
/// share a row of C. Sizes are constants where they are not 0.
template <int Height, int Inner, int Width, class T>
__global__ void __launch_bounds__(product_threads)
    sum_products_kernel(const __grid_constant__ BsrView<T> a, const __grid_constant__ BsrView<T> b,
                        const __grid_constant__ BsrView<T> c, T* values, bool upper, int parts) {
    const int height = Height > 0 ? Height : a.height, inner = Inner > 0 ? Inner : a.width,
              width = Width > 0 ? Width : b.width;
    constexpr int inner_room = Inner > 0 ? Inner : max_bsr_block,
                  room = Width > 0 ? Width : max_bsr_block,
                  slot_room = Height > 0 ? 32 / Height : 32;
    __shared__ Batch<slot_room> batches[product_threads / 32];
    Batch<slot_room>& batch = batches[threadIdx.x / 32];
    const Offset warp = (Offset(blockIdx.x) * product_threads + threadIdx.x) / 32;
    const Index i = Index(warp / parts);
    if (i >= a.block_rows) return;
    const int lane = int(threadIdx.x) % 32, own = lane / height, r = lane % height,
              most_slots = 32 / height;
    const Offset row_begin = c.row_offsets[i], a_end = a.row_offsets[i + 1];
    const int length = int(c.row_offsets[i + 1] - row_begin);
    for (int group = int(warp % parts) * most_slots; group < length; group += parts * most_slots) {
        const int slots = min(most_slots, length - group);
        if (lane < slots) batch.columns[lane] = c.column_indices[row_begin + group + lane];
        __syncwarp();
        const Index lowest = upper ? max(i, batch.columns[0]) : batch.columns[0];
        T sums[room] = {};
        for (Offset begin = a.row_offsets[i]; begin < a_end; begin += batch.most) {
            const int count = int(min(Offset(batch.most), a_end - begin));
            batch.read(a, b, begin, count, slots, lowest);
            unsigned open = own < slots ? batch.hits[own] : 0;
            for (; open != 0; open &= open - 1) {
                const int k = __ffs(int(open)) - 1;
                const Offset block = batch.first[k] + batch.places[k * slot_room + own];
                T left[inner_room], right[room];
                load<Inner>(a.values + ((begin + k) * height + r) * inner, inner, left);
#pragma unroll
                for (int n = 0; n < inner_room; ++n) {
                    if (n >= inner) continue;
                    load<Width>(b.values + (block * inner + n) * width, width, right);
#pragma unroll
                    for (int e = 0; e < room; ++e) {
                        if (e < width) sums[e] += left[n] * right[e];
                    }
                }
            }
            __syncwarp();
        }
        if (own >= slots) continue;
        T* const row = values + ((row_begin + group + own) * height + r) * width;
#pragma unroll
        for (int e = 0; e < room; ++e) {
            if (e < width) row[e] = sums[e];
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
    const Offset parts =
        std::max<Offset>(1, product.blocks() * a.height / a.block_rows * 5 / 4 / 32);
    kernel<<<blocks_for(a.block_rows * parts, product_threads / 32), product_threads, 0,
             stream_of(context)>>>(a, b, std::as_const(product).view(), product.values().data(),
                                   upper, int(parts));
    TESSERA_CUDA(cudaGetLastError());
}

#define TESSERA_INSTANTIATE(T)                                                                   \
    template BsrMatrix<T> product_pattern(const Context&, const BsrView<T>&, const BsrView<T>&); \
    template void sum_products(const Context&, const BsrView<T>&, const BsrView<T>&,             \
                               BsrMatrix<T>&, bool);
TESSERA_INSTANTIATE(float)
TESSERA_INSTANTIATE(double)

}  // namespace tessera::cuda
