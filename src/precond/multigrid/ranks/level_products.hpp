#pragma once

#include "distributed/joined_rows.hpp"
#include "precond/multigrid/setup/prolongator.hpp"

namespace tessera::multigrid {

/// What makes the next level over ranks, own rows of each matrix. Once that is made, their patterns
/// are kept, for updates, and no values.
struct ProductsOverRanks {
    Aggregates aggregates;                           ///< Sets of own nodes.
    std::vector<Offset> starts;                      ///< Where those of each rank begin.
    JoinedRows tentative, prolongator, product;      ///< T, P and A P with the rows of ghosts.
    BsrMatrix<double> own_prolongator, own_product;  ///< P and A P
    Transposed<double> transposed;                   ///< Own columns of P, transposed.
    BsrMatrix<double> transfer;  ///< P with columns in the numbering of the next level.
};

/// Own rows of a level over ranks, scaled so that diagonal blocks are identities.
struct DistributedLevel {
    std::shared_ptr<const Halo> halo;
    BsrMatrix<double> matrix;  ///< S A S^T
    Buffer<double> scaling;    ///< S for own nodes and ghosts.
    double lambda = 0;         ///< Upper bound of the eigenvalues of the whole matrix.
    Offset blocks = 0, prolongator_blocks = 0;  ///< Sums over all ranks.
    ProductsOverRanks products;
};

/// Makes P = (I - omega_over_lambda A) T for the aggregates of a level and its near-null vectors,
/// P^T, and the next matrix P^T A P; where `coarse` has a halo, new values of all of them on their
/// patterns. For A T, A P and P^T (A P) a rank fetches the rows of its ghosts, of T, of P and of
/// A P: its own rows of each product come out complete, in an order of sums that is fixed. Returns
/// the near-null vectors of the next level. Collective; waits.
DeviceVectors make_products(const Context& context, DistributedLevel& level,
                            const DeviceVectors& near_null, double omega_over_lambda,
                            DistributedLevel& coarse);

}  // namespace tessera::multigrid
