#pragma once

#include "precond/multigrid/aggregates/node_graph.hpp"

namespace tessera::multigrid {

/// Disjoint sets of nodes that become the nodes of a coarser matrix.
struct Aggregates {
    Buffer<Index> of_node;  ///< The aggregate of each node; -1: none.
    Index count = 0;
    Buffer<Offset> positions;  ///< Per node: number of earlier nodes in aggregates.
    Buffer<Offset> offsets;    ///< Aggregate a has the members offsets[a] .. offsets[a + 1] - 1:
    Buffer<Index> members;     ///< nodes, ascending.
    bool has_dense = false;    ///< Whether there are DenseNodes.
};

/// Aggregates of a symmetric graph: roots, no two of them within two edges of each other and as
/// many as fit, take their neighbours; among the nodes left, roots with at least `second_pass`
/// neighbours left (themselves among them; 0: none) take theirs; the others join the neighbouring
/// aggregate to which their weights sum to most, the first of equal ones. A node without neighbours
/// gets one for itself, or none if it is hardly coupled at all (NodeGraph::alone): smoothing alone
/// reduces its error. Priorities are hashes of node and round, so that the result depends on the
/// graph alone, on both backends. Source: Bell, Dalton and Olson, Exposing fine-grained parallelism
/// in algebraic multigrid methods, SISC 34 (2012); Kelley and Rajamanickam, Parallel, portable
/// algorithms for distance-2 maximal independent set (2022). Waits.
Aggregates aggregate(const Context& context, const NodeGraph& graph, int second_pass);

}  // namespace tessera::multigrid
