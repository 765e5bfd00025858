#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tessera/amg.hpp"
#include "tessera/detail/bsr.hpp"

namespace tessera::multigrid {

/// The strong couplings of the nodes (block rows) of a matrix: neighbours ascending, the node
/// itself among them, each with a weight.
struct NodeGraph {
    std::vector<Offset> row_offsets;
    std::vector<Index> neighbours;
    std::vector<float> weights;  ///< Relative to the couplings of both nodes with themselves.
    Index nodes() const { return Index(row_offsets.size()) - 1; }
};

/// The strong couplings of a matrix in host memory with square blocks. Coordinates are
/// needed by `distance` and `both`. A node that is coupled to no other one has
/// itself as its only neighbour.
template <class T>
NodeGraph strong_couplings(const Context& context, const BsrView<T>& matrix, AmgStrength strength,
                           double theta, const NodeCoordinates& coordinates = {});

}  // namespace tessera::multigrid
