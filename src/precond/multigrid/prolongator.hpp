#pragma once

#include "precond/multigrid/aggregation.hpp"

namespace tessera::multigrid {

/// `columns` vectors that the matrix maps to almost nothing, such as rigid body modes: entry (i, c)
/// is values[i * columns + c], i a row of the matrix.
struct NearNullSpace {
    int columns = 1;
    std::vector<double> values;
};

/// Translations and rotations of nodes in 2 or 3 dimensions: 3 or 6 vectors. `coordinates`:
/// `dimensions` numbers per node.
NearNullSpace rigid_body_modes(const std::vector<double>& coordinates, int dimensions);
/// One vector for each of the `block` unknowns of a node: 1 there, 0 elsewhere.
NearNullSpace translations(Index nodes, int block);

/// A prolongator without smoothing: node i has one block, in the column of its aggregate. Its
/// columns are orthonormal, and prolongator * coarse.values = the near-null space.
struct TentativeProlongator {
    BsrMatrix<double> prolongator;
    NearNullSpace coarse;
    /// By aggregate and column: the near-null vector depends on those before it in the aggregate
    /// (of one node, or of nodes on a line). The column is zero.
    std::vector<bool> dropped;
    Index dropped_count = 0;
};

/// Gram-Schmidt, twice, of the near-null vectors in each aggregate; `block` unknowns per node.
TentativeProlongator tentative_prolongator(const Context& context, const Aggregates& aggregates,
                                           const NearNullSpace& near_null, int block);

/// P = (I - omega / lambda D^-1 A) T for the tentative T; D^-1 block by block, row-major.
BsrMatrix<double> smoothed_prolongator(const Context& context, const BsrView<double>& matrix,
                                       const std::vector<double>& inverse_diagonal,
                                       const BsrView<double>& tentative, double omega_over_lambda);

}  // namespace tessera::multigrid
