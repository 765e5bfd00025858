#pragma once

#include <vector>

#include "base/dispatch.hpp"
#include "base/host_device.hpp"

// How the graph of a matrix grows around some of its nodes (rows).
namespace tessera {

inline constexpr int growth_samples = 32;  ///< Nodes, evenly spread.
inline constexpr int max_distance = 128;   ///< In edges.
inline constexpr int max_growth_nodes = 4'000;
inline constexpr Offset max_growth_entries = 1'000'000;  ///< Against nodes of many neighbours.

/// The pattern of a matrix in the memory of a Context.
struct GraphView {
    Index rows = 0;
    const Offset* row_offsets = nullptr;
    const Index* neighbours = nullptr;

    /// Whether row i has the neighbours of the row before, as rows of one node have: one of them is
    /// enough, because both are met together. In host memory; looks at the first and last of them.
    bool repeats(Index i) const {
        if (i == 0) return false;
        const Offset before = row_offsets[i - 1], begin = row_offsets[i], end = row_offsets[i + 1];
        return begin < end && begin - before == end - begin &&
               neighbours[before] == neighbours[begin] &&
               neighbours[begin - 1] == neighbours[end - 1];
    }
};

/// The nodes within some edges of a node.
struct Growth {
    /// By distance, from 0 on: as far as there are at most max_growth_nodes, which have at most
    /// max_growth_entries entries.
    Index within[max_distance + 1];
    int distances;
    int ended;  ///< Whether there are no further nodes.
};

/// The sample with a number.
TESSERA_HOST_DEVICE inline Index growth_start(Index rows, int sample) {
    return Index(Offset(rows) * (2 * sample + 1) / (2 * growth_samples));
}

/// The graph does not grow through rows with more entries, ten times the mean, which join distant
/// nodes as a constraint or a supply does.
TESSERA_HOST_DEVICE inline Offset max_row_entries(const GraphView& graph) {
    return 10 * graph.row_offsets[graph.rows] / graph.rows;
}

TESSERA_BACKENDS(
    /// How the graph grows around each sample, on a CPU around some of them. Waits.
    std::vector<Growth> grow(const Context& context, const GraphView& graph);)

/// log2(B(2 r) / B(r)) for the largest 2 r for which B(2 r), the nodes within 2 r edges, is known;
/// the median over the samples.
double graph_dimension(const Context& context, const GraphView& graph);

}  // namespace tessera
