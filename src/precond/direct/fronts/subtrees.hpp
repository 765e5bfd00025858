#pragma once

#include <vector>

#include "precond/direct/analysis/fronts.hpp"

namespace tessera::direct {

/// Fronts first .. last - 1, whole subtrees of the tree of fronts.
struct FrontRange {
    Index first, last;
};

/// Disjoint ranges of subtrees for threads to work on at the same time, in ascending order; the
/// fronts in none of them are near the roots. Empty where threads do not pay.
std::vector<FrontRange> independent_subtrees(const Fronts& fronts, int threads);

}  // namespace tessera::direct
