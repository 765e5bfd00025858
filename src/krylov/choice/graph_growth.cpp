#include "krylov/choice/graph_growth.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace tessera {

namespace cpu {

std::vector<Growth> grow(const Context&, const GraphView& graph) {
    // So few that they take little beside the products of a solve.
    const int stride = graph.rows < 64'000 ? 4 : graph.rows < 256'000 ? 2 : 1;
    const Offset max_entries = max_row_entries(graph);
    std::vector<int> seen(std::size_t(graph.rows), -1);
    std::vector<Growth> all;
    for (int sample = 0; sample < growth_samples; sample += stride) {
        Growth& growth = all.emplace_back();
        std::vector<Index> nodes{growth_start(graph.rows, sample)};
        while (graph.repeats(nodes[0])) --nodes[0];
        seen[std::size_t(nodes[0])] = sample;
        Offset entries = 0;
        bool fits = true;
        growth.within[0] = 1;
        growth.distances = 1;
        for (std::size_t first = 0; first < nodes.size() && growth.distances <= max_distance;) {
            for (const std::size_t last = nodes.size(); fits && first < last; ++first) {
                const Index i = nodes[first];
                if (graph.repeats(i)) continue;
                const Offset neighbours = graph.row_offsets[i + 1] - graph.row_offsets[i];
                //   grid of 300 x 300, 90 nodes joined to one  exact 0.13 s, taken for a random
                //                                              graph 0.43 s
                if (neighbours > max_entries) continue;
                entries += neighbours;
                fits = entries <= max_growth_entries && nodes.size() <= max_growth_nodes;
                for (Offset k = graph.row_offsets[i]; fits && k < graph.row_offsets[i + 1]; ++k) {
                    const Index j = graph.neighbours[k];
                    if (std::exchange(seen[std::size_t(j)], sample) != sample) nodes.push_back(j);
                }
            }
            fits = fits && nodes.size() <= max_growth_nodes;
            if (!fits) break;
            growth.within[growth.distances++] = Index(nodes.size());
            growth.ended = first == nodes.size();
        }
    }
    return all;
}

}  // namespace cpu

double graph_dimension(const Context& context, const GraphView& graph) {
    std::vector<double> found;
    for (const Growth& growth : TESSERA_RUN(grow, context, graph)) {
        const int r = (growth.distances - 1) / 2;
        const double unknown =
            growth.ended != 0 ? 0 : std::numeric_limits<double>::infinity();  // A small component.
        found.push_back(r == 0 ? unknown
                               : std::log2(double(growth.within[2 * r]) / growth.within[r]));
    }
    const std::size_t middle = found.size() / 2;
    std::ranges::nth_element(found, found.begin() + std::ptrdiff_t(middle));
    return found[middle];
}

}  // namespace tessera
