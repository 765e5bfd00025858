#pragma once

/// Launch shapes of the lists of block rows (precond/incomplete/symbolic/block_pattern_cuda.cu) on
/// an H200.
namespace tessera::incomplete::cuda {

/// Threads of a thread block of the search for levels, and the number of these.
inline constexpr int level_threads = 512;
inline constexpr unsigned level_blocks = 528;

/// Threads of a thread block that finds updates, and of the team for each block; of a warp where a
/// row is longer than long_row, as two such rows share a block.
inline constexpr int update_threads = 128;
inline constexpr int update_lanes = 8;
inline constexpr int long_row = 1024;

}  // namespace tessera::incomplete::cuda
