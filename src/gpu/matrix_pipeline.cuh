#pragma once

#include <algorithm>
#include <array>

#include "base/check_cuda.hpp"
#include "gpu/batch_view.cuh"
#include "gpu/bulk_copy.cuh"
#include "gpu/launch.cuh"
#include "gpu/pack.cuh"
#include "gpu/tiles/tile_sizes.cuh"
#include "gpu/tuning/batched_h200.hpp"
#include "gpu/warp.cuh"

/// Contiguous batches of one size, read once: each warp reads tiles of some matrices through a
/// pipeline of stages in its shared memory; bulk copies of the next tiles are always in flight.
namespace tessera::cuda {

/// Whether a tile of `bytes` needs 128 more bytes in a stage: tiles then begin at different offsets
/// within a line of 128 bytes, and copies are faster if source and destination have equal ones.
constexpr bool needs_offset_slack(int bytes) { return bytes % 128 != 0; }
/// Bytes that a tile of `bytes` occupies in a stage.
constexpr int staged_bytes(int bytes) {
    return (bytes + 127) / 128 * 128 + (needs_offset_slack(bytes) ? 128 : 0);
}

/// Shape of the pipeline for matrices of N rows with up to `Vectors` vectors of N values each.
template <class T, int N, int Vectors>
struct PipelineShape {
    static constexpr int n = N;
    static constexpr int lanes = pipeline_lanes[N - 1][sizeof(T) == 8 ? 0 : 1];
    static constexpr int matrices_per_turn =
        32 / lanes;  ///< Matrices that a warp works on at once.
    /// Tiles without vectors have at least 4 KiB to amortise their overhead.
    static constexpr int turns =
        Vectors == 0 ? std::clamp(4096 / (matrices_per_turn * N * N * int(sizeof(T))), 1, 4) : 1;
    static constexpr int matrices = turns * matrices_per_turn;  ///< Per tile.
    static constexpr int rows = (N + lanes - 1) / lanes;        ///< Per lane.
    static constexpr int matrix_bytes = staged_bytes(matrices * N * N * int(sizeof(T)));
    static constexpr int vector_bytes = staged_bytes(matrices * N * int(sizeof(T)));
    static constexpr int stage_bytes(int vectors) { return matrix_bytes + vectors * vector_bytes; }
    static constexpr int stages = pipeline_stages(stage_bytes(Vectors));
    static constexpr int warps = pipeline_warps(stages * stage_bytes(Vectors));
    static constexpr int threads = 32 * warps;
    static constexpr int blocks = pipeline_sm_warps / warps;

    /// Rows that a lane reads by one instruction.
    static constexpr int rows_per_load() {
        int width = 16 / int(sizeof(T));
        while (rows % width != 0 || N % width != 0) width /= 2;
        return width;
    }
    /// The first row of this lane; some rows belong to two lanes if they do not divide evenly.
    static __device__ __forceinline__ int first_row() {
        return min(int(threadIdx.x) % lanes * rows, N - rows);
    }
    // If a column has 16, 32 or 64 bytes, lanes of one transaction would read the same banks; so
    // some matrices are read some columns later.
    static constexpr int column_chunks = N * int(sizeof(T)) / 16;
    static constexpr bool skewed =
        (N & (N - 1)) == 0 && N * int(sizeof(T)) >= 16 && column_chunks == lanes && lanes < 8;
    static constexpr int matrices_per_line = skewed ? std::max(8 / (N * column_chunks), 1) : 1;
    static constexpr int skews = skewed ? 8 / lanes / matrices_per_line : 1;
    /// Number of columns by which this lane lags, below `skews`.
    static __device__ __forceinline__ int skew() {
        return int(threadIdx.x) % 32 / lanes / matrices_per_line % skews;
    }
};

/// visit(column, row of this lane, element) in ascending order of the columns.
template <class Shape, class T, class Visit>
__device__ __forceinline__ void for_rows_of_lane(const T* matrix, Visit&& visit) {
    constexpr int width = Shape::rows_per_load();
    using Read = Pack<T, width>;
    const int skew = Shape::skew();
    const T* const entry = matrix + Shape::first_row() - skew * Shape::n;
#pragma unroll
    for (int step = 0; step < Shape::n + Shape::skews - 1; ++step) {
        const int column = step - skew;
        if (Shape::skews > 1 && (column < 0 || column >= Shape::n)) continue;
#pragma unroll
        for (int r = 0; r < Shape::rows; r += width) {
            const Read read = *reinterpret_cast<const Read*>(entry + step * Shape::n + r);
#pragma unroll
            for (int k = 0; k < width; ++k) visit(column, r + k, read.value[k]);
        }
    }
}

/// A warp's view of an array of `Each` values per matrix, read in tiles of `Matrices` matrices.
template <class T, int Each, int Matrices>
class TileArray {
  public:
    static constexpr int bytes = Matrices * Each * int(sizeof(T));
    static_assert(bytes % 16 == 0, "all tiles are aligned like the first");
    static constexpr bool shifted = needs_offset_slack(bytes);

    /// `values` is aligned to 16 bytes, or null: not read. Tiles begin `offset` bytes into a stage.
    __device__ __forceinline__ TileArray(const T* values, int offset)
        : next_(values), offset_(offset), present_(values != nullptr) {}
    /// Tiles are `step` matrices apart, from `first` on.
    __device__ __forceinline__ void begin(Index first, Index step) {
        next_ += Offset(first) * Each;
        step_ = Offset(step) * Each;
        shift_ = unsigned(reinterpret_cast<unsigned long long>(next_));
    }
    /// Bytes of `matrices` matrices that are copied in chunks of 16.
    __device__ __forceinline__ int chunk_bytes(int matrices) const {
        return present_ ? matrices * Each * int(sizeof(T)) / 16 * 16 : 0;
    }
    /// Starts the bulk copy of the next tile to a stage; called by lane 0.
    __device__ __forceinline__ void copy(CopyBarrier barrier, unsigned char* stage, int matrices) {
        const int count = chunk_bytes(matrices);
        const unsigned shift = shifted ? unsigned(reinterpret_cast<unsigned long long>(next_)) : 0;
        if (count > 0) barrier.copy(next_, stage + offset_ + shift % 128, count);
    }
    __device__ __forceinline__ void advance_copies() { next_ += step_; }
    /// The values of the current tile.
    __device__ __forceinline__ T* staged(unsigned char* stage) const {
        return reinterpret_cast<T*>(stage + offset_ + (shifted ? shift_ % 128 : 0));
    }
    /// Copies the values after the last whole chunk of the tile `tiles_before` the next one to
    /// copy; called by the warp.
    __device__ __forceinline__ void copy_rest(T* staged, int matrices, int tiles_before) const {
        if constexpr (Each * sizeof(T) % 16 != 0) {
            const int i = chunk_bytes(matrices) / int(sizeof(T)) + int(threadIdx.x) % 32;
            if (present_ && i < matrices * Each) staged[i] = (next_ - tiles_before * step_)[i];
        }
    }
    __device__ __forceinline__ void advance() { shift_ += unsigned(step_ * sizeof(T)); }

  private:
    const T* next_;
    int offset_;
    bool present_;
    Offset step_ = 0;
    unsigned shift_ = 0;
};

/// Copies the first `count` of at most `Max` values from shared to global memory, both aligned to
/// 16 bytes; called by a warp.
template <int Max, class T>
__device__ __forceinline__ void store_vectors(const T* from, T* to, int count) {
    constexpr int width = 16 / int(sizeof(T));
    using Chunk = Pack<T, width>;
    const int lane = int(threadIdx.x) % 32;
#pragma unroll
    for (int k = 0; k < (Max / width + 31) / 32; ++k) {
        const int i = (32 * k + lane) * width;
        if (i + width <= count) {
            *reinterpret_cast<Chunk*>(to + i) = *reinterpret_cast<const Chunk*>(from + i);
        } else {
            for (int j = i; j < count; ++j) to[j] = from[j];
        }
    }
}

/// The pipeline stages of a warp and the barriers that signal that they are full.
template <int Stages>
class WarpPipeline {
  public:
    /// Called by a warp, with memory for Stages stages and as many barriers of its own.
    __device__ __forceinline__ WarpPipeline(unsigned char* memory, int stage_bytes,
                                            unsigned long long* barriers)
        : memory_(memory), barriers_(barriers), stage_bytes_(stage_bytes) {
        const int lane = int(threadIdx.x) % 32;
        if (lane < Stages) CopyBarrier(barriers_ + lane).init();
        __syncwarp();
    }
    __device__ __forceinline__ unsigned char* stage() const {
        return memory_ + stage_ * stage_bytes_;
    }
    __device__ __forceinline__ CopyBarrier barrier() const {
        return CopyBarrier(barriers_ + stage_);
    }
    /// Waits for the copies to this stage.
    __device__ __forceinline__ void wait() const { barrier().wait(phase_); }
    __device__ __forceinline__ void advance() {
        if (++stage_ < Stages) return;
        stage_ = 0;
        phase_ ^= 1;
    }
    /// Back to the first stage, after copies to all stages were started.
    __device__ __forceinline__ void rewind() { phase_ = 0; }

  private:
    unsigned char* memory_;
    unsigned long long* barriers_;
    int stage_bytes_;
    int stage_ = 0;
    int phase_ = 0;
};

/// work(first, matrices, release, values ...) for each tile of this warp: `matrices` matrices from
/// number `first` on; their values of each array are in shared memory until the warp calls
/// release().
template <class Shape, class Work, class... Arrays>
__device__ __forceinline__ void for_tiles(Index count, int stage_bytes, Work&& work,
                                          Arrays... arrays) {
    extern __shared__ __align__(128) unsigned char pipeline_memory[];
    __shared__ unsigned long long barriers[Shape::warps * Shape::stages];
    const int lane = int(threadIdx.x) % 32;
    const int warp = int(threadIdx.x) / 32;
    const Index step = Index(gridDim.x) * (Shape::warps * Shape::matrices);
    Index first = (Index(blockIdx.x) * Shape::warps + warp) * Shape::matrices;
    Index to_copy = count - first;
    (arrays.begin(first, step), ...);
    WarpPipeline<Shape::stages> pipeline(pipeline_memory + warp * Shape::stages * stage_bytes,
                                         stage_bytes, barriers + warp * Shape::stages);
    const auto start = [&] {
        const int matrices = min(to_copy, Shape::matrices);
        if (matrices > 0 && lane == 0) {
            const CopyBarrier barrier = pipeline.barrier();
            barrier.expect((arrays.chunk_bytes(matrices) + ...));
            (arrays.copy(barrier, pipeline.stage(), matrices), ...);
        }
        (arrays.advance_copies(), ...);
        to_copy -= step;
    };
    begin_dependent();
#pragma unroll
    for (int s = 0; s < Shape::stages; ++s) {
        start();
        pipeline.advance();
    }
    pipeline.rewind();
#pragma unroll 1
    for (; first < count; first += step) {
        const int matrices = min(count - first, Shape::matrices);
        unsigned char* const stage = pipeline.stage();
        pipeline.wait();
        if (matrices < Shape::matrices) {
            (arrays.copy_rest(arrays.staged(stage), matrices, Shape::stages), ...);
        }
        __syncwarp();
        const auto release = [&] {
            __syncwarp();
            start();
        };
        work(first, matrices, release, arrays.staged(stage)...);
        (arrays.advance(), ...);
        pipeline.advance();
    }
}

/// Whether the pipeline supports a batch: contiguous aligned matrices of 1 to 32 rows, and bulk
/// copies on all compiled architectures. (Below 2^30 matrices no index of a tile after the last
/// overflows.)
template <class T>
bool fits_pipeline(const batched::BatchView<T>& a) {
    return supports_bulk_copies() && is_contiguous_aligned(a) && a.size >= 1 && a.size <= 32 &&
           a.count < (1 << 30);
}

/// launch(std::integral_constant<int, n>()) for 1 <= n <= 32; false where n is not compiled.
template <class Launch>
bool with_compiled_size(int n, Launch&& launch) {
    bool launched = false;
    for_compiled_sizes<1, 32>([&](auto size) {
        if (n != size()) return;
        launch(size);
        launched = true;
    });
    return launched;
}

/// Launches a kernel made of for_tiles with `vectors` of the `Vectors` vectors per matrix, in as
/// many thread blocks as fill the GPU: with fewer, which overlap the kernel before them, some
/// multiprocessors would get more of them than others. The occupancy is queried once, which takes
/// some microseconds.
template <class T, int N, int Vectors, class... Parameters, class... Arguments>
void launch_pipeline(const Context& context, PipelineShape<T, N, Vectors>, int vectors, Index count,
                     void (*kernel)(Parameters...), Arguments&&... arguments) {
    using Shape = PipelineShape<T, N, Vectors>;
    const auto bytes = [](int v) { return Shape::warps * Shape::stages * Shape::stage_bytes(v); };
    const cudaStream_t stream = stream_of(context);
    static const auto filling = [&] {
        std::array<unsigned, Vectors + 1> blocks{};
        int multiprocessors = 0;
        TESSERA_CUDA(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount,
                                            context.device()));
        for (int v = 0; v <= Vectors; ++v) {
            int each = 0;
            TESSERA_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
                &each, kernel, Shape::threads, std::size_t(bytes(v))));
            blocks[std::size_t(v)] = unsigned(multiprocessors * std::max(each, 1));
        }
        return blocks;
    }();
    const unsigned blocks =
        std::min(blocks_for(count, Shape::warps * Shape::matrices), filling[std::size_t(vectors)]);
    launch_dependent(kernel, blocks, Shape::threads, bytes(vectors), stream,
                     std::forward<Arguments>(arguments)...);
}

}  // namespace tessera::cuda
