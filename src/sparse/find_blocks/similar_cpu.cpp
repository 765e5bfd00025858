#include "sparse/find_blocks/similar_cpu.hpp"

#include <algorithm>
#include <bit>

#include "base/parallel.hpp"

namespace tessera::cpu {

namespace {

constexpr Index window = 64;  ///< Rows of the largest block.

/// The nonzeros of a stretch's rows and columns near the diagonal.
struct Band {
    /// Bit t: there is a nonzero in this row, t + 1 columns to the right of the diagonal.
    std::uint64_t right[similar_horizon] = {};
    /// Bit t: there is a nonzero in this column, t + 1 rows below the diagonal.
    std::uint64_t below[similar_horizon] = {};
};

void fill_band(const CsrPattern& pattern, Index first, Index last, Band& band) {
    const Index end = Index(std::min<Offset>(Offset(last) + window - 1, pattern.rows));
    for (Index i = first; i < end; ++i) {
        const Index* const row_end = pattern.column_indices + pattern.row_offsets[i + 1];
        const Index* column = std::lower_bound(pattern.column_indices + pattern.row_offsets[i],
                                               row_end, Index(i - (window - 1)));
        for (; column < row_end && *column - i < window; ++column) {
            const Index j = *column;
            if (j > i && i < last) {
                band.right[i - first] |= std::uint64_t(1) << (j - i - 1);
            } else if (j < i && j >= first && j < last) {
                band.below[j - first] |= std::uint64_t(1) << (i - j - 1);
            }
        }
    }
}

void find_stretch(const CsrPattern& pattern, const StartMask& mask, Index bound, Index first,
                  std::uint8_t* steps) {
    const Index rows = pattern.rows;
    const Index last = Index(std::min<Offset>(Offset(first) + similar_horizon, rows));
    const Index written = Index(std::min<Offset>(Offset(first) + similar_stretch, rows));
    Band band;
    fill_band(pattern, first, last, band);
    // kept[t]: nonzeros inside a block of the t + 1 rows from the present one on, without the
    // diagonal. best[r]: inside all blocks from row first + r on.
    Index kept[window] = {};
    Index best[similar_horizon + window] = {};
    for (Index row = last - 1; row >= first; --row) {
        const std::uint64_t right = band.right[row - first];
        const std::uint64_t below = band.below[row - first];
        Index before = kept[0];  // Of the row behind, one row shorter.
        Index more = 0;          // Nonzeros of this row and this column.
        for (Index t = 1; t < bound; ++t) {
            more += Index((right >> (t - 1)) & 1) + Index((below >> (t - 1)) & 1);
            const Index now = before + more;
            before = kept[t];
            kept[t] = now;
        }
        Index most = -1;
        Index step = 0;
        for (std::uint64_t ends = mask.ends(row, bound); ends != 0; ends &= ends - 1) {
            const Index t = std::countr_zero(ends);
            const Index sum = kept[t] + best[row - first + 1 + t];
            if (sum >= most) {
                most = sum;
                step = t + 1;
            }
        }
        best[row - first] = most;
        if (row < written) steps[row] = std::uint8_t(step);
    }
}

}  // namespace

std::vector<std::uint8_t> similar_steps(const Context& context, const CsrPattern& pattern,
                                        const StartMask& mask, Index bound) {
    std::vector<std::uint8_t> steps(std::size_t(pattern.rows));
    const Offset stretches = (Offset(pattern.rows) + similar_stretch - 1) / similar_stretch;
    parallel_ranges(
        context.threads(), stretches,
        [&](Offset first, Offset last) {
            for (Offset stretch = first; stretch < last; ++stretch) {
                find_stretch(pattern, mask, bound, Index(stretch * similar_stretch), steps.data());
            }
        },
        4);
    return steps;
}

}  // namespace tessera::cpu
