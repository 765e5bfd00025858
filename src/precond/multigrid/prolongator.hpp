#pragma once

#include "precond/multigrid/aggregation.hpp"

namespace tessera::multigrid {

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

/// P = (I - omega / lambda A) T for the tentative T and a matrix A whose diagonal blocks are
/// identities. The pattern of P stays if it has one.
void smooth_prolongator(const Context& context, const BsrView<double>& matrix,
                        const BsrView<double>& tentative, double omega_over_lambda,
                        BsrMatrix<double>& prolongator);

}  // namespace tessera::multigrid
