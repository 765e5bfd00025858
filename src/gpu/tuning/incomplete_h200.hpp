#pragma once

/// Launch shapes of block LDL^T as measured on an H200 (docs/decisions/block-ldlt.md). T: values,
/// k: rows of a block.
namespace tessera::incomplete::cuda {

/// Threads per thread block of the Schur complements and of products with V and F.
inline constexpr int schur_threads = 128;
inline constexpr int product_threads = 128;

/// Threads per thread block of the factorisation of diagonal blocks by teams of lanes.
inline constexpr int block_factor_threads = 128;

/// Lanes along the rows and the columns of a block in a Schur complement without tensor cores.
constexpr int schur_row_lanes(int k) { return k == 1 ? 1 : k == 4 ? 2 : k == 8 ? 4 : 8; }
constexpr int schur_column_lanes(int k) { return k == 1 ? 1 : k == 4 ? 2 : 4; }

/// Adjacent values of a block that a lane loads at once in a product with V, and blocks in flight
/// of `steps` such loads each.
template <class T>
constexpr int product_width(int k) {
    const int width = k == 8 ? 2 : 16 / int(sizeof(T));
    return width < k ? width : k;
}
constexpr int blocks_in_flight(int steps) { return steps < 4 ? 4 / steps : 1; }

/// Thread blocks of a triangular solve with one thread per row: with more, polling slows down the
/// rows that others wait for (convection3d:80, 1 and 4 rows, an application: 66 blocks 0.42 and
/// 0.63 ms, 264 0.37 and 0.59, 1056 0.45 and 0.89).
inline constexpr unsigned solve_rows_blocks = 264;

/// Threads of the thread block that factors a group of batched levels; largest number of products
/// of 8 x 8 blocks in a level of it, where the factorisation of a diagonal block counts as
/// `level_row_products`.
template <class T>
constexpr int level_group_threads(int k) {
    return k * int(sizeof(T)) > 128 ? 256 : 512;
}
inline constexpr int max_level_products = 512;
inline constexpr int level_row_products = 16;

}  // namespace tessera::incomplete::cuda
