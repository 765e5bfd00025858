#pragma once

/// Launch shapes of the sparse operations as measured on an H200 (docs/decisions/find-blocks-gpu.md,
/// csr-lanes.md and sliced-formats.md). Threads are those of a thread block.
namespace tessera::cuda {

// Finding blocks (sparse/find_blocks).

inline constexpr int mark_warps = 4;             ///< mark_kernel.
inline constexpr int segmentation_threads = 256; ///< A chunk of rows.
inline constexpr int compose_warps = 32;         ///< compose_transitions_kernel,
inline constexpr int compose_chunks = 640;       ///< and chunks in shared memory at a time.

// Products with matrices in CSR (sparse/spmv_csr).

inline constexpr int csr_threads = 256;
inline constexpr int long_row_threads = 1024;

// Products with sliced matrices (sparse/spmv_sliced).

inline constexpr int spmv_threads = 256;

/// Thread blocks a multiprocessor that registers are limited for. With the 64 registers this leaves
/// a thread, the loads of a batch are all issued before the first is used; without a limit the
/// compiler takes 32. One less where the distances between values are no constants and take
/// registers, too.
constexpr int spmv_thread_blocks(bool constant_distances) { return constant_distances ? 4 : 3; }

/// Blocks of a block row whose loads are in flight at a time: those whose values, x and columns take
/// some forty registers. `rows`: of a thread; sizes in bytes.
constexpr int spmv_blocks_in_flight(int block, int rows, int stored_bytes, int vector_bytes) {
    const int registers = rows * (block * block * stored_bytes + block * vector_bytes + 4) / 4;
    const int max_blocks = block == 1 ? 8 : 3;
    const int blocks = (rows > 1 ? 42 : 40) / registers;
    return blocks < 1 ? 1 : blocks < max_blocks ? blocks : max_blocks;
}

}  // namespace tessera::cuda
