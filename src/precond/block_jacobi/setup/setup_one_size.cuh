#pragma once

#include "base/check_cuda.hpp"
#include "gpu/launch.cuh"
#include "gpu/tiles/fixed_size_blocks.cuh"
#include "gpu/tiles/tile_sizes.cuh"
#include "precond/block_jacobi/storage/block_formats.hpp"
#include "precond/block_jacobi/kernels.hpp"
#include "precond/block_jacobi/setup/setup_outcome.cuh"

/// The block-Jacobi setup of blocks that all have the same number of rows, a multiple of 4.
namespace tessera::cuda {

namespace {

/// How blocks of n rows are spread, as measured (docs/decisions/block-jacobi-setup.md).
struct EqualShape {
    int lanes;  ///< A block, each with n / lanes rows; 0: by the kernel for blocks of any size.
    int warps;  ///< A thread block.
    int thread_blocks;  ///< A multiprocessor, that registers are limited for.
};

/// Of double, float.
template <class T, int n>
constexpr EqualShape equal_shape() {
    constexpr EqualShape table[8][2] = {
        {{2, 2, 20}, {2, 2, 20}},   // 4
        {{4, 2, 12}, {4, 2, 16}},   // 8
        {{4, 2, 6}, {4, 4, 6}},     // 12
        {{8, 2, 8}, {8, 2, 12}},    // 16
        {{4, 1, 7}, {4, 2, 6}},     // 20
        {{8, 2, 4}, {8, 2, 8}},     // 24
        {{0, 0, 0}, {0, 0, 0}},     // 28
        {{16, 2, 6}, {16, 1, 16}},  // 32
    };
    return table[n / 4 - 1][sizeof(T) == 8 ? 0 : 1];
}

/// Where inverses are kept as they are computed.
template <class T>
struct PlainStore {
    T* inverses;
    bool want_largest;
};

/// Writes the inverse of block b, of which this group has all or no rows, to where it is kept.
template <int n, int Lanes, class T>
__device__ __forceinline__ InverseFacts<T> keep_inverse(const PlainStore<T>& store, Index b,
                                                        int rows, const T* inverse,
                                                        bool symmetric) {
    T* const to = store.inverses + Offset(b) * (n * n);
    const auto output = [&](auto&& f) {
        f([&](int c, int row, auto part) {
            *reinterpret_cast<decltype(part)*>(to + c * n + row) = part;
        });
    };
    return store.want_largest
               ? write_equal_block<n, Lanes, true>(inverse, rows, symmetric, output)
               : write_equal_block<n, Lanes, false>(inverse, rows, symmetric, output);
}
/// The same in its format; what overflows there is told.
template <int n, int Lanes, class T>
__device__ __forceinline__ InverseFacts<T> keep_inverse(const NarrowStore& store, Index b, int rows,
                                                        const T* inverse, bool symmetric) {
    const StoredBlocks& stored = store.blocks;
    const Index there = rows > 0 ? b : 0;
    const BlockFormat format = stored.formats == nullptr ? stored.format : stored.formats[there];
    std::byte* const to = store.bytes + stored.starts[there] * stored.unit;
    const InverseFacts<T> facts =
        write_equal_block<n, Lanes, true>(inverse, rows, symmetric, [&](auto&& f) {
            with_format<T>(format, [&](auto known) {
                constexpr BlockFormat in = decltype(known)::value;
                f([&](int c, int row, const auto& part) {
                    constexpr int count = int(sizeof(part.value) / sizeof(T));
                    Values<StoredBits<in>, count> bits;
#pragma unroll
                    for (int j = 0; j < count; ++j) bits.value[j] = narrow<in>(part.value[j]);
                    reinterpret_cast<decltype(bits)*>(to)[(c * n + row) / count] = bits;
                });
            });
        });
    if (rows > 0 && threadIdx.x % Lanes == 0 && facts.finite &&
        double(facts.largest) > largest_finite(format)) {
        atomicOr(&store.verdict->overflow, 1);
    }
    return facts;
}

/// Extracts, inverts and stores 32 / lanes blocks a warp. Store: PlainStore or NarrowStore.
template <class T, int n, class Store>
__global__ void __launch_bounds__(32 * equal_shape<T, n>().warps, equal_shape<T, n>().thread_blocks)
    setup_equal_kernel(CsrView<T> matrix, Index count, Store store, CountedBlocks counted,
                       Index* info, T* reciprocal_condition, T* largest) {
    constexpr EqualShape shape = equal_shape<T, n>();
    constexpr int lanes = shape.lanes;
    using Warp = EqualBlocks<T, n, lanes>;
    extern __shared__ __align__(16) unsigned char equal_memory[];
    const Warp shared(equal_memory + threadIdx.x / 32 * Warp::bytes);
    const int group = Warp::block_of(int(threadIdx.x % 32) / lanes);
    const Index first_block =
        (Index(blockIdx.x) * shape.warps + Index(threadIdx.x / 32)) * Warp::blocks;
    begin_dependent();
    if (first_block >= count) return;
    const int here = min(Warp::blocks, count - first_block);

    const bool full = copy_full_blocks(matrix, first_block * n, shared);
    if (!full) extract_equal_blocks(matrix, first_block * n, here, shared);
    __syncwarp();
    // Groups without a block invert the last one once more.
    const T* const given = shared.value + min(group, here - 1) * Warp::block_values;
    T a[n / lanes][n];
    take_equal_block<T, n, lanes>(given, a);
    const BlockFacts<T> block = examine_equal_block<T, n, lanes>(given, a);
    T* const inverse = shared.value + group * Warp::block_values;
    int failure = invert_equal_blocks<lanes>(a, shared, group,
                                             [&] { take_equal_block<T, n, lanes>(given, a); });
    const bool mine = group < here;
    const InverseFacts<T> facts =
        keep_inverse<n, lanes>(store, first_block + group, mine ? n : 0, inverse, block.symmetric);
    if (mine && threadIdx.x % lanes == 0) {
        if (failure == 0 && !facts.finite) failure = n;
        const T condition = failure == 0 ? T(1) / block.norm / facts.norm : T(0);
        const T most = failure == 0 ? facts.largest : T(0);
        tell_outcome(Offset(first_block + group), failure, condition, most, counted, info,
                     reciprocal_condition, largest);
    }
}

template <class T, int n, class Store>
void launch_equal_to(const Context& context, const SetupJob<T>& job, const Store& store) {
    constexpr EqualShape shape = equal_shape<T, n>();
    using Warp = EqualBlocks<T, n, shape.lanes>;
    launch_dependent(setup_equal_kernel<T, n, Store>,
                     blocks_for(job.blocks.count, shape.warps * Warp::blocks), 32 * shape.warps,
                     shape.warps * Warp::bytes, stream_of(context), job.matrix, job.blocks.count,
                     store, job.counted, job.info, job.reciprocal_condition, job.largest);
}

/// Launches the kernel for `largest` rows, if that is n or more and there is one.
template <class T, int n = 4>
bool launch_equal(const Context& context, const SetupJob<T>& job) {
    if constexpr (n > 32) {
        return false;
    } else {
        if constexpr (tile_compiled(n) && equal_shape<T, n>().lanes > 0) {
            if (job.blocks.largest == n) {
                if (job.narrow.bytes != nullptr) {
                    launch_equal_to<T, n>(context, job, job.narrow);
                } else {
                    const PlainStore<T> store{job.inverses, job.largest != nullptr};
                    launch_equal_to<T, n>(context, job, store);
                }
                return true;
            }
        }
        return launch_equal<T, n + 4>(context, job);
    }
}

}  // namespace

}  // namespace tessera::cuda
