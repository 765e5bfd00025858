#pragma once

// Written by tune_kernels.py from measurements; see docs/decisions/batched-invert.md.

namespace tessera::batched {

/// How matrices of up to `Tile` rows are spread over a warp: lanes a matrix (a power of two), rows
/// a lane, and the thread blocks of four warps a multiprocessor that registers are limited for.
struct SmallShape {
    int lanes, rows, thread_blocks;
};

template <class T, int Tile>
constexpr SmallShape small_shape() {
    constexpr bool f64 = sizeof(T) == 8;
    switch (Tile) {
        case 2:
            return f64 ? SmallShape{1, 2, 8} : SmallShape{1, 2, 9};
        case 4:
            return f64 ? SmallShape{1, 4, 8} : SmallShape{1, 4, 9};
        case 6:
            return f64 ? SmallShape{2, 3, 6} : SmallShape{1, 6, 7};
        case 8:
            return f64 ? SmallShape{2, 4, 5} : SmallShape{4, 2, 9};
        case 10:
            return f64 ? SmallShape{2, 5, 3} : SmallShape{2, 5, 6};
        case 12:
            return f64 ? SmallShape{4, 3, 4} : SmallShape{4, 3, 8};
        case 14:
            return f64 ? SmallShape{4, 4, 3} : SmallShape{4, 4, 5};
        case 16:
            return f64 ? SmallShape{4, 4, 3} : SmallShape{4, 4, 5};
        case 18:
            return f64 ? SmallShape{4, 5, 2} : SmallShape{4, 5, 4};
        case 20:
            return f64 ? SmallShape{4, 5, 2} : SmallShape{4, 5, 4};
        case 22:
            return f64 ? SmallShape{8, 3, 3} : SmallShape{8, 3, 5};
        case 24:
            return f64 ? SmallShape{8, 3, 2} : SmallShape{8, 3, 5};
        case 26:
            return f64 ? SmallShape{16, 2, 3} : SmallShape{16, 2, 5};
        case 28:
            return f64 ? SmallShape{16, 2, 3} : SmallShape{16, 2, 5};
        case 30:
            return f64 ? SmallShape{16, 2, 3} : SmallShape{16, 2, 5};
        default:
            return f64 ? SmallShape{16, 2, 3} : SmallShape{16, 2, 5};
    }
}

}  // namespace tessera::batched
