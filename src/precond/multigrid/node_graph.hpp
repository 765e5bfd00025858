#pragma once

#include <cstdint>
#include <string>
#include <vector>

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

/// What makes a coupling strong.
enum class Strength : std::uint8_t {
    frobenius,  ///< ||A_ij|| > theta sqrt(||A_ii|| ||A_jj||), Frobenius norms.
    distance,   ///< w_ij > theta sqrt(w_i w_j), w_ij = |x_i - x_j|^-2, w_i the sum over j != i.
    both,       ///< Strong by both; weights are those of the distance.
};

/// The strong couplings of a matrix in host memory with square blocks. `coordinates`: `dimensions`
/// numbers per node, which `distance` and `both` need. A node that is coupled to no other one has
/// itself as its only neighbour.
template <class T>
NodeGraph strong_couplings(const Context& context, const BsrView<T>& matrix, Strength strength,
                           double theta, const std::vector<double>& coordinates = {},
                           int dimensions = 3);

}  // namespace tessera::multigrid
