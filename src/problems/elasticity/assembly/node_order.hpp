#pragma once

#include "problems/elasticity/elements/elements.hpp"

/// The order in which the nodes of a mesh become rows of its system.
namespace tessera::elasticity {

/// The order of the mesh; where that puts nodes of one element far apart, as mesh generators do
/// that number corners before the middles of edges, and the matrix is too large for caches, the
/// order along a space-filling curve (Morton's). Products of the matrix, and of the coarser ones of
/// multigrid, then find what they need in caches.
std::vector<Index> order_nodes(const Elements& elements);

/// Nodes by their rows in a system whose unknowns are numbered.
struct NodeOrder {
    /// The nodes with unknowns come first, by ascending rows.
    explicit NodeOrder(const System& system, int dimensions);

    Index with_rows = 0;        ///< So many nodes have unknowns.
    std::vector<Index> nodes;   ///< By place.
    std::vector<Index> places;  ///< By node.
};

}  // namespace tessera::elasticity
