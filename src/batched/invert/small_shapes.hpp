#pragma once

namespace tessera::batched {

/// How matrices of one size, or of one register width, are spread over a warp.
struct SmallShape {
    int lanes;          ///< A matrix, a power of two.
    int rows;           ///< A lane.
    int thread_blocks;  ///< Of four warps, a multiprocessor, that registers are limited for.
    /// Whether each step looks at its pivot at once; if not, the warp repeats its matrices when one
    /// was not well inside the range.
    bool careful;
};

/// The fastest ones; double, float. Written by bench/tune_kernels.py from measurements on an H200;
/// see docs/decisions/batched-inversion-gpu.md. Those of doubles from 25 rows on are for lists of
/// TESSERA_TILES that leave out the size; else invert_panels.cuh does it.
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

/// Rows of the largest matrices that may be inverted by one thread each.
inline constexpr int most_lane_rows = 10;

/// Thread blocks of four warps a multiprocessor, that registers are limited for, of the kernel that
/// inverts matrices of n rows by one thread each; 0 where the one of small_shape is faster. Double,
/// float. Written by bench/tune_kernels.py, too.
template <class T, int n>
constexpr int lane_thread_blocks() {
    // clang-format off
    constexpr int lane_table[most_lane_rows][2] = {{5, 5}, {4, 12}, {4, 4}, {4, 4}, {3, 4}, {3, 4}, {3, 3}, {2, 3}, {0, 3}, {0, 3}};
    // clang-format on
    return n > most_lane_rows ? 0 : lane_table[n - 1][sizeof(T) == 8 ? 0 : 1];
}

}  // namespace tessera::batched
