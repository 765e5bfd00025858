#pragma once

#include "precond/multigrid/dense_cholesky.hpp"
#include "precond/multigrid/prolongator.hpp"
#include "tessera/operator.hpp"

namespace tessera::multigrid {

struct Options {
    Strength strength = Strength::both;  ///< Without coordinates frobenius.
    double theta = 0.02;                 ///< Bound of strong couplings, on every level.
    /// Least neighbours of roots in the second pass; 0: none, -1: 3 in rows of more than 20 blocks,
    /// and where there is one near-null vector, else 9.
    int second_pass = -1;
    int smoothing_steps = 2;   ///< Before and after the coarse correction, 1..4.
    Index coarse_rows = 1500;  ///< A level of no more rows is solved directly.
    int max_levels = 10;
    double omega = 4. / 3;       ///< Of the smoothed prolongator, over the largest eigenvalue.
    double lambda_factor = 1.1;  ///< Safeguard of the bounds of the spectrum.
};

/// A level of a hierarchy: its matrix and what leads to the next one.
struct Level {
    BsrMatrix<double> matrix;
    std::vector<double> inverse_diagonal;  ///< Of each diagonal block, row-major.
    double lambda = 0;                     ///< Bound of the spectrum of D^-1 A.
    Aggregates aggregates;
    std::vector<bool> dropped;  ///< Of the prolongator, as in TentativeProlongator.
    BsrMatrix<double> prolongator;
    TripleProduct<double> products;  ///< P^T, A P and, moved to the next level, P^T A P.
    Index nodes() const { return matrix.view().block_rows; }
    Index rows() const { return nodes() * matrix.view().height; }
};

/// Smoothed aggregation for a symmetric positive definite matrix; on the CPU. Source: Vanek, Mandel
/// and Brezina, Algebraic multigrid by smoothed aggregation for second and fourth order elliptic
/// problems, Computing 56 (1996).
class Hierarchy final : public Operator<double> {
  public:
    /// `near_null`: as many rows as the matrix. `coordinates`: `dimensions` per node, or empty.
    Hierarchy(const Context& context, BsrMatrix<double> matrix, const NearNullSpace& near_null,
              const std::vector<double>& coordinates, int dimensions, const Options& options);

    Index rows() const override { return levels_.front().rows(); }
    Index columns() const override { return rows(); }
    /// A V-cycle from z = 0: a symmetric positive definite approximation of A^-1 r.
    void apply(const Context& context, std::span<const double> r,
               std::span<double> z) const override;
    /// Values of another matrix on the same pattern; aggregates and prolongators stay. If it throws
    /// after the pattern was compared, there is no hierarchy any more.
    void update(const Context& context, BsrMatrix<double> matrix);

    const std::vector<Level>& levels() const { return levels_; }
    /// Stored entries of all levels over those of the first.
    double operator_complexity() const;
    const std::vector<std::string>& warnings() const { return warnings_; }

  private:
    bool coarsen(const Context& context, NearNullSpace& near_null, std::vector<double>& coordinates,
                 int dimensions);
    void set_smoother(const Context& context, Level& level);
    std::vector<std::vector<double>> free_modes(const std::vector<double>& dense) const;
    Index set_coarsest();
    void cycle(const Context& context, std::size_t level, std::span<const double> b,
               std::span<double> x) const;

    Options options_;
    std::vector<Level> levels_;
    NearNullSpace coarsest_near_null_;
    DenseCholesky coarsest_;
    bool complete_ = false;
    std::vector<std::string> warnings_;
};

}  // namespace tessera::multigrid
