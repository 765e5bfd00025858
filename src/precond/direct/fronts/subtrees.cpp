#include "precond/direct/fronts/subtrees.hpp"

#include <algorithm>

namespace tessera::direct {

std::vector<FrontRange> independent_subtrees(const Fronts& fronts, int threads) {
    constexpr double min_operations = 2e6;  // They take about a millisecond.
    constexpr double ranges_per_thread = 4;
    std::vector<double> below(std::size_t(fronts.count()), 0);
    std::vector<Index> first(below.size());
    double total = 0;
    for (Index s = 0; s < fronts.count(); ++s) {
        first[s] = s;
        for (const Index child : fronts.children(s)) {
            below[s] += below[child];
            first[s] = std::min(first[s], first[child]);
        }
        below[s] += fronts.flops(s);
        if (fronts.parent[s] < 0) total += below[s];
    }
    std::vector<FrontRange> ranges;
    if (threads == 1 || total < min_operations) return ranges;
    const double most = total / (ranges_per_thread * threads);
    double operations = 0;  // In the last range.
    for (Index s = 0; s < fronts.count(); ++s) {
        const Index parent = fronts.parent[s];
        // The largest subtrees below the limit.
        if (below[s] > most || (parent >= 0 && below[parent] <= most)) continue;
        const bool joins =
            !ranges.empty() && ranges.back().last == first[s] && operations + below[s] <= most;
        if (joins) {
            ranges.back().last = s + 1;
            operations += below[s];
        } else {
            ranges.push_back({first[s], s + 1});
            operations = below[s];
        }
    }
    return ranges;
}

}  // namespace tessera::direct
