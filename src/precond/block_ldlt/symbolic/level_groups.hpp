#pragma once

#include <vector>

#include "precond/block_ldlt/symbolic/block_pattern.hpp"
#include "precond/block_ldlt/symbolic/pattern_view.hpp"

namespace tessera::block_ldlt {

// On a GPU a level costs four launches at least. Consecutive levels with little work are batched:
// one thread block does them all, one after the other.

/// The levels first .. last - 1; batched, or each by launches of its own.
struct LevelGroup {
    Index first, last;
    bool batched;
};

/// All levels, batched ones in groups as long as they can be.
std::vector<LevelGroup> find_level_groups(const BlockPattern& pattern, Index k);

}  // namespace tessera::block_ldlt
