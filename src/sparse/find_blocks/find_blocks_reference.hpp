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

/// A pattern, row by row, that answers questions by search.
struct Pattern {
    Index rows;
    const Offset* row_offsets;
    const Index* column_indices;

    bool has(Index i, Index j) const {
        return std::binary_search(column_indices + row_offsets[i],
                                  column_indices + row_offsets[i + 1], j);
    }
    bool starts(Index i) const {  // A supervariable, or that is the end.
        return i == 0 || i == rows ||
               !std::equal(column_indices + row_offsets[i], column_indices + row_offsets[i + 1],
                           column_indices + row_offsets[i - 1], column_indices + row_offsets[i]);
    }
    /// Where a block that starts with row i may end.
    std::vector<Index> ends(Index i, Index bound) const {
        std::vector<Index> found;
        for (Index j = i + 1; j <= std::min(i + bound, rows); ++j) {
            if (starts(j)) found.push_back(j);
        }
        if (found.empty()) found.push_back(i + bound);
        return found;
    }
    /// Nonzeros (i, j) with begin <= i, j < end and min(i, j) < horizon.
    Offset inside(Index begin, Index end, Index horizon) const {
        Offset count = 0;
        for (Index i = begin; i < end; ++i) {
            for (Index j = begin; j < end; ++j) count += std::min(i, j) < horizon && has(i, j);
        }
        return count;
    }
};

/// Blocking::similar as it is defined: from each block start the end of the first block of the
/// partition of the rows up to its stretch's horizon that keeps the most nonzeros whose smaller
/// index is below the horizon; the last block may reach beyond; ties to the larger first block.
inline std::vector<Index> similar_blocks(const Pattern& pattern, Index bound, Index stretch,
                                         Index horizon) {
    std::vector<Index> offsets{0};
    std::vector<Offset> best;
    std::vector<Index> end_of;
    for (Index first = 0; first < pattern.rows; first += stretch) {
        const Index last = std::min(first + horizon, pattern.rows);
        best.assign(std::size_t(last - first + bound), 0);
        end_of.assign(std::size_t(last - first), 0);
        for (Index i = last - 1; i >= first; --i) {
            Offset most = -1;
            for (const Index end : pattern.ends(i, bound)) {
                const Offset sum = pattern.inside(i, end, last) + best[std::size_t(end - first)];
                if (sum >= most) {
                    most = sum;
                    end_of[std::size_t(i - first)] = end;
                }
            }
            best[std::size_t(i - first)] = most;
        }
        const Index next = std::min(first + stretch, pattern.rows);
        while (offsets.back() < next) {
            offsets.push_back(end_of[std::size_t(offsets.back() - first)]);
        }
    }
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
