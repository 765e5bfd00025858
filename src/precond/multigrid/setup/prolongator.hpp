#pragma once

#include "precond/multigrid/aggregates/aggregation.hpp"

namespace tessera::multigrid {

/// A NearNullSpace in the memory of a Context.
struct DeviceVectors {
    int columns = 1;
    Buffer<double> values;
};

/// The rigid body modes of nodes, whose coordinates are in host memory and in that of the Context.
/// With a communicator the nodes are those of this rank, which may be followed by others in the
/// memory of the Context, and rotations have one centre for all ranks. Collective then.
DeviceVectors rigid_body_vectors(const Context& context, const NodeCoordinates& coordinates,
                                 const DeviceCoordinates& positions,
                                 const Communicator* communicator = nullptr);
/// One vector for each unknown of a node.
DeviceVectors translation_vectors(const Context& context, Index rows, int block);

/// A prolongator without smoothing: node i has one block, in the column of its aggregate, or none.
/// Its columns are orthonormal, and prolongator * coarse.values = the near-null space.
struct TentativeProlongator {
    BsrMatrix<double> prolongator;
    DeviceVectors coarse;
    /// By aggregate and column, 1: the near-null vector depends on those before it in the aggregate
    /// (of one node, or of nodes on a line). The column is zero.
    Buffer<Index> dropped;
};

/// Gram-Schmidt, twice, of the near-null vectors in each aggregate; `block` unknowns per node.
TentativeProlongator tentative_prolongator(const Context& context, const Aggregates& aggregates,
                                           const DeviceVectors& near_null, int block);

/// P = (I - omega / lambda A) T for the tentative T and a matrix A whose diagonal blocks are
/// identities; with `has_dense` without couplings to its DenseNodes. The pattern of P stays if it
/// has one.
void smooth_prolongator(const Context& context, const BsrView<double>& matrix, bool has_dense,
                        const BsrView<double>& tentative, double omega_over_lambda,
                        BsrMatrix<double>& prolongator);

/// Coarse unknowns whose near-null vector was dropped have rows of zeros: they get a diagonal
/// entry, the largest of their block.
void set_dropped(const Context& context, const Buffer<Index>& dropped, BsrMatrix<double>& matrix);

/// The means of the members of each aggregate.
DeviceCoordinates means(const Context& context, const Aggregates& aggregates,
                        const DeviceCoordinates& coordinates);

}  // namespace tessera::multigrid
