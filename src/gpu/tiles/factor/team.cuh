#pragma once

#include "gpu/warp.cuh"

/// Teams: the threads that factorise one matrix, one row (and column) each, with their broadcasts,
/// votes and reductions. All threads of the warp, or of the thread block, must call these.
namespace tessera::cuda {

/// `Lanes` adjacent lanes of a warp, a power of two.
template <int Lanes>
class WarpTeam {
  public:
    static constexpr int threads = Lanes;

    __device__ __forceinline__ WarpTeam() : lane_(int(threadIdx.x) % Lanes) {}
    __device__ __forceinline__ int lane() const { return lane_; }
    __device__ __forceinline__ void sync() const { __syncwarp(); }

    template <class T>
    __device__ __forceinline__ T from(T value, int lane) const {
        return __shfl_sync(full_warp, value, lane, Lanes);
    }
    /// The first lane with a true `predicate`; Lanes if there is none.
    __device__ __forceinline__ int first(bool predicate) const {
        const unsigned mine = votes(predicate);
        return mine == 0 ? Lanes : __ffs(int(mine)) - 1;
    }
    __device__ __forceinline__ int count(bool predicate) const { return __popc(votes(predicate)); }
    /// Whether `predicate` is true in any thread of any team of the warp.
    __device__ __forceinline__ bool any(bool predicate) const {
        return __any_sync(full_warp, predicate);
    }
    template <class T>
    __device__ __forceinline__ T max(T value) const {
        return lanes_max<Lanes>(value);
    }
    /// Maximum of values that are neither negative nor NaN.
    template <class T>
    __device__ __forceinline__ T max_magnitude(T value) const {
        return lanes_max_magnitude<Lanes>(value);
    }
    template <class T>
    __device__ __forceinline__ T sum(T value) const {
        return lanes_sum<Lanes>(value);
    }
    __device__ __forceinline__ int min(int value) const { return -max(-value); }

  private:
    /// Bit l: `predicate` of lane l of the team.
    __device__ __forceinline__ unsigned votes(bool predicate) const {
        const unsigned all = __ballot_sync(full_warp, predicate);
        if constexpr (Lanes == 32) return all;
        return all >> (threadIdx.x % 32 / Lanes * Lanes) & ((1u << (Lanes % 32)) - 1);
    }

    int lane_;
};

/// A thread block of whole warps.
template <int Threads>
class BlockTeam {
  public:
    static constexpr int threads = Threads;
    static constexpr int warps = Threads / 32;

    __device__ __forceinline__ BlockTeam() {
        __shared__ unsigned long long scratch[warps];
        scratch_ = scratch;
    }
    __device__ __forceinline__ int lane() const { return int(threadIdx.x); }
    __device__ __forceinline__ void sync() const { __syncthreads(); }

    template <class T>
    __device__ __forceinline__ T from(T value, int lane) const {
        T* const shared = reinterpret_cast<T*>(scratch_);
        __syncthreads();
        if (int(threadIdx.x) == lane) *shared = value;
        __syncthreads();
        return *shared;
    }
    __device__ __forceinline__ int first(bool predicate) const {
        const unsigned votes = __ballot_sync(full_warp, predicate);
        const int mine = votes == 0 ? Threads : int(threadIdx.x) / 32 * 32 + __ffs(int(votes)) - 1;
        return reduce(mine, [](int a, int b) { return a < b ? a : b; });
    }
    __device__ __forceinline__ int count(bool predicate) const {
        return reduce(__popc(__ballot_sync(full_warp, predicate)),
                      [](int a, int b) { return a + b; });
    }
    __device__ __forceinline__ bool any(bool predicate) const {
        return __syncthreads_or(int(predicate)) != 0;
    }
    template <class T>
    __device__ __forceinline__ T max(T value) const {
        return reduce(lanes_max(value), [](T a, T b) { return a < b ? b : a; });
    }
    template <class T>
    __device__ __forceinline__ T max_magnitude(T value) const {
        return max(value);
    }
    template <class T>
    __device__ __forceinline__ T sum(T value) const {
        return reduce(lanes_sum(value), [](T a, T b) { return a + b; });
    }
    __device__ __forceinline__ int min(int value) const { return -max(-value); }

  private:
    /// Reduces one value per warp, in ascending order of the warps.
    template <class T, class Combine>
    __device__ __forceinline__ T reduce(T value, Combine&& combine) const {
        T* const warp_values = reinterpret_cast<T*>(scratch_);
        __syncthreads();
        if (threadIdx.x % 32 == 0) warp_values[threadIdx.x / 32] = value;
        __syncthreads();
        value = warp_values[0];
#pragma unroll
        for (int w = 1; w < warps; ++w) value = combine(value, warp_values[w]);
        return value;
    }

    unsigned long long* scratch_;
};

}  // namespace tessera::cuda
