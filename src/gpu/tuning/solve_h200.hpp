#pragma once

/// Launch shapes of solves with the matrices themselves (batched/solve), as measured on an H200
/// (docs/decisions/batched-solve.md); blocks are thread blocks of four warps per multiprocessor
/// (launch bounds).
namespace tessera::cuda {

inline constexpr int system_warps = 4;  ///< Warps of solve_small_kernel.

/// Equations of the largest systems that are solved by one thread each.
template <class T>
constexpr int max_system_per_thread(bool pivoting) {
    if (pivoting) return sizeof(T) == 8 ? 10 : 14;
    return sizeof(T) == 8 ? 13 : 16;
}
/// Blocks of solve_per_thread_kernel.
template <class T>
constexpr int thread_system_blocks(int n, bool pivoting) {
    if (sizeof(T) == 8) return n <= 4 ? 5 : n <= 6 ? 4 : n <= 8 ? 3 : 2;
    if (pivoting) return n <= 4 ? 8 : n <= 6 ? 6 : n <= 8 ? 4 : n <= 10 ? 3 : 2;
    return n <= 6 ? 6 : n <= 8 ? 4 : n <= 12 ? 3 : 2;
}

/// Mapping of systems to a warp.
struct SystemShape {
    int lanes;  ///< Per system, a power of two.
    int rows;   ///< Per lane.
    int thread_blocks;
};
constexpr SystemShape system_shape_of(int n, int lanes, int thread_blocks) {
    return {lanes, (n + lanes - 1) / lanes, thread_blocks};
}
/// Shapes of solve_small_kernel for n rows, and for any number of rows up to `tile`.
template <class T>
constexpr SystemShape system_shape(int n, bool pivoting) {
    if (!pivoting && sizeof(T) == 8) {
        if (n <= 16) return system_shape_of(n, 4, 4);
        if (n > 28) return system_shape_of(n, 16, 4);
        return system_shape_of(n, 8, n <= 20 ? 4 : n <= 24 ? 3 : 2);
    }
    if (!pivoting) {
        if (n <= 20) return system_shape_of(n, 4, 5);
        if (n <= 24) return system_shape_of(n, 4, 3);
        return n <= 28 ? system_shape_of(n, 8, 4) : system_shape_of(n, 4, 2);
    }
    if (sizeof(T) == 8) {
        if (n <= 12) return {4, 3, 4};
        if (n <= 16) return {8, 2, 4};
        if (n <= 20) return {8, 3, 3};
        if (n <= 24) return {8, 3, 2};
        return {16, 2, 3};
    }
    if (n <= 16) return {4, 4, 4};
    if (n <= 20) return {4, 5, 3};
    if (n <= 24) return {8, 3, 4};
    return {16, 2, 4};
}
template <class T>
constexpr SystemShape any_system_shape(int tile, bool pivoting) {
    if (!pivoting) return {8, tile / 8, tile <= 16 ? 4 : 2};
    if (tile == 8) return {4, 2, sizeof(T) == 8 ? 4 : 6};
    if (tile == 16) return {8, 2, sizeof(T) == 8 ? 3 : 5};
    if (tile == 24) return {8, 3, sizeof(T) == 8 ? 2 : 3};
    return {16, 2, sizeof(T) == 8 ? 2 : 4};
}

}  // namespace tessera::cuda
