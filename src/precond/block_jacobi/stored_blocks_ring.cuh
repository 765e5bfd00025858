#pragma once

#include <algorithm>

#include "base/check_cuda.hpp"
#include "gpu/dependent.cuh"
#include "gpu/launch.cuh"
#include "precond/block_jacobi/stored_chunks.cuh"

/// z_b = X_b r_b for blocks of up to 32 rows, by warps that each take chunks of them.
namespace tessera::cuda {

inline constexpr int ring_warps = 4;  ///< Of a thread block.

/// Factors of adjacent columns, read by one instruction.
template <class T, int Width>
struct alignas(Width * sizeof(T)) FactorRun {
    T value[Width];
};

/// Adds the products of a row with the factors of its block, column by column; these begin at a
/// multiple of `Width`.
template <int Width, class Shape, BlockFormat format, class T>
__device__ __forceinline__ void sum_row(Format<format>, const std::byte* value, int n,
                                        const T* factor, T (&sum)[Shape::vectors]) {
    constexpr int together = 4;
    const int step = n * bytes_of(format);
    const auto add = [&](auto columns, auto width, int count) {
        constexpr int most = decltype(columns)::value;
        constexpr int wide = decltype(width)::value;
        T x[most];
#pragma unroll
        for (int u = 0; u < most; ++u) {
            if (u < count) x[u] = widen<T, format>(stored_bits<format>(value + u * step));
        }
#pragma unroll
        for (int v = 0; v < Shape::vectors; ++v) {
#pragma unroll
            for (int u = 0; u < most; u += wide) {
                if (u >= count) continue;
                const auto run = *reinterpret_cast<const FactorRun<T, wide>*>(
                    factor + v * Shape::factor_stride + u);
#pragma unroll
                for (int w = 0; w < wide; ++w) sum[v] = fma(x[u + w], run.value[w], sum[v]);
            }
        }
    };
    int left = n;
#pragma unroll 1
    for (; left >= together; left -= together) {
        add(std::integral_constant<int, together>(), std::integral_constant<int, Width>(),
            together);
        value += together * step;
        factor += together;
    }
    if (left > 0) {
        add(std::integral_constant<int, together - 1>(), std::integral_constant<int, 1>(), left);
    }
}

/// The same for a row of the transpose, a column of the stored block. Where n is even, each row
/// starts at another place of it, since all would read the same banks.
template <class Shape, BlockFormat format, class T>
__device__ __forceinline__ void sum_column(Format<format>, const std::byte* value, int n,
                                           int in_block, const T* factor,
                                           T (&sum)[Shape::vectors]) {
    int j = first_column(n, in_block);
#pragma unroll 4
    for (int left = n; left > 0; --left) {
        const T x = widen<T, format>(stored_bits<format>(value + j * bytes_of(format)));
#pragma unroll
        for (int v = 0; v < Shape::vectors; ++v) {
            sum[v] = fma(x, factor[v * Shape::factor_stride + j], sum[v]);
        }
        j = j + 1 < n ? j + 1 : 0;
    }
}

template <bool Transposed, class Shape, class T>
__device__ __forceinline__ void sum_share(const RowShare& share, const T* factors,
                                          T (&sum)[Shape::vectors]) {
    const T* const factor = factors + share.factor;
    if constexpr (Transposed) {
        with_format<T>(share.format, [&](auto format) {
            const int skipped = share.in_block * share.n * bytes_of(decltype(format)::value);
            sum_column<Shape>(format, share.block + skipped, share.n, share.in_block, factor, sum);
        });
    } else {
        const auto sum_by = [&](auto width) {
            with_format<T>(share.format, [&](auto format) {
                const int skipped = share.in_block * bytes_of(decltype(format)::value);
                sum_row<decltype(width)::value, Shape>(format, share.block + skipped, share.n,
                                                       factor, sum);
            });
        };
        // 0 for a lane without a row.
        const bool wide = share.factor % Shape::widest == 0 || share.n == 0;
        if (__all_sync(full_warp, wide)) {
            sum_by(std::integral_constant<int, Shape::widest>());
        } else {
            sum_by(std::integral_constant<int, 1>());
        }
    }
}

/// f(v) for the first `count` of the vectors that are taken at once.
template <class Shape, class F>
__device__ __forceinline__ void for_vectors(Index count, F&& f) {
    if (Shape::vectors == 1 || count >= Shape::vectors) {
#pragma unroll
        for (int v = 0; v < Shape::vectors; ++v) f(v);
    } else {
#pragma unroll
        for (int v = 0; v < Shape::vectors; ++v) {
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
                for_vectors<Shape>(vectors_ - vector_, [&](int v) {
                    start_value_copy(from, own + v * Shape::factor_stride);
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
#pragma unroll
            for (int q = 0; q < Shape::groups; ++q) {
                const RowShare share = ring.share(chunk, stage, q);
                T sum[Shape::vectors] = {};
                sum_share<Transposed, Shape>(share, ring.template factors<T>(slot), sum);
                if (share.n == 0) continue;
                T* to = z + vector * z_leading + share.row;
                for_vectors<Shape>(vectors - vector, [&](int v) {
                    *to = sum[v];
                    to += z_leading;
                });
            }
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
template <bool OneSize, int Groups, int Stages, int Vectors, int Resident, bool Transposed, class T>
void launch_apply_ring(const RingArguments<T>& a, unsigned rounds = 1, bool even = false) {
    using Shape = ChunkShape<T, OneSize, Groups, Stages, Vectors, Resident>;
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
/// format. A chunk is worth its instructions from some bytes on, and two or four groups fill lanes
/// that one leaves idle. Thread blocks that end after a chunk share the memory best; small chunks
/// are not worth starting one.
template <class T>
void apply_uniform_ring(const RingArguments<T>& a) {
    constexpr bool wide = sizeof(T) == 8;
    constexpr unsigned all = all_rounds;
    const int n = a.blocks.largest;
    if (a.vectors > 4) {
        const bool thirds = 64 / n == 3;  // Of two groups.
        if constexpr (wide) {
            if (thirds || n <= 12) return launch_apply_ring<true, 2, 1, 8, 4, false>(a, all);
            return launch_apply_ring<true, 1, 2, 8, 4, false>(a, 4);
        } else {
            if (thirds) return launch_apply_ring<true, 2, 2, 8, 4, false>(a);
            return launch_apply_ring<true, 1, 2, 8, 5, false>(a, 4);
        }
    }
    if (a.vectors > 1) return launch_apply_ring<true, 1, 2, 4, 4, false>(a, 4);
    const auto one_group = [&](unsigned most) {
        launch_apply_ring<true, 1, 1, 1, 12, false>(a, most, true);
    };
    const auto two_groups = [&](unsigned most) {
        launch_apply_ring<true, 2, 1, 1, 8, false>(a, most, true);
    };
    const auto four_groups = [&](unsigned most) {
        launch_apply_ring<true, 4, 1, 1, 8, false>(a, most, true);
    };
    // More than the second-level cache keeps from one application to the next.
    const bool streams = double(a.blocks.count) * n * n * bytes_of(a.blocks.format) +
                             2.0 * a.blocks.rows * sizeof(T) >
                         4e7;
    switch (bytes_of(a.blocks.format)) {
        case 8:
            return n <= 3 ? four_groups(all) : n <= 6 ? two_groups(all) : one_group(all);
        case 4:
            if (n <= 7) return four_groups(n <= 4 ? 1 : all);
            return n <= 20 ? two_groups(all) : one_group(all);
        default:
            if (n >= 24 && n <= 26) {
                if (streams) return launch_apply_ring<true, 4, 2, 1, 4, false>(a);
                if constexpr (wide) return launch_apply_ring<true, 4, 1, 1, 6, false>(a, 2);
            } else if constexpr (wide) {
                if (streams) return launch_apply_ring<true, 2, 2, 1, 8, false>(a);
            }
            if (n <= 26) return four_groups(n <= 11 ? 1 : 4);
            return wide ? two_groups(2) : one_group(1);
    }
}

template <class T>
void apply_ring(const Context& context, const StoredBlocks& blocks, batched::Transpose transpose,
                Index vectors, const T* r, Offset r_leading, T* z, Offset z_leading) {
    const RingArguments<T> a{context, blocks, vectors, r, r_leading, z, z_leading};
    const bool mixed = blocks.formats != nullptr;
    const int row_bytes = blocks.largest * (mixed ? int(sizeof(T)) : bytes_of(blocks.format));
    if (transpose == batched::Transpose::yes) {
        if (vectors > 1) return launch_apply_ring<false, 1, 2, 8, 4, true>(a);
        if (row_bytes <= 64) return launch_apply_ring<false, 2, 2, 1, 8, true>(a);
        return launch_apply_ring<false, 1, 2, 1, 8, true>(a);
    }
    if (blocks.one_size && !mixed) return apply_uniform_ring(a);
    if (vectors > 4) {
        if constexpr (sizeof(T) == 8) return launch_apply_ring<false, 1, 1, 8, 5, false>(a);
        return launch_apply_ring<false, 1, 2, 8, 5, false>(a, mixed && blocks.largest > 16 ? 1 : 4);
    }
    if (vectors > 1) return launch_apply_ring<false, 1, 2, 4, 4, false>(a);
    if (row_bytes <= 24) return launch_apply_ring<false, 4, 1, 1, 8, false>(a);
    if (row_bytes <= 80) return launch_apply_ring<false, 2, 1, 1, 12, false>(a);
    launch_apply_ring<false, 1, 1, 1, 12, false>(a, mixed ? 1 : 4);
}

}  // namespace tessera::cuda
