#pragma once

#include "tessera/amg.hpp"
#include "tessera/detail/bsr.hpp"

namespace tessera::multigrid {

/// A view of a NodeGraph.
struct NodeGraphView {
    Index nodes = 0;
    const Offset* row_offsets = nullptr;
    const Index* neighbours = nullptr;
    const float* weights = nullptr;
    const Index* alone = nullptr;
};

/// The strong couplings of the nodes (block rows) of a matrix: neighbours ascending, the node
/// itself among them, each with a weight.
struct NodeGraph {
    Buffer<Offset> row_offsets;
    Buffer<Index> neighbours;
    Buffer<float> weights;  ///< Relative to the couplings of both nodes with themselves.
    /// Per node 1 if no block beside the diagonal one has ||A_ij|| > theta (||A_ii||
    /// ||A_jj||)^(1/2), whatever makes couplings strong, else 0.
    Buffer<Index> alone{};
    Index nodes() const { return Index(row_offsets.size()) - 1; }
    NodeGraphView view() const {
        return {nodes(), row_offsets.data(), neighbours.data(), weights.data(), alone.data()};
    }
};

/// Coordinates in the memory of a Context, `dimensions` numbers per node; may be empty.
struct DeviceCoordinates {
    int dimensions = 3;
    Buffer<double> values;
};

/// The Frobenius norm of each block of a matrix with square blocks.
Buffer<double> block_norms(const Context& context, const BsrView<double>& matrix);

/// The strong couplings of a matrix with square blocks, whose norms are `norms`, with all those on
/// the diagonal. Coordinates are needed by `distance` and `both`. A node that is coupled to no
/// other one has itself as its only neighbour. Waits.
NodeGraph strong_couplings(const Context& context, const BsrView<double>& matrix,
                           const Buffer<double>& norms, AmgStrength strength, double theta,
                           const DeviceCoordinates& coordinates = {});

}  // namespace tessera::multigrid
