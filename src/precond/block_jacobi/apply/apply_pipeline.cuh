#pragma once

#include <algorithm>

#include "base/check_cuda.hpp"
#include "gpu/dependent.cuh"
#include "gpu/launch.cuh"
#include "precond/block_jacobi/apply/row_sums.cuh"
#include "precond/block_jacobi/apply/block_pipeline_one_size.cuh"

/// z_b = X_b r_b for blocks of up to 32 rows, by warps that each take chunks of them.
namespace tessera::cuda {

inline constexpr int ring_warps = 4;  ///< Of a thread block.

/// f(v) for the first `count` of `Most` vectors.
template <int Most, class F>
__device__ __forceinline__ void for_vectors(Index count, F&& f) {
    if (Most == 1 || count >= Most) {
#pragma unroll
        for (int v = 0; v < Most; ++v) f(v);
    } else {
#pragma unroll
        for (int v = 0; v < Most; ++v) {
            if (v < count) f(v);
        }
    }
}

/// Copies factors to the places, in the order in which they are used: for each chunk all vectors,
/// some at once.
template <class T, class Ring, class Shape>
class FactorCopies {
  public:
    __device__ __forceinline__ FactorCopies(const Ring& ring, Index first, Index step,
                                            Index vectors, const T* r, Offset leading)
        : ring_(ring), chunk_(first), step_(step), vectors_(vectors), r_(r), leading_(leading) {}

    /// The next ones, to the factors of a place.
    __device__ __forceinline__ void start(int stage) {
        if (chunk_ < ring_.chunks()) {
            T* const to = ring_.template factors<T>(stage);
#pragma unroll
            for (int q = 0; q < Shape::groups; ++q) {
                const Index row = ring_.row(chunk_, chunk_stage_, q);
                if (row < 0) continue;
                const T* from = r_ + vector_ * leading_ + row;
                T* const own = to + ring_.factor_place(q);
                for_vectors<Shape::vectors>(vectors_ - vector_, [&](int v) {
                    start_value_copy(from, own + Shape::factors_of(v));
                    from += leading_;
                });
            }
        }
        end_value_copies();
        vector_ += Shape::vectors;
        if (Shape::vectors > 1 && vector_ < vectors_) return;
        vector_ = 0;
        chunk_ += step_;
        chunk_stage_ = chunk_stage_ + 1 < Shape::stages ? chunk_stage_ + 1 : 0;
    }

  private:
    const Ring& ring_;
    Index chunk_, step_;
    int chunk_stage_ = 0;
    Index vector_ = 0, vectors_;
    const T* r_;
    Offset leading_;
};

/// A row of z for some of the vectors: those that `to` begins with, `count` of which there are.
template <bool Transposed, class Shape, class T>
__device__ __forceinline__ void apply_row(const RowShare& share, const T* factors, Index count,
                                          T* to, Offset leading) {
    T sum[Shape::vectors] = {};
    sum_share<Transposed, Shape>(share, factors, sum);
    if (share.n == 0) return;
    to += share.row;
    for_vectors<Shape::vectors>(count, [&](int v) {
        *to = sum[v];
        to += leading;
    });
}

/// The same for rows that lie side by side.
template <class Shape, class T>
__device__ __forceinline__ void apply_rows(const RowShare& share, int set, const T* factors,
                                           Index count, T* to, Offset leading) {
    constexpr int rows = Shape::lane_rows;
    using Run = FactorRun<T, rows>;
    T sum[rows][Shape::set_vectors] = {};
    const T* const own = factors + Shape::factors_of(set * Shape::set_vectors) + share.factor;
    with_format<T>(share.format, [&](auto format) {
        const int skipped = share.in_block * bytes_of(decltype(format)::value);
        sum_rows<Shape>(format, share.block + skipped, share.n, own, sum);
    });
    if (share.n == 0) return;
    to += share.row + set * Shape::set_vectors * leading;
    count -= set * Shape::set_vectors;
    const bool at_once =
        reinterpret_cast<unsigned long long>(to) % sizeof(Run) == 0 && leading % rows == 0;
    for_vectors<Shape::set_vectors>(count, [&](int v) {
        Run run;
#pragma unroll
        for (int i = 0; i < rows; ++i) run.value[i] = sum[i][v];
        if (at_once) {
            *reinterpret_cast<Run*>(to) = run;
        } else {
#pragma unroll
            for (int i = 0; i < rows; ++i) to[i] = run.value[i];
        }
        to += leading;
    });
}

/// All rows of a chunk.
template <bool Transposed, class Shape, class Ring, class T>
__device__ __forceinline__ void apply_chunk(const Ring& ring, Index chunk, int stage,
                                            const T* factors, Index count, T* to, Offset leading) {
    if constexpr (Shape::lane_rows > 1) {
        const int lane = int(threadIdx.x) % 32;
        constexpr int lanes = 32 / Shape::sets;
        const RowShare first = ring.share_at(chunk, stage, lane % lanes * Shape::lane_rows);
        if (__all_sync(full_warp, lies_side_by_side<Shape>(first))) {
            return apply_rows<Shape>(first, lane / lanes, factors, count, to, leading);
        }
#pragma unroll 1
        for (int q = 0; q < Shape::groups; ++q) {
            const RowShare share = ring.share_at(chunk, stage, q * 32 + lane);
            apply_row<Transposed, Shape>(share, factors, count, to, leading);
        }
    } else {
#pragma unroll
        for (int q = 0; q < Shape::groups; ++q) {
            const RowShare share = ring.share(chunk, stage, q);
            apply_row<Transposed, Shape>(share, factors, count, to, leading);
        }
    }
}

template <class T, class Shape, bool Transposed>
__global__ void __launch_bounds__(32 * ring_warps, Shape::resident)
    apply_ring_kernel(StoredBlocks blocks, int value_bytes, Index vectors, const T* r,
                      Offset r_leading, T* z, Offset z_leading) {
    extern __shared__ __align__(128) unsigned char memory[];
    const int warp = int(threadIdx.x) / 32;
    const Index first = Index(blockIdx.x) * ring_warps + warp;
    const Index step = Index(gridDim.x) * ring_warps;
    let_dependents_start();
    using Ring = Chunks<Shape>;
    Ring ring(blocks, value_bytes, memory + warp * Shape::warp_bytes(value_bytes), first, step);
    FactorCopies<T, Ring, Shape> factors(ring, first, step, vectors, r, r_leading);
    // The blocks are not being written (stored_blocks.hpp): they come while kernels before end.
#pragma unroll 1
    for (int s = 0; s < Shape::stages; ++s) ring.produce(s);
    wait_for_kernels_before();
#pragma unroll 1
    for (int s = 0; s < Shape::stages; ++s) factors.start(s);
    int stage = 0, phase = 0, slot = 0;
#pragma unroll 1
    for (Index chunk = first; chunk < ring.chunks(); chunk += step) {
        ring.wait(stage, phase);
#pragma unroll 1
        for (Index vector = 0; vector < vectors; vector += Shape::vectors) {
            wait_for_value_copies<Shape::stages - 1>();
            __syncwarp();
            apply_chunk<Transposed, Shape>(ring, chunk, stage, ring.template factors<T>(slot),
                                           vectors - vector, z + vector * z_leading, z_leading);
            __syncwarp();
            if (Shape::vectors == 1 || vector + Shape::vectors >= vectors) ring.produce(stage);
            factors.start(slot);
            slot = slot + 1 < Shape::stages ? slot + 1 : 0;
            if (Shape::vectors == 1) break;
        }
        if (++stage == Shape::stages) {
            stage = 0;
            phase ^= 1;
        }
    }
}

template <class T>
struct RingArguments {
    const Context& context;
    const StoredBlocks& blocks;
    Index vectors;
    const T* r;
    Offset r_leading;
    T* z;
    Offset z_leading;
};

inline constexpr unsigned all_rounds = 1u << 16;  ///< More than are ever made.

/// The largest power of two times `held` thread blocks of the `needed` ones, at most `most` times.
/// Some warps then take a second chunk, in the place of a last round of a few thread blocks, while
/// the next kernel begins. From 8 times on all of them: a last round counts little there.
inline unsigned even_rounds(unsigned needed, unsigned held, unsigned most) {
    unsigned rounds = 1;
    while (2 * rounds <= most && Offset(2) * rounds * held <= needed) rounds *= 2;
    return rounds < 8 ? rounds : all_rounds;
}

/// Thread blocks: as many as have work, or `rounds` times (where `even`: at most) what the GPU
/// holds at once, each of which then takes several chunks.
template <ChunkKind Kind, int Groups, int Stages, int Vectors, int Resident, int LaneRows = 1,
          bool Transposed = false, class T>
void launch_apply_ring(const RingArguments<T>& a, unsigned rounds = 1, bool even = false) {
    using Shape = ChunkShape<T, Kind, Groups, Stages, Vectors, Resident, LaneRows>;
    const int value_bytes = Chunks<Shape>::value_bytes(a.blocks);
    const int bytes = ring_warps * Shape::warp_bytes(value_bytes);
    const cudaStream_t stream = stream_of(a.context);
    int multiprocessors = 0, memory = 0;
    TESSERA_CUDA(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount,
                                        a.context.device()));
    TESSERA_CUDA(cudaDeviceGetAttribute(&memory, cudaDevAttrMaxSharedMemoryPerMultiprocessor,
                                        a.context.device()));
    constexpr int reserved = 1024;  // Of each thread block by the system.
    const int each = std::clamp(memory / (bytes + reserved), 1, Shape::resident);
    const unsigned held = unsigned(multiprocessors * each);
    const unsigned needed = blocks_for(Chunks<Shape>::chunks(a.blocks), ring_warps);
    if (even) rounds = even_rounds(needed, held, rounds);
    launch_dependent(apply_ring_kernel<T, Shape, Transposed>, std::min(needed, rounds * held),
                     32 * ring_warps, bytes, stream, a.blocks, value_bytes, a.vectors, a.r,
                     a.r_leading, a.z, a.z_leading);
}

/// The fastest shapes on an H200 (docs/decisions/block-jacobi-apply.md) for blocks of one size and
/// format, more than four vectors.
template <class T>
void apply_uniform_to_many(const RingArguments<T>& a) {
    using enum ChunkKind;
    const int n = a.blocks.largest;
    const bool thirds = 64 / n == 3;  // Of two groups.
    if constexpr (sizeof(T) == 8) {
        if (thirds || n <= 12) return launch_apply_ring<uniform, 2, 1, 8, 4>(a, all_rounds);
        return launch_apply_ring<uniform, 1, 2, 8, 4>(a, 4);
    } else {
        const bool narrow = bytes_of(a.blocks.format) == 2;
        if (narrow && (n == 24 || n == 28)) return launch_apply_ring<uniform, 4, 2, 8, 2, 4>(a);
        if (a.vectors > 8 && (n == 24 || n == 32)) {
            return launch_apply_ring<uniform, 2, 2, 16, 3, 2>(a);
        }
        if (narrow && n % 2 == 0 && (n <= 12 || (n >= 18 && n <= 22))) {
            return launch_apply_ring<uniform, 2, 2, 8, 4, 2>(a, 4);
        }
        if (thirds) return launch_apply_ring<uniform, 2, 2, 8, 4>(a);
        return launch_apply_ring<uniform, 1, 2, 8, 5>(a, 4);
    }
}

/// The same for up to four vectors. A chunk is worth its instructions from some bytes on, and two
/// or four groups fill lanes that one leaves idle. Thread blocks that end after a chunk share the
/// memory best; small chunks are not worth starting one.
template <class T>
void apply_uniform_ring(const RingArguments<T>& a) {
    using enum ChunkKind;
    constexpr bool wide = sizeof(T) == 8;
    constexpr unsigned all = all_rounds;
    const int n = a.blocks.largest;
    if (a.vectors > 1) return launch_apply_ring<uniform, 1, 2, 4, 4>(a, 4);
    const auto one_group = [&](unsigned most) {
        launch_apply_ring<uniform, 1, 1, 1, 12>(a, most, true);
    };
    const auto two_groups = [&](unsigned most) {
        launch_apply_ring<uniform, 2, 1, 1, 8>(a, most, true);
    };
    const auto four_groups = [&](unsigned most) {
        launch_apply_ring<uniform, 4, 1, 1, 8>(a, most, true);
    };
    // More than the second-level cache keeps from one application to the next; in the middle two
    // places pay from less on.
    const bool streams = double(a.blocks.count) * n * n * bytes_of(a.blocks.format) +
                             2.0 * a.blocks.rows * sizeof(T) >
                         (n >= 12 && n <= 23 ? 3e7 : 4e7);
    switch (bytes_of(a.blocks.format)) {
        case 8:
            return n <= 3 ? four_groups(all) : n <= 6 ? two_groups(all) : one_group(all);
        case 4:
            if (n <= 7) return four_groups(n <= 4 ? 1 : all);
            return n <= 20 ? two_groups(all) : one_group(all);
        default:
            if (n >= 24 && n <= 26) {
                if (streams) return launch_apply_ring<uniform, 4, 2, 1, 4>(a);
                if constexpr (wide) return launch_apply_ring<uniform, 4, 1, 1, 6>(a, 2);
            } else if constexpr (wide) {
                if (streams) return launch_apply_ring<uniform, 2, 2, 1, 8>(a);
            }
            if (n <= 26) return four_groups(n <= 11 ? 1 : 4);
            return wide ? two_groups(2) : one_group(1);
    }
}

/// Blocks of one size in mixed formats; whether there is a shape that is faster than those for
/// blocks of any sizes.
template <class T>
bool apply_formats_ring(const RingArguments<T>& a) {
    using enum ChunkKind;
    constexpr bool wide = sizeof(T) == 8;
    const int n = a.blocks.largest;
    if (a.vectors == 1) {
        if (n < 7 || n > 21) return false;
        if constexpr (wide) {
            if (n > 8) {
                launch_apply_ring<formats, 2, 1, 1, 8>(a, n <= 12 ? 2 : 1, true);
                return true;
            }
        }
        launch_apply_ring<formats, 2, 1, 1, 12>(a);
        return true;
    }
    if constexpr (!wide) {
        if (a.vectors > 8 && n % 2 == 0 && n >= 4 && n <= 24) {
            launch_apply_ring<formats, 1, 2, 16, 5, 2>(a);
            return true;
        }
    }
    return false;
}

template <class T>
void apply_ring(const Context& context, const StoredBlocks& blocks, batched::Transpose transpose,
                Index vectors, const T* r, Offset r_leading, T* z, Offset z_leading) {
    const RingArguments<T> a{context, blocks, vectors, r, r_leading, z, z_leading};
    using enum ChunkKind;
    const bool mixed = blocks.formats != nullptr;
    const int row_bytes = blocks.largest * (mixed ? int(sizeof(T)) : bytes_of(blocks.format));
    if (transpose == batched::Transpose::yes) {
        if (vectors > 1) return launch_apply_ring<any, 1, 2, 8, 4, 1, true>(a);
        if (row_bytes <= 64) return launch_apply_ring<any, 2, 2, 1, 8, 1, true>(a);
        return launch_apply_ring<any, 1, 2, 1, 8, 1, true>(a);
    }
    if (blocks.one_size && !mixed) {
        return vectors > 4 ? apply_uniform_to_many(a) : apply_uniform_ring(a);
    }
    if (blocks.one_size && apply_formats_ring(a)) return;
    if (vectors > 4) {
        if constexpr (sizeof(T) == 8) return launch_apply_ring<any, 1, 1, 8, 5>(a);
        return launch_apply_ring<any, 1, 2, 8, 5>(a, mixed && blocks.largest > 16 ? 1 : 4);
    }
    if (vectors > 1) return launch_apply_ring<any, 1, 2, 4, 4>(a);
    if (row_bytes <= 24) return launch_apply_ring<any, 4, 1, 1, 8>(a);
    if (row_bytes <= 80) return launch_apply_ring<any, 2, 1, 1, 12>(a);
    launch_apply_ring<any, 1, 1, 1, 12>(a, mixed ? 1 : 4);
}

}  // namespace tessera::cuda
