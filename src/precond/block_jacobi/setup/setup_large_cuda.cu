#include "gpu/tiles/inverted_blocks.cuh"
#include "precond/block_jacobi/block_groups.cuh"
#include "precond/block_jacobi/kernels.hpp"

/// Extraction, batched inversion and symmetrisation of diagonal blocks by one kernel each.
namespace tessera::cuda {

namespace {

/// Where value e of the packed blocks of a group lies in shared memory: a permutation within groups
/// of 16 (8 bytes) or 32 (4 bytes) that spreads strides over the banks.
template <class T>
__device__ __forceinline__ int staged(int e) {
    constexpr int bits = sizeof(T) == 8 ? 4 : 5;
    return e ^ (e >> bits & ((1 << bits) - 1));
}

/// X = (X + X^T) / 2 for the staged n x n array at `place`, as far as row i is charged with: its
/// pairs with the n / 2 rows after it, cyclically.
template <class T>
__device__ __forceinline__ void symmetrise_row(T* values, int place, int n, int i) {
    const int pairs = n % 2 == 0 && i >= n / 2 ? n / 2 - 1 : n / 2;
    for (int d = 1; d <= pairs; ++d) {
        const int j = i + d < n ? i + d : i + d - n;
        T* const x = values + staged<T>(place + j * n + i);
        T* const y = values + staged<T>(place + i * n + j);
        *x = *y = middle_of(*x, *y);
    }
}

/// The largest magnitude in row i of the staged n x n array at `place`.
template <class T>
__device__ __forceinline__ T largest_of_row(const T* values, int place, int n, int i) {
    T largest = T(0);
    for (int j = 0; j < n; ++j) {
        largest = fmax(largest, fabs(values[staged<T>(place + j * n + i)]));
    }
    return largest;
}

/// The block that a row of a group belongs to.
template <int Rows>
struct RowBlock {
    int first;  ///< Row of the group.
    int size;
    int block;  ///< Of the group.
};

/// Reads the starts of the blocks of a group of at most Rows rows; bit r of the result says whether
/// a block starts in row r of the group.
template <int Rows>
__device__ __forceinline__ std::uint64_t group_starts(const GroupOfBlocks& group,
                                                      const Index* block_offsets) {
    unsigned starts[Rows / 32] = {};
    for (int b = int(threadIdx.x) % 32; b < group.blocks; b += 32) {
        const int row = __ldg(block_offsets + group.first_block + b) - group.first_row;
#pragma unroll
        for (int w = 0; w < Rows / 32; ++w) {
            if (row / 32 == w) starts[w] |= 1u << (row % 32);
        }
    }
    std::uint64_t all = 0;
#pragma unroll
    for (int w = 0; w < Rows / 32; ++w) {
        all |= std::uint64_t(__reduce_or_sync(full_warp, starts[w])) << (32 * w);
    }
    return all;
}

/// Row r of a group of `rows` rows whose blocks start at the bits of `starts`.
template <int Rows>
__device__ __forceinline__ RowBlock<Rows> row_block(std::uint64_t starts, int rows, int r) {
    const std::uint64_t up_to = starts & (~std::uint64_t(0) >> (63 - r));
    const std::uint64_t behind = starts & ~up_to;
    const int first = 63 - __clzll((long long)up_to);
    const int next = behind == 0 ? rows : __ffsll((long long)behind) - 1;
    return {first, next - first, __popcll(up_to) - 1};
}

/// Writes the blocks of a group to `blocks`, packed and column-major, and whether each is exactly
/// symmetric. A warp takes a group: its lanes search a row each, then read rows together into
/// shared memory, from where the packed values are stored.
template <class T, int Rows, int Tile>
__global__ void __launch_bounds__(32 * extract_warps, Tile <= 8    ? 8
                                                      : Tile == 16 ? 7
                                                                   : 5)
    extract_kernel(CsrView<T> matrix, PackedBlocks<T> blocks, Index group_count,
                   const Index* groups, T* values, std::uint8_t* symmetric) {
    extern __shared__ __align__(16) unsigned char extract_memory[];
    const int largest = blocks.largest;
    const int bytes = staging_bytes<T, Rows>(largest) + Rows * int(sizeof(BlockRow));
    unsigned char* const memory = extract_memory + threadIdx.x / 32 * bytes;
    BlockRow* const table = reinterpret_cast<BlockRow*>(memory);
    T* const staging = reinterpret_cast<T*>(memory + Rows * sizeof(BlockRow));
    const int lane = int(threadIdx.x) % 32;
    const Offset g = Offset(blockIdx.x) * extract_warps + threadIdx.x / 32;
    if (g >= group_count) return;
    const GroupOfBlocks group = group_of(g, groups, blocks.block_offsets);
    const Offset begin = __ldg(blocks.entry_offsets + group.first_block);
    const int total = int(__ldg(blocks.entry_offsets + group.first_block + group.blocks) - begin);
    const std::uint64_t starts = group_starts<Rows>(group, blocks.block_offsets);

    constexpr int lane_rows = Rows / 32;
    RowSearch search[lane_rows];
#pragma unroll
    for (int q = 0; q < lane_rows; ++q) {
        const int r = lane + 32 * q;
        search[q] = {0, 0, 0, 0, 0};
        if (r >= group.rows) continue;
        const RowBlock<Rows> at = row_block<Rows>(starts, group.rows, r);
        const Offset* const row_offsets = matrix.row_offsets + group.first_row + r;
        search[q] = {
            __ldg(row_offsets), __ldg(row_offsets + 1), group.first_row + at.first, at.size,
            int(__ldg(blocks.entry_offsets + group.first_block + at.block) - begin) + r - at.first};
    }
    for (int e = lane; e < total; e += 32) staging[staged<T>(e)] = T(0);
    const auto put = [&](const BlockRow& row, int c, T value) {
        staging[staged<T>(row.place() + c * row.size())] = value;
    };
    take_rows<Tile>(matrix, search, group.rows, table, put);
    __syncwarp();
#pragma unroll 4
    for (int e = lane; e < total; e += 32) values[begin + e] = staging[staged<T>(e)];

    // Rows whose entries differ from those of their column.
    std::uint64_t differing = 0;
#pragma unroll
    for (int q = 0; q < lane_rows; ++q) {
        const int r = lane + 32 * q;
        bool differs = false;
        if (r < group.rows) {
            const int n = search[q].size;
            const int i = r - (search[q].first - group.first_row);
            const int place = search[q].place - i;
            for (int j = 0; j < i; ++j) {
                differs = differs || staging[staged<T>(place + i + j * n)] !=
                                         staging[staged<T>(place + j + i * n)];
            }
        }
        differing |= std::uint64_t(__ballot_sync(full_warp, differs)) << (32 * q);
    }
    for (int b = lane; b < group.blocks; b += 32) {
        const Index* const offsets = blocks.block_offsets + group.first_block + b;
        const int first = offsets[0] - group.first_row;
        const int n = offsets[1] - offsets[0];
        const std::uint64_t mine = (~std::uint64_t(0) >> (64 - n)) << first;
        symmetric[group.first_block + b] = (differing & mine) == 0;
    }
}

/// X = (X + X^T) / 2 for the blocks that are marked, and, unless it is null, the largest magnitude
/// in each block (0 for NaN). A warp takes a group.
template <class T, int Rows>
__global__ void __launch_bounds__(32 * extract_warps)
    symmetrise_kernel(PackedBlocks<T> blocks, Index group_count, const Index* groups, T* inverses,
                      const std::uint8_t* symmetric, const Index* info, T* largest) {
    extern __shared__ __align__(16) unsigned char symmetrise_memory[];
    T* const row_largest = reinterpret_cast<T*>(
        symmetrise_memory +
        threadIdx.x / 32 * (staging_bytes<T, Rows>(blocks.largest) + Rows * int(sizeof(T))));
    T* const staging = row_largest + Rows;
    const int lane = int(threadIdx.x) % 32;
    const Offset g = Offset(blockIdx.x) * extract_warps + threadIdx.x / 32;
    if (g >= group_count) return;
    const GroupOfBlocks group = group_of(g, groups, blocks.block_offsets);
    bool wanted = largest != nullptr;
    for (int b = lane; b < group.blocks; b += 32) {
        wanted =
            wanted || (symmetric[group.first_block + b] != 0 && info[group.first_block + b] == 0 &&
                       blocks.block_offsets[group.first_block + b + 1] -
                               blocks.block_offsets[group.first_block + b] >
                           1);
    }
    if (!__any_sync(full_warp, wanted)) return;
    const std::uint64_t starts = group_starts<Rows>(group, blocks.block_offsets);
    const Offset begin = __ldg(blocks.entry_offsets + group.first_block);
    const int total = int(__ldg(blocks.entry_offsets + group.first_block + group.blocks) - begin);
#pragma unroll 4
    for (int e = lane; e < total; e += 32) staging[staged<T>(e)] = inverses[begin + e];
    __syncwarp();
    for (int r = lane; r < group.rows; r += 32) {
        const RowBlock<Rows> at = row_block<Rows>(starts, group.rows, r);
        const Offset b = group.first_block + at.block;
        if (symmetric[b] == 0 || info[b] != 0) continue;
        symmetrise_row(staging, int(blocks.entry_offsets[b] - begin), at.size, r - at.first);
    }
    __syncwarp();
    if (largest != nullptr) {
        for (int r = lane; r < group.rows; r += 32) {
            const RowBlock<Rows> at = row_block<Rows>(starts, group.rows, r);
            const int place = int(blocks.entry_offsets[group.first_block + at.block] - begin);
            row_largest[r] = largest_of_row(staging, place, at.size, r - at.first);
        }
        __syncwarp();
        for (int b = lane; b < group.blocks; b += 32) {
            const Index* const offsets = blocks.block_offsets + group.first_block + b;
            T most = T(0);
            for (Index r = offsets[0]; r < offsets[1]; ++r) {
                most = fmax(most, row_largest[r - group.first_row]);
            }
            largest[group.first_block + b] = most;
        }
    }
#pragma unroll 4
    for (int e = lane; e < total; e += 32) inverses[begin + e] = staging[staged<T>(e)];
}

template <class T, int Rows, int Tile>
void launch_extract(const Context& context, const SetupJob<T>& job) {
    const int bytes =
        extract_warps * (staging_bytes<T, Rows>(job.blocks.largest) + Rows * int(sizeof(BlockRow)));
    const auto extract = extract_kernel<T, Rows, Tile>;
    TESSERA_CUDA(cudaFuncSetAttribute(extract, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    extract<<<blocks_for(job.group_count, extract_warps), 32 * extract_warps, bytes,
              stream_of(context)>>>(job.matrix, job.blocks, job.group_count, job.groups,
                                    job.inverses, job.symmetric);
    TESSERA_CUDA(cudaGetLastError());
}

template <class T, int Rows>
void launch_symmetrise(const Context& context, const SetupJob<T>& job) {
    const int bytes =
        extract_warps * (staging_bytes<T, Rows>(job.blocks.largest) + Rows * int(sizeof(T)));
    const auto symmetrise = symmetrise_kernel<T, Rows>;
    TESSERA_CUDA(
        cudaFuncSetAttribute(symmetrise, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    symmetrise<<<blocks_for(job.group_count, extract_warps), 32 * extract_warps, bytes,
                 stream_of(context)>>>(job.blocks, job.group_count, job.groups, job.inverses,
                                       job.symmetric, job.info, job.largest);
    TESSERA_CUDA(cudaGetLastError());
}

template <class T>
void invert_extracted(const Context& context, const SetupJob<T>& job) {
    const PackedBlocks<T>& blocks = job.blocks;
    using batched::BatchView;
    const BatchView<T> batch =
        job.uniform
            ? BatchView<T>::uniform(blocks.count, blocks.largest, job.inverses)
            : BatchView<T>::packed(blocks.count, job.sizes, blocks.entry_offsets, job.inverses);
    batched::invert_with_condition<T>(context, batch, batch,
                                      {job.info, job.reciprocal_condition, nullptr}, job.plan);
}

}  // namespace

template <class T>
void setup_separate(const Context& context, const SetupJob<T>& job) {
    const Index largest = job.blocks.largest;
    if (largest <= 4) {
        launch_extract<T, 32, 4>(context, job);
    } else if (largest <= 8) {
        launch_extract<T, 32, 8>(context, job);
    } else if (largest <= 16) {
        launch_extract<T, 32, 16>(context, job);
    } else if (largest <= 32) {
        launch_extract<T, 32, 32>(context, job);
    } else {
        launch_extract<T, 64, 64>(context, job);
    }
    invert_extracted(context, job);
    if (largest <= 32) {
        launch_symmetrise<T, 32>(context, job);
    } else {
        launch_symmetrise<T, 64>(context, job);
    }
}

template void setup_separate<float>(const Context&, const SetupJob<float>&);
template void setup_separate<double>(const Context&, const SetupJob<double>&);

}  // namespace tessera::cuda
