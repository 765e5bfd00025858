#pragma once

#include <algorithm>

#include "tessera/factor.hpp"

/// Launch shapes of the batched operations as measured on an H200 (docs/decisions/batched-*.md).
/// Threads are per thread block; blocks are thread blocks per multiprocessor, for which registers
/// are limited.
namespace tessera::cuda {

// Inversion (batched/invert).

inline constexpr int small_warps = 4;       ///< Warps of invert_small_kernel.
inline constexpr int empty_threads = 256;   ///< Threads of empty_kernel.
inline constexpr int per_thread_warps = 4;  ///< Warps of invert_per_thread_kernel.
inline constexpr int panel_warps = 4;       ///< Warps of invert_panels_kernel.
inline constexpr int panel_blocks = 4;      ///< Blocks of it, as many as registers allow.

/// Mapping of matrices of one size, or of one register width, to a warp.
struct SmallShape {
    int lanes;          ///< Per matrix, a power of two.
    int rows;           ///< Per lane.
    int thread_blocks;  ///< Thread blocks of four warps per multiprocessor (launch bound).
    /// Whether each step checks its pivot; if not, the warp repeats its matrices with checks when a
    /// pivot was outside the fast range.
    bool checked;
};

/// The fastest shapes; double, float. Written by bench/tune_kernels.py from measurements on an
/// H200; see docs/decisions/batched-inversion-gpu.md. Doubles from 25 rows on use invert_panels
/// unless TESSERA_TILES leaves out the size.
template <class T, int Tile>
constexpr SmallShape small_shape() {
    // clang-format off
    constexpr SmallShape table[32][2] = {
        {{1, 2, 8, false}, {1, 2, 8, false}},  // 1
        {{2, 1, 10, false}, {1, 2, 8, false}},  // 2
        {{2, 2, 10, false}, {2, 2, 10, false}},  // 3
        {{2, 2, 10, false}, {2, 2, 10, false}},  // 4
        {{2, 3, 6, false}, {2, 3, 10, false}},  // 5
        {{2, 3, 6, false}, {2, 3, 10, false}},  // 6
        {{2, 4, 5, false}, {2, 4, 8, false}},  // 7
        {{2, 4, 4, false}, {2, 4, 8, false}},  // 8
        {{2, 5, 3, false}, {2, 5, 6, false}},  // 9
        {{2, 5, 3, false}, {2, 5, 5, true}},  // 10
        {{4, 3, 3, false}, {2, 6, 4, true}},  // 11
        {{4, 3, 3, false}, {4, 3, 6, true}},  // 12
        {{4, 4, 3, false}, {4, 4, 5, true}},  // 13
        {{4, 4, 3, false}, {4, 4, 5, true}},  // 14
        {{8, 2, 5, true}, {4, 4, 5, true}},  // 15
        {{4, 4, 3, true}, {4, 4, 4, false}},  // 16
        {{4, 5, 2, false}, {4, 5, 4, true}},  // 17
        {{4, 5, 2, false}, {4, 5, 3, false}},  // 18
        {{4, 5, 2, false}, {4, 5, 3, false}},  // 19
        {{4, 5, 2, false}, {4, 5, 3, false}},  // 20
        {{8, 3, 3, false}, {8, 3, 4, false}},  // 21
        {{8, 3, 3, true}, {8, 3, 4, false}},  // 22
        {{8, 3, 2, false}, {8, 3, 4, true}},  // 23
        {{8, 3, 2, false}, {8, 3, 4, false}},  // 24
        {{16, 2, 3, true}, {4, 7, 2, false}},  // 25
        {{16, 2, 3, false}, {4, 7, 2, false}},  // 26
        {{16, 2, 3, false}, {4, 7, 2, false}},  // 27
        {{16, 2, 3, false}, {4, 7, 2, true}},  // 28
        {{16, 2, 3, false}, {8, 4, 3, false}},  // 29
        {{16, 2, 3, true}, {16, 2, 4, false}},  // 30
        {{16, 2, 3, false}, {16, 2, 4, true}},  // 31
        {{16, 2, 3, false}, {16, 2, 4, true}},  // 32
    };
    // clang-format on
    return table[Tile - 1][sizeof(T) == 8 ? 0 : 1];
}

/// Rows of the largest matrices that may be inverted by one thread per matrix.
inline constexpr int max_per_thread_rows = 10;

/// Launch bound (thread blocks of four warps per multiprocessor) of invert_per_thread_kernel for n
/// rows; 0: not used, invert_small_kernel is faster. Double, float. Written by
/// bench/tune_kernels.py, too.
template <class T, int n>
constexpr int per_thread_launch_bound() {
    // clang-format off
    constexpr int per_thread_table[max_per_thread_rows][2] = {{5, 5}, {4, 12}, {4, 4}, {4, 4}, {3, 4}, {3, 4}, {3, 3}, {2, 3}, {0, 3}, {0, 3}};
    // clang-format on
    return n > max_per_thread_rows ? 0 : per_thread_table[n - 1][sizeof(T) == 8 ? 0 : 1];
}

// Factorisations and solves (batched/factor, batched/solve).

inline constexpr int factor_threads = 128;
inline constexpr int factor_large_blocks = 1;  ///< More than 32 rows, one matrix per thread block.

/// Whether matrices of up to `width` rows are faster in shared memory than in registers.
template <class Method, class T>
constexpr bool prefers_shared_memory(int width) {
    return sizeof(T) == 8 && Method::full && width >= 16 &&
           Method::kind != batched::Factorisation::llt;
}

/// Rows per lane, in registers, for matrices of up to `width` rows.
template <class Method>
constexpr int rows_per_lane(int width) {
    return Method::full ? 1 : width == 4 || width == 32 ? 2 : 4;
}

/// Blocks of factor_kernel with rows in shared memory.
inline constexpr int factor_shared_blocks = 8;
/// Blocks of factor_kernel with one row per lane in registers.
constexpr int factor_blocks(int row_bytes) { return row_bytes > 128 ? 4 : row_bytes > 64 ? 6 : 8; }
/// Blocks of factor_rotating_kernel.
template <class T>
constexpr int factor_rotating_blocks(int width) {
    if (width == 32) return sizeof(T) == 4 ? 5 : 3;
    return width * int(sizeof(T)) >= 128 ? 3 : width * int(sizeof(T)) == 64 ? 4 : 8;
}

/// Blocks of ldlt_kernel, of one warp or as many threads as a matrix has.
template <class T>
constexpr int ldlt_blocks(int threads) {
    return threads > 32 ? 4 : sizeof(T) == 8 ? 16 : 20;
}
/// Rows of the largest matrices with one lane each, with two, four, eight, and with a warp; larger
/// ones have a thread block.
struct LdltSizes {
    int one, two, four, eight, warp;
};
template <class T>
constexpr LdltSizes ldlt_sizes() {
    return sizeof(T) == 8 ? LdltSizes{8, 13, 20, 32, 64} : LdltSizes{11, 19, 28, 32, 64};
}

/// Rows of the largest matrices that are factored by one thread each.
template <class T>
constexpr int max_factor_per_thread(batched::Factorisation kind, batched::Pivoting pivoting) {
    if (kind == batched::Factorisation::llt) return 16;
    if (pivoting == batched::Pivoting::fixed) return sizeof(T) == 8 ? 13 : 16;
    return sizeof(T) == 8 ? 11 : 14;
}
/// Blocks of factor_per_thread_kernel, of four warps.
template <class T>
constexpr int thread_factor_blocks(int n, batched::Factorisation kind) {
    if (sizeof(T) == 8) return n <= 4 ? 5 : n <= 6 ? 3 : 2;
    if (kind == batched::Factorisation::llt) return n <= 8 ? 6 : n <= 12 ? 3 : 2;
    return n <= 4 ? 8 : n <= 6 ? 6 : n <= 8 ? 4 : n <= 10 ? 3 : 2;
}

// Norms and products (gpu/matrix_pipeline.cuh, gpu/staged_batch.cuh).

/// Lanes per matrix of n rows; double, float. Few, so that tiles are 4 to 16 KiB, but with few bank
/// conflicts.
inline constexpr int pipeline_lanes[32][2] = {
    {1, 1},  {1, 1},  {1, 1},  {2, 1},  {1, 1},  {1, 1},  {1, 1},  {4, 2},
    {2, 1},  {2, 1},  {2, 1},  {8, 2},  {4, 2},  {4, 2},  {4, 2},  {8, 4},
    {8, 8},  {8, 8},  {16, 8}, {8, 8},  {8, 8},  {16, 8}, {16, 8}, {16, 16},
    {16, 8}, {16, 8}, {16, 8}, {16, 8}, {16, 8}, {16, 8}, {16, 8}, {16, 8},
};

/// Stages per warp.
constexpr int pipeline_stages(int stage_bytes) { return stage_bytes < 3500 ? 4 : 2; }
/// Warps per thread block of at most some 40 KiB: five or six fill a multiprocessor.
constexpr int pipeline_warps(int warp_bytes) { return std::clamp(40 * 1024 / warp_bytes, 1, 4); }
inline constexpr int pipeline_sm_warps = 20;  ///< Warps per multiprocessor (launch bound).

inline constexpr int vectors_per_pass = 4;        ///< Right-hand sides per pass of multiply_kernel.
inline constexpr int staged_threads = 128;        ///< Threads with teams of one warp.
inline constexpr int staged_block_threads = 256;  ///< Threads with one team per thread block.
constexpr int staged_blocks(int team) { return team == 32 ? 8 : 4; }

// Plans (batched/plan).

inline constexpr int sort_warps = 8;
inline constexpr int sort_rounds = 8;  ///< Rounds of 32 consecutive sizes per warp.

}  // namespace tessera::cuda
