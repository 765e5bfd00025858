#pragma once

/// Launch shapes of the sparse operations as measured on an H200
/// (docs/decisions/find-blocks-gpu.md, csr-lanes.md and sliced-formats.md). Threads are per thread
/// block.
namespace tessera::cuda {

// Finding blocks (sparse/find_blocks).

inline constexpr int mark_warps = 4;              ///< Warps of mark_kernel.
inline constexpr int segmentation_threads = 256;  ///< Threads per chunk of rows.
inline constexpr int compose_warps = 32;          ///< Warps of compose_transitions_kernel.
inline constexpr int compose_chunks = 640;        ///< Chunks in shared memory at a time.

// Products with matrices in CSR (sparse/spmv_csr).

inline constexpr int csr_threads = 256;
inline constexpr int long_row_threads = 1024;

// Products with sliced matrices (sparse/spmv_sliced).

inline constexpr int spmv_threads = 256;

/// Thread blocks per multiprocessor (launch bound). The 64 registers per thread that it leaves let
/// all loads of a batch be issued before the first is used; without a bound the compiler uses 32.
/// One thread block less where the distances between values are not known at compile time: they
/// take registers, too.
constexpr int spmv_thread_blocks(bool constant_distances) { return constant_distances ? 4 : 3; }

/// Blocks of a block row whose loads are in flight at a time: their values, x and columns use some
/// forty registers. `rows`: rows per thread; sizes in bytes.
constexpr int spmv_blocks_in_flight(int block, int rows, int stored_bytes, int vector_bytes) {
    const int registers = rows * (block * block * stored_bytes + block * vector_bytes + 4) / 4;
    const int max_blocks = block == 1 ? 8 : 3;
    const int blocks = (rows > 1 ? 42 : 40) / registers;
    return blocks < 1 ? 1 : blocks < max_blocks ? blocks : max_blocks;
}

// Several vectors at once.

/// Registers that x of some vectors and one block of values take; sizes in bytes.
constexpr int spmv_registers(int block, int vectors, int stored_bytes, int vector_bytes) {
    return block * (block * stored_bytes + vectors * vector_bytes) / 4;
}

/// Vectors that are multiplied together at most: 2, 4 or 8. Their sums, as large as x, stay in
/// registers, too.
constexpr int spmv_vectors(int block, int stored_bytes, int vector_bytes) {
    const auto registers = [=](int vectors) {
        return spmv_registers(block, 2 * vectors, stored_bytes, vector_bytes);
    };
    return registers(8) <= 120 ? 8 : registers(4) <= 120 ? 4 : 2;
}

/// spmv_blocks_in_flight and spmv_thread_blocks for the product with several vectors.
constexpr int spmv_blocks_in_flight_of_vectors(int block, int vectors, int stored_bytes,
                                               int vector_bytes) {
    return spmv_registers(block, vectors, stored_bytes, vector_bytes) <= 20 ? 2 : 1;
}
constexpr int spmv_thread_blocks_of_vectors(int vectors, int vector_bytes) {
    return vectors > 2 && vector_bytes == 8 ? 2 : 3;
}

}  // namespace tessera::cuda
