#pragma once

#include "precond/block_jacobi/storage/block_formats.hpp"

namespace tessera {

/// Whether an inverse whose largest magnitude is `largest` may be kept in `format`: its rounding
/// errors, at most unit_roundoff ||X||, change the preconditioned matrix by at most
/// unit_roundoff / reciprocal_condition, which stays below `accuracy`; and the largest value is in
/// the range of normal numbers, so that no error exceeds unit_roundoff * largest.
TESSERA_HOST_DEVICE inline bool fits_format(BlockFormat format, double reciprocal_condition,
                                            double largest, double accuracy) {
    return unit_roundoff(format) < accuracy * reciprocal_condition &&
           largest >= smallest_normal(format) && largest <= largest_finite(format);
}

/// The first of f16, bf16, f32, truncated_f64 that fits, else T itself.
template <class T>
TESSERA_HOST_DEVICE inline BlockFormat smallest_format(double reciprocal_condition, double largest,
                                                       double accuracy) {
    constexpr BlockFormat candidates[] = {BlockFormat::f16, BlockFormat::bf16, BlockFormat::f32,
                                          BlockFormat::truncated_f64};
    constexpr int count = sizeof(T) == 8 ? 4 : 2;
    for (int c = 0; c < count; ++c) {
        if (fits_format(candidates[c], reciprocal_condition, largest, accuracy)) {
            return candidates[c];
        }
    }
    return sizeof(T) == 8 ? BlockFormat::f64 : BlockFormat::f32;
}

/// Whether a block may stay in the format that it is kept in; T itself always does.
template <class T>
TESSERA_HOST_DEVICE inline bool keeps_format(BlockFormat format, double reciprocal_condition,
                                             double largest, double accuracy) {
    constexpr BlockFormat working = sizeof(T) == 8 ? BlockFormat::f64 : BlockFormat::f32;
    return format == working || fits_format(format, reciprocal_condition, largest, accuracy);
}

/// Units of 8 bytes that a block of `rows` rows takes.
TESSERA_HOST_DEVICE inline Offset stored_units(Index rows, BlockFormat format) {
    return (Offset(rows) * rows * bytes_of(format) + 7) / 8;
}

}  // namespace tessera
