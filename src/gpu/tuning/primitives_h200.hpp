#pragma once

/// Launch shapes of prefix sums, reductions and element-wise kernels (gpu/scan.cuh, gpu/sums.cuh,
/// gpu/for_each.cuh) on an H200. Threads are those of a thread block.
namespace tessera::cuda {

inline constexpr int scan_threads = 256;
inline constexpr int scan_items = 4;  ///< Consecutive items per thread.
inline constexpr int scan_sums_threads =
    1024;  ///< The thread block that scans the sums of all tiles.

inline constexpr int sum_threads = 256;
inline constexpr int sum_loads = 8;  ///< Loads in flight per thread.

inline constexpr int for_each_threads = 128;
inline constexpr int for_each_items = 4;  ///< Items per thread.

}  // namespace tessera::cuda
