#pragma once

#include <memory>
#include <vector>

#include "distributed/matrix.hpp"
#include "tessera/detail/bsr.hpp"
#include "tessera/formats.hpp"
#include "tessera/polynomial.hpp"

namespace tessera::multigrid {

/// A V-cycle z = M b from z = 0, symmetric positive definite, for matrices whose diagonal blocks
/// are identities, so that polynomials of them smooth. Values and vectors are of type C, in the
/// memory of a Context; matrices and prolongators are sliced. Where halos are given, which must
/// outlive it, the levels are over ranks: matrices have own rows and the columns of a numbering.
template <class C>
class Cycle final : public Operator<C> {
  public:
    /// `steps`: products in the smoother, before and after the coarse correction (its residual
    /// among them), 2 or more.
    explicit Cycle(int steps) : steps_(steps) {}

    /// The matrix of a level, which may be the next one; a level that has a matrix takes others of
    /// its pattern. With another type of values it needs its bound again.
    const Operator<C>& set_matrix(const Context& context, std::size_t level,
                                  const BsrView<double>& matrix, ValueFormat values,
                                  const Halo* halo = nullptr);
    /// Releases the matrix of a level until it is set again, with its bound.
    void release_matrix(std::size_t level);
    bool has_matrix(std::size_t level) const { return levels_[level].matrix != nullptr; }
    /// Sets the prolongator from the next level, whose halo it takes; likewise.
    void set_prolongator(const Context& context, std::size_t level,
                         const BsrView<double>& prolongator, const Halo* coarse_halo = nullptr);
    /// Sets the restriction to the next level; likewise.
    void set_restriction(const Context& context, std::size_t level,
                         const BsrView<double>& restriction, const Halo* halo = nullptr);
    /// Sets an upper bound of the eigenvalues of the matrix of a level.
    void set_bound(std::size_t level, double bound);
    /// The inverse of the matrix of the last level, n x n numbers.
    void set_inverse(const Context& context, const Buffer<double>& inverse, Index n);
    /// An approximation of that inverse in its place.
    void set_coarsest(std::unique_ptr<Operator<C>> coarsest);
    /// An estimate, from above, of the smallest eigenvalue of the first matrix: the Rayleigh
    /// quotient of the vector whose coarsest part solves for a random right-hand side. Needs an
    /// inverse.
    double smallest_eigenvalue(const Context& context) const;
    /// This vector z, and in the memory of the Context its energy z^T A z. Likewise.
    Buffer<C> smooth_vector(const Context& context, C* energy) const;
    /// The prolongation of a vector of the next level to this one.
    Buffer<C> prolongated(const Context& context, std::size_t level, const Buffer<C>& coarse) const;
    /// Type of the values of its matrices; working if the first level is solved directly.
    ValueFormat values() const;
    /// Levels with a matrix or an inverse. Without an inverse the last one is only smoothed.
    std::size_t size() const { return levels_.size(); }

    /// Work space that an application to some vectors takes.
    Offset work_bytes(int count, std::size_t level = 0) const;

    Index rows() const override { return levels_.front().rows; }
    Index columns() const override { return rows(); }
    void apply(const Context& context, std::span<const C> b, std::span<C> z) const override {
        apply_vectors(context, one_vector(b), one_vector(z));
    }
    void apply_vectors(const Context& context, Vectors<const C> b, Vectors<C> z) const override;

  private:
    struct Level {
        Index rows = 0;
        std::unique_ptr<DistributedMatrix<C>> matrix, prolongator, restriction;
        std::unique_ptr<MatrixPolynomial<C>> smoother;
    };
    void cycle(const Context& context, std::size_t level, Vectors<const C> b, Vectors<C> z) const;

    int steps_;
    std::vector<Level> levels_;
    CsrMatrix<C> inverse_;
    std::unique_ptr<Operator<C>> coarsest_;
};

}  // namespace tessera::multigrid
