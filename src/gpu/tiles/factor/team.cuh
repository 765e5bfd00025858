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
    __device__ __forceinline__ float max_magnitude(float value) const {
        if constexpr (Lanes == 32) {
            return __uint_as_float(__reduce_max_sync(full_warp, __float_as_uint(value)));
        }
#pragma unroll
        for (int distance = Lanes / 2; distance > 0; distance /= 2) {
            value = fmaxf(value, __shfl_xor_sync(full_warp, value, distance));
        }
        return value;
    }
    __device__ __forceinline__ double max_magnitude(double value) const {
        if constexpr (Lanes == 32) {
            const auto high = unsigned(__double2hiint(value));
            const unsigned top = __reduce_max_sync(full_warp, high);
            const auto low = high == top ? unsigned(__double2loint(value)) : 0u;
            return __hiloint2double(int(top), int(__reduce_max_sync(full_warp, low)));
        } else {
            return lanes_max<Lanes>(value);
        }
    }
    /// Butterfly sum; the order does not depend on other teams.
    template <class T>
    __device__ __forceinline__ T sum(T value) const {
#pragma unroll
        for (int distance = Lanes / 2; distance > 0; distance /= 2) {
            value += __shfl_xor_sync(full_warp, value, distance);
        }
        return value;
    }

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
        T* const place = reinterpret_cast<T*>(scratch_);
        __syncthreads();
        if (int(threadIdx.x) == lane) *place = value;
        __syncthreads();
        return *place;
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
        return reduce(warp_sum(value), [](T a, T b) { return a + b; });
    }

  private:
    /// Reduces one value per warp, in ascending order of the warps.
    template <class T, class Combine>
    __device__ __forceinline__ T reduce(T value, Combine&& combine) const {
        T* const places = reinterpret_cast<T*>(scratch_);
        __syncthreads();
        if (threadIdx.x % 32 == 0) places[threadIdx.x / 32] = value;
        __syncthreads();
        value = places[0];
#pragma unroll
        for (int w = 1; w < warps; ++w) value = combine(value, places[w]);
        return value;
    }

    unsigned long long* scratch_;
};

}  // namespace tessera::cuda
