#pragma once

#include <algorithm>
#include <utility>

#include "base/check_cuda.hpp"
#include "gpu/launch.cuh"
#include "gpu/pack.cuh"
#include "precond/block_jacobi/apply/block_pipeline_one_size.cuh"

/// Products with stored blocks of up to 32 rows: each warp runs a pipeline of bulk copies (TMA).
namespace tessera::cuda {

/// f(v) for the first `count` of `Max` vectors.
template <int Max, class F>
__device__ __forceinline__ void for_vectors(Index count, F&& f) {
    if (Max == 1 || count >= Max) {
#pragma unroll
        for (int v = 0; v < Max; ++v) f(v);
    } else {
#pragma unroll
        for (int v = 0; v < Max; ++v) {
            if (v < count) f(v);
        }
    }
}

/// Copies the elements of r to the stages (cp.async), in order of use: for each chunk all vectors,
/// Shape::vectors at once.
template <class T, class Pipeline, class Shape>
class FactorCopies {
  public:
    __device__ __forceinline__ FactorCopies(const Pipeline& pipeline, Index first, Index step,
                                            Index vectors, const T* r, Offset leading)
        : pipeline_(pipeline),
          chunk_(first),
          step_(step),
          vectors_(vectors),
          r_(r),
          leading_(leading) {}

    /// Starts the copies of the next vectors to a stage.
    __device__ __forceinline__ void start(int stage) {
        if (chunk_ < pipeline_.chunks()) {
            T* const to = pipeline_.template factors<T>(stage);
#pragma unroll
            for (int q = 0; q < Shape::groups; ++q) {
                const Index row = pipeline_.row(chunk_, chunk_stage_, q);
                if (row < 0) continue;
                const T* from = r_ + vector_ * leading_ + row;
                T* const own = to + pipeline_.factor_offset(q);
                for_vectors<Shape::vectors>(vectors_ - vector_, [&](int v) {
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
    const Pipeline& pipeline_;
    Index chunk_, step_;
    int chunk_stage_ = 0;
    Index vector_ = 0, vectors_;
    const T* r_;
    Offset leading_;
};

/// Dot products of a row with the vectors, columns ascending; `factor` is aligned to `Width`
/// values.
template <int Width, class Shape, BlockPrecision format, class T>
__device__ __forceinline__ void sum_row(Format<format>, const std::byte* value, int n,
                                        const T* factor, T (&sum)[Shape::vectors]) {
    constexpr int together = 4;
    const int step = n * bytes_of(format);
    const auto add = [&](auto columns, auto width, int count) {
        constexpr int max_columns = decltype(columns)::value;
        constexpr int wide = decltype(width)::value;
        T x[max_columns];
#pragma unroll
        for (int u = 0; u < max_columns; ++u) {
            if (u < count) x[u] = widen<T, format>(stored_bits<format>(value + u * step));
        }
#pragma unroll
        for (int v = 0; v < Shape::vectors; ++v) {
#pragma unroll
            for (int u = 0; u < max_columns; u += wide) {
                if (u >= count) continue;
                const auto run =
                    *reinterpret_cast<const Pack<T, wide>*>(factor + v * Shape::factor_stride + u);
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

/// Dot product of a row of the transpose, which is a column of the stored block, with the vector.
/// If n is even, lanes start at different entries to avoid bank conflicts.
template <BlockPrecision format, class T>
__device__ __forceinline__ void sum_column(Format<format>, const std::byte* value, int n,
                                           int in_block, const T* factor, T& sum) {
    int j = first_column(n, in_block);
#pragma unroll 4
    for (int left = n; left > 0; --left) {
        sum = fma(widen<T, format>(stored_bits<format>(value + j * bytes_of(format))), factor[j],
                  sum);
        j = j + 1 < n ? j + 1 : 0;
    }
}

template <bool Transposed, class Shape, class T>
__device__ __forceinline__ void sum_lane_row(const LaneRow& lane_row, const T* factors,
                                             T (&sum)[Shape::vectors]) {
    const T* const factor = factors + lane_row.factor;
    if constexpr (Transposed) {
        static_assert(Shape::vectors == 1);
        with_format<T>(lane_row.format, [&](auto format) {
            const int skipped = lane_row.in_block * lane_row.n * bytes_of(decltype(format)::value);
            sum_column(format, lane_row.block + skipped, lane_row.n, lane_row.in_block, factor,
                       sum[0]);
        });
    } else {
        const auto sum_by = [&](auto width) {
            with_format<T>(lane_row.format, [&](auto format) {
                const int skipped = lane_row.in_block * bytes_of(decltype(format)::value);
                sum_row<decltype(width)::value, Shape>(format, lane_row.block + skipped, lane_row.n,
                                                       factor, sum);
            });
        };
        // Lanes without a row have n = 0.
        const bool wide = lane_row.factor % Shape::pack_width == 0 || lane_row.n == 0;
        if (__all_sync(full_warp, wide)) {
            sum_by(std::integral_constant<int, Shape::pack_width>());
        } else {
            sum_by(std::integral_constant<int, 1>());
        }
    }
}

/// Computes all rows of a chunk, for the first `count` vectors from `to` on.
template <bool Transposed, class Shape, class Pipeline, class T>
__device__ __forceinline__ void apply_chunk(const Pipeline& pipeline, Index chunk, int stage,
                                            const T* factors, Index count, T* to, Offset leading) {
#pragma unroll
    for (int q = 0; q < Shape::groups; ++q) {
        const LaneRow lane_row = pipeline.lane_row(chunk, stage, q);
        T sum[Shape::vectors] = {};
        sum_lane_row<Transposed, Shape>(lane_row, factors, sum);
        if (lane_row.n == 0) continue;
        T* own = to + lane_row.row;
        for_vectors<Shape::vectors>(count, [&](int v) {
            *own = sum[v];
            own += leading;
        });
    }
}

/// Block-diagonal matrix times vectors, z_b = X_b r_b or X_b^T r_b; one row of each group per lane.
/// Each warp consumes chunks of blocks from its own pipeline of bulk copies; columns are summed in
/// ascending order.
template <class T, ApplyKernel Kernel>
__global__ void __launch_bounds__(32 * apply_warps, apply_shape<T>(Kernel).thread_blocks)
    apply_pipeline_kernel(StoredBlocks blocks, int value_bytes, Index vectors, const T* r,
                          Offset r_leading, T* z, Offset z_leading) {
    using Shape = ChunkShape<T, Kernel>;
    extern __shared__ __align__(128) unsigned char memory[];
    const int warp = int(threadIdx.x) / 32;
    const Index first = Index(blockIdx.x) * apply_warps + warp;
    const Index step = Index(gridDim.x) * apply_warps;
    trigger_dependent_launch();
    using Pipeline = Chunks<Shape>;
    Pipeline pipeline(blocks, value_bytes, memory + warp * Shape::warp_bytes(value_bytes), first,
                      step);
    FactorCopies<T, Pipeline, Shape> factors(pipeline, first, step, vectors, r, r_leading);
    // Running kernels never write blocks (stored_blocks.hpp), so their copies may start early.
#pragma unroll 1
    for (int s = 0; s < Shape::stages; ++s) pipeline.produce(s);
    wait_for_prior_kernels();
#pragma unroll 1
    for (int s = 0; s < Shape::stages; ++s) factors.start(s);
    int stage = 0, phase = 0, slot = 0;
#pragma unroll 1
    for (Index chunk = first; chunk < pipeline.chunks(); chunk += step) {
        pipeline.wait(stage, phase);
#pragma unroll 1
        for (Index vector = 0; vector < vectors; vector += Shape::vectors) {
            wait_for_value_copies<Shape::stages - 1>();
            __syncwarp();
            apply_chunk<Shape::shape.transposed, Shape>(
                pipeline, chunk, stage, pipeline.template factors<T>(slot), vectors - vector,
                z + vector * z_leading, z_leading);
            __syncwarp();
            if (Shape::vectors == 1 || vector + Shape::vectors >= vectors) pipeline.produce(stage);
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

/// Number of thread blocks of a launch, if `needed` have work and `resident` fit the GPU at once.
inline unsigned grid_size(const ApplyLaunch& launch, unsigned needed, unsigned resident) {
    unsigned waves = launch.waves;
    if (launch.power_of_two) {
        waves = 1;
        while (2 * waves <= launch.waves && Offset(2) * waves * resident <= needed) waves *= 2;
        if (waves >= 8) return needed;
    }
    return unsigned(std::min(Offset(needed), Offset(waves) * resident));
}

template <class T, ApplyKernel Kernel>
void launch_apply(const Context& context, const StoredBlocks& blocks, const ApplyLaunch& launch,
                  Vectors<const T> r, Vectors<T> z) {
    using Shape = ChunkShape<T, Kernel>;
    const int value_bytes = Chunks<Shape>::value_bytes(blocks);
    const int bytes = apply_warps * Shape::warp_bytes(value_bytes);
    int multiprocessors = 0, memory = 0;
    TESSERA_CUDA(
        cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, context.device()));
    TESSERA_CUDA(cudaDeviceGetAttribute(&memory, cudaDevAttrMaxSharedMemoryPerMultiprocessor,
                                        context.device()));
    constexpr int reserved = 1024;  // Bytes per thread block, by the system.
    const int each = std::clamp(memory / (bytes + reserved), 1, Shape::shape.thread_blocks);
    const unsigned needed = blocks_for(Chunks<Shape>::chunks(blocks), apply_warps);
    launch_dependent(apply_pipeline_kernel<T, Kernel>,
                     grid_size(launch, needed, unsigned(multiprocessors * each)), 32 * apply_warps,
                     bytes, stream_of(context), blocks, value_bytes, r.count, r.data, r.leading,
                     z.data, z.leading);
}

template <class T>
void apply_pipeline(const Context& context, const StoredBlocks& blocks, bool transposed,
                    Vectors<const T> r, Vectors<T> z) {
    const bool mixed = blocks.formats != nullptr;
    const BlockLayout layout = !blocks.one_size ? BlockLayout::mixed_sizes
                               : mixed          ? BlockLayout::one_size
                                                : BlockLayout::uniform;
    const int n = blocks.largest;
    const int value_bytes = mixed ? int(sizeof(T)) : bytes_of(blocks.format);
    const double bytes = double(blocks.count) * n * n * value_bytes + 2.0 * blocks.rows * sizeof(T);
    const ApplyLaunch launch =
        apply_launch<T>(layout, mixed, n, value_bytes, bytes, r.count, transposed);
    const auto launch_if = [&](auto constant) {
        constexpr ApplyKernel kernel = ApplyKernel(decltype(constant)::value);
        if constexpr (apply_shape<T>(kernel).groups > 0) {
            if (launch.kernel != kernel) return;
            launch_apply<T, kernel>(context, blocks, launch, r, z);
        }
    };
    [&]<int... Kernel>(std::integer_sequence<int, Kernel...>) {
        (launch_if(std::integral_constant<int, Kernel>()), ...);
    }
    (std::make_integer_sequence<int, apply_kernels>());
}

}  // namespace tessera::cuda
