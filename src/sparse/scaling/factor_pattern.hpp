#pragma once

#include "base/host_device.hpp"
#include "tessera/types.hpp"

namespace tessera {

/// The patterns of the block diagonal factor S (lower triangles) and its transpose (upper ones),
/// which have as many entries.
struct FactorPatterns {
    Offset* lower_offsets;
    Offset* upper_offsets;
    Index* lower_columns;
    Index* upper_columns;
};

TESSERA_HOST_DEVICE inline Offset triangle(Offset size) { return size * (size + 1) / 2; }

/// Every `step`-th row from row `i` on of the block of rows first .. first + size - 1; `before`:
/// entries of the blocks before it. The offset behind the last row is left out.
TESSERA_HOST_DEVICE inline void fill_factor_pattern(const FactorPatterns& to, Index first,
                                                    Index size, Offset before, Index i,
                                                    Index step) {
    for (; i < size; i += step) {
        const Offset lower = before + triangle(i);
        const Offset upper = before + triangle(size) - triangle(size - i);
        to.lower_offsets[first + i] = lower;
        to.upper_offsets[first + i] = upper;
        for (Index j = 0; j <= i; ++j) to.lower_columns[lower + j] = first + j;
        for (Index j = i; j < size; ++j) to.upper_columns[upper + (j - i)] = first + j;
    }
}

}  // namespace tessera
