#pragma once

#include "base/host_device.hpp"
#include "distributed/halo.hpp"
#include "tessera/amg.hpp"
#include "tessera/detail/bsr.hpp"

namespace tessera::multigrid {

/// The nodes with very many blocks in their rows: hubs of a graph, or averages over all unknowns.
/// Through them all nodes are near each other, and coarse matrices full. They are aggregates of
/// their own, and their rows of prolongators are not smoothed.
struct DenseNodes {
    Index nodes;  ///< Those after them, ghosts, count as others.
    const Offset* row_offsets;
    Offset max_blocks;  ///< Other nodes have at most so many.

    explicit DenseNodes(const BsrView<double>& matrix);
    TESSERA_HOST_DEVICE bool operator()(Offset i) const {
        return i < nodes && row_offsets[i + 1] - row_offsets[i] > max_blocks;
    }
};

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
    bool has_dense = false;  ///< Whether there are DenseNodes.
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
/// other one has itself as its only neighbour, and so have DenseNodes, which are not alone. With a
/// halo the matrix has own rows and the columns of its numbering, and coordinates are those of all
/// of its nodes: couplings to ghosts count in sums, but are none of the graph. Collective then.
/// Waits.
NodeGraph strong_couplings(const Context& context, const BsrView<double>& matrix,
                           const Buffer<double>& norms, AmgStrength strength, double theta,
                           const DeviceCoordinates& coordinates = {}, const Halo* halo = nullptr);

}  // namespace tessera::multigrid
