#pragma once

#include <algorithm>
#include <vector>

#include "tessera/types.hpp"

namespace tessera::reference {

/// Supervariable blocking as it is defined: rows with equal patterns, one after the other, form a
/// supervariable; each is cut every `bound` rows; the pieces are joined, first come first served,
/// while their rows stay within `bound`. Returns the block offsets.
inline std::vector<Index> find_blocks(Index rows, const Offset* row_offsets,
                                      const Index* column_indices, Index bound, bool agglomerate) {
    const auto equal_patterns = [&](Index i, Index j) {
        return std::equal(column_indices + row_offsets[i], column_indices + row_offsets[i + 1],
                          column_indices + row_offsets[j], column_indices + row_offsets[j + 1]);
    };
    std::vector<Index> pieces;  // Sizes of the cut supervariables.
    for (Index first = 0, last = 0; first < rows; first = last) {
        while (last < rows && equal_patterns(first, last)) ++last;
        for (Index left = last - first; left > 0; left -= bound) {
            pieces.push_back(std::min(left, bound));
        }
    }
    std::vector<Index> offsets{0};
    Index size = 0;  // Rows of the block that is still open.
    for (const Index piece : pieces) {
        if (size > 0 && (!agglomerate || size + piece > bound)) {
            offsets.push_back(offsets.back() + size);
            size = 0;
        }
        size += piece;
    }
    if (size > 0) offsets.push_back(offsets.back() + size);
    return offsets;
}

/// Groups of consecutive blocks of at most `rows` rows together, first come first served; a larger
/// block is a group of its own. Returns the first block of each group, and the number of blocks.
inline std::vector<Index> group_blocks(const std::vector<Index>& block_offsets, Index rows) {
    const Index count = Index(block_offsets.size()) - 1;
    std::vector<Index> groups{0};
    for (Index b = 0; b < count; ++b) {
        const Index begin = block_offsets[std::size_t(groups.back())];
        if (b > groups.back() && block_offsets[std::size_t(b) + 1] - begin > rows) {
            groups.push_back(b);
        }
    }
    if (count > 0) groups.push_back(count);
    return groups;
}

}  // namespace tessera::reference
