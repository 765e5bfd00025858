#pragma once

/// Launch shapes of prefix sums, reductions and element-wise kernels (gpu/scan.cuh, gpu/sums.cuh,
/// gpu/for_each.cuh) on an H200. Threads are per thread block.
namespace tessera::cuda {

inline constexpr int scan_threads = 256;
inline constexpr int scan_items = 4;            ///< Consecutive items per thread.
inline constexpr int scan_sums_threads = 1024;  ///< For the scan of the sums of tiles.

inline constexpr int sum_threads = 256;
inline constexpr int sum_loads = 8;  ///< Loads in flight per thread.

inline constexpr int for_each_threads = 128;
/// Items per thread; `work`: about how many numbers an item reads.
template <int work>
inline constexpr int for_each_items = work > 100 ? 1 : 4;

}  // namespace tessera::cuda
