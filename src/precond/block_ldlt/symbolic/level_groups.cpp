#include "precond/block_ldlt/symbolic/level_groups.hpp"

#include <algorithm>

#include "precond/block_ldlt/symbolic/split_rows.hpp"

namespace tessera::block_ldlt {

namespace {

/// Products of 8 x 8 blocks that a batched level has at most, and what the factorisation of a
/// diagonal block counts for. Measured: see docs/decisions/block-ldlt.md.
constexpr Offset max_products = 512;
constexpr Offset row_products = 16;

}  // namespace

std::vector<LevelGroup> find_level_groups(const BlockPattern& pattern, Index k) {
    std::vector<LevelGroup> groups;
    const Offset tile = std::max(1, k / 8);
    const auto length = [](const std::vector<Offset>& offsets, Offset i, Offset j) {
        return offsets[std::size_t(j)] - offsets[std::size_t(i)];
    };
    for (Index l = 0; l < pattern.levels(); ++l) {
        const Offset first = pattern.level_offsets[std::size_t(l)];
        const Offset last = pattern.level_offsets[std::size_t(l) + 1];
        const Offset begin = pattern.column_offsets[std::size_t(first)];
        const Offset end = pattern.column_offsets[std::size_t(last)];
        const Offset products = (last - first) * row_products + (end - begin) +
                                length(pattern.row_offsets, first, last) +
                                length(pattern.triple_offsets, begin, end);
        bool batched = products * tile * tile <= max_products;
        for (Offset i = first; i < last && batched; ++i) {
            batched = length(pattern.row_offsets, i, i + 1) <= longest_piece;
        }
        for (Offset b = begin; b < end && batched; ++b) {
            batched = length(pattern.triple_offsets, b, b + 1) <= longest_piece;
        }
        if (groups.empty() || groups.back().batched != batched) groups.push_back({l, l, batched});
        groups.back().last = l + 1;
    }
    return groups;
}

}  // namespace tessera::block_ldlt
