#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>

#include "base/check_cuda.hpp"
#include "gpu/bulk_copy.cuh"
#include "gpu/launch.cuh"
#include "gpu/pack.cuh"
#include "gpu/tiles/tile_sizes.cuh"
#include "gpu/tuning/batched_h200.hpp"
#include "gpu/warp.cuh"
#include "tessera/batched.hpp"

/// Batches of one size whose matrices follow each other without gaps, read once: a warp takes tiles
/// of some matrices, one after the other, through a ring of places in its shared memory, so that
/// bulk copies of the next tiles are always under way.
namespace tessera::cuda {

/// What a run of so many bytes takes in a place. Copies are faster where both addresses are equally
/// far into a line of 128 bytes.
constexpr bool is_shifted_run(int bytes) { return bytes % 128 != 0; }
constexpr int place_of_run(int bytes) {
    return (bytes + 127) / 128 * 128 + (is_shifted_run(bytes) ? 128 : 0);
}

/// How matrices of N rows, and vectors of N values with each of them, are read.
template <class T, int N, int Vectors>
struct RingShape {
    static constexpr int n = N;
    static constexpr int lanes = ring_lanes[N - 1][sizeof(T) == 8 ? 0 : 1];
    static constexpr int together = 32 / lanes;  ///< Matrices that a warp works on at once.
    /// Without vectors tiles have 4 KiB at least: each costs some instructions.
    static constexpr int turns =
        Vectors == 0 ? std::clamp(4096 / (together * N * N * int(sizeof(T))), 1, 4) : 1;
    static constexpr int matrices = turns * together;     ///< A tile.
    static constexpr int rows = (N + lanes - 1) / lanes;  ///< A lane.
    static constexpr int place_bytes = place_of_run(matrices * N * N * int(sizeof(T))) +
                                       Vectors * place_of_run(matrices * N * int(sizeof(T)));
    static constexpr int stages = place_bytes < 3500 ? 4 : 2;  ///< Places of a warp.
    /// Of a thread block, which takes at most some 40 KiB then: five or six fill a multiprocessor.
    static constexpr int warps = std::clamp(40 * 1024 / (stages * place_bytes), 1, 4);
    static constexpr int threads = 32 * warps;
    static constexpr int blocks = 20 / warps;  ///< A multiprocessor, that registers are limited to.

    /// Rows that a lane reads with one instruction.
    static constexpr int rows_a_read() {
        int width = 16 / int(sizeof(T));
        while (rows % width != 0 || N % width != 0) width /= 2;
        return width;
    }
    /// The first row of this lane; where rows do not come out even some are taken twice.
    static __device__ __forceinline__ int first_row() {
        return min(int(threadIdx.x) % lanes * rows, N - rows);
    }
    // Where a column has 16, 32 or 64 bytes, lanes that are served together would read the same
    // banks; so some matrices are some columns behind.
    static constexpr int column_chunks = N * int(sizeof(T)) / 16;
    static constexpr bool skewed =
        (N & (N - 1)) == 0 && N * int(sizeof(T)) >= 16 && column_chunks == lanes && lanes < 8;
    static constexpr int matrices_a_line = skewed ? std::max(8 / (N * column_chunks), 1) : 1;
    static constexpr int skews = skewed ? 8 / lanes / matrices_a_line : 1;
    /// Columns that this lane is behind, below `skews`.
    static __device__ __forceinline__ int skew() {
        return int(threadIdx.x) % 32 / lanes / matrices_a_line % skews;
    }
};

/// visit(column, row of this lane, element) in ascending order of the columns.
template <class Shape, class T, class Visit>
__device__ __forceinline__ void for_own_rows(const T* matrix, Visit&& visit) {
    constexpr int width = Shape::rows_a_read();
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

/// An array of `Each` values a matrix, of which a tile of `Matrices` is one run; as a warp sees it.
template <class T, int Each, int Matrices>
class TileRun {
  public:
    static constexpr int bytes = Matrices * Each * int(sizeof(T));
    static_assert(bytes % 16 == 0, "all tiles start aligned as the first does");
    static constexpr bool shifted = is_shifted_run(bytes);
    static constexpr int place_bytes = place_of_run(bytes);

    /// `values` is 16 bytes aligned; tiles are `step` matrices apart, from `first` on.
    __device__ __forceinline__ TileRun(const T* values, Index first, Index step)
        : next_(values + Offset(first) * Each),
          step_(Offset(step) * Each),
          shift_(unsigned(reinterpret_cast<unsigned long long>(next_))) {}
    /// Bytes of `here` matrices that are copied in chunks of 16.
    static __device__ __forceinline__ int in_chunks(int here) {
        return here * Each * int(sizeof(T)) / 16 * 16;
    }
    /// Starts to copy the next tile to a place; by lane 0.
    __device__ __forceinline__ void copy(CopyBarrier barrier, unsigned char* place, int here) {
        const int count = in_chunks(here);
        const unsigned shift = shifted ? unsigned(reinterpret_cast<unsigned long long>(next_)) : 0;
        if (count > 0) barrier.copy(next_, place + shift % 128, count);
    }
    __device__ __forceinline__ void advance_copies() { next_ += step_; }
    /// The values of the tile to work on.
    __device__ __forceinline__ T* staged(unsigned char* place) const {
        return reinterpret_cast<T*>(place + (shifted ? shift_ % 128 : 0));
    }
    /// Copies the values that chunks left over, `tiles_behind` ago; by the warp.
    __device__ __forceinline__ void copy_rest(T* staged, int here, int tiles_behind) const {
        if constexpr (Each * sizeof(T) % 16 != 0) {
            const int i = in_chunks(here) / int(sizeof(T)) + int(threadIdx.x) % 32;
            if (i < here * Each) staged[i] = (next_ - tiles_behind * step_)[i];
        }
    }
    __device__ __forceinline__ void advance() { shift_ += unsigned(step_ * sizeof(T)); }

  private:
    const T* next_;
    Offset step_;
    unsigned shift_;
};

/// Writes the first `count` of `Most` values from shared memory, both 16 bytes aligned; by a warp.
template <int Most, class T>
__device__ __forceinline__ void store_run(const T* from, T* to, int count) {
    constexpr int width = 16 / int(sizeof(T));
    using Chunk = Pack<T, width>;
    const int lane = int(threadIdx.x) % 32;
#pragma unroll
    for (int k = 0; k < (Most / width + 31) / 32; ++k) {
        const int i = (32 * k + lane) * width;
        if (i + width <= count) {
            *reinterpret_cast<Chunk*>(to + i) = *reinterpret_cast<const Chunk*>(from + i);
        } else {
            for (int j = i; j < count; ++j) to[j] = from[j];
        }
    }
}

/// The places of a warp for tiles, and the barriers that tell when they are filled.
template <int Stages>
class WarpRing {
  public:
    /// By a warp, which has Stages places of `memory` and as many barriers of its own.
    __device__ __forceinline__ WarpRing(unsigned char* memory, int place_bytes,
                                        unsigned long long* barriers)
        : memory_(memory), barriers_(barriers), place_bytes_(place_bytes) {
        const int lane = int(threadIdx.x) % 32;
        if (lane < Stages) CopyBarrier(barriers_ + lane).init();
        __syncwarp();
    }
    __device__ __forceinline__ unsigned char* place() const {
        return memory_ + place_ * place_bytes_;
    }
    __device__ __forceinline__ CopyBarrier barrier() const {
        return CopyBarrier(barriers_ + place_);
    }
    /// For what is copied to this place.
    __device__ __forceinline__ void wait() const { barrier().wait(phase_); }
    __device__ __forceinline__ void advance() {
        if (++place_ < Stages) return;
        place_ = 0;
        phase_ ^= 1;
    }
    /// Once a copy was started to each place, back to the first.
    __device__ __forceinline__ void rewind() { phase_ = 0; }

  private:
    unsigned char* memory_;
    unsigned long long* barriers_;
    int place_bytes_;
    int place_ = 0;
    int phase_ = 0;
};

/// Whether a batch can be read so: column-major matrices of 1 to 32 rows in one run that starts
/// aligned, and every GPU that this is compiled for has bulk copies. (Below 2^30 of them no number
/// of a tile behind the last overflows.)
template <class T>
bool is_ring_batch(const batched::BatchView<T>& a) {
    return bulk_copies() && a.sizes == nullptr && a.offsets == nullptr && a.starts == nullptr &&
           a.size >= 1 && a.size <= 32 && a.leading_dimension == a.size &&
           a.stride == Offset(a.size) * a.size && a.layout == batched::Layout::column_major &&
           a.count < (1 << 30) && reinterpret_cast<std::uintptr_t>(a.values) % 16 == 0;
}

/// launch(std::integral_constant<int, n>()) for 1 <= n <= 32; false where n is not compiled.
template <int N = 1, class Launch>
bool with_ring_size(int n, Launch&& launch) {
    if constexpr (N <= 32) {
        if (n != N) return with_ring_size<N + 1>(n, launch);
        if constexpr (tile_compiled(N + N % 2)) {
            launch(std::integral_constant<int, N>());
            return true;
        }
    }
    return false;
}

/// Thread blocks of a kernel that fill a GPU, asked for once and kept: the question takes some
/// microseconds. With fewer blocks, which overlap the kernel before them, some multiprocessors
/// would get more of them than others.
class FillingBlocks {
  public:
    template <class... Parameters>
    unsigned operator()(int device, void (*kernel)(Parameters...), int threads, int bytes) {
        std::atomic<unsigned>* const known =
            device < int(known_.size()) ? &known_[std::size_t(device)] : nullptr;
        unsigned blocks = known != nullptr ? known->load(std::memory_order_relaxed) : 0;
        if (blocks > 0) return blocks;
        int multiprocessors = 0, each = 0;
        TESSERA_CUDA(
            cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
        TESSERA_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, kernel, threads,
                                                                   std::size_t(bytes)));
        blocks = unsigned(multiprocessors * std::max(each, 1));
        if (known != nullptr) known->store(blocks, std::memory_order_relaxed);
        return blocks;
    }

  private:
    std::array<std::atomic<unsigned>, 16> known_{};  ///< Of the first devices; 0: not yet.
};

}  // namespace tessera::cuda
