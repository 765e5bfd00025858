#pragma once

#include <mutex>

#include "precond/polynomial/polynomial.hpp"

namespace tessera {

/// A term of the recurrence for a polynomial, which avoids powers of A:
///   d_1 = residual_1 r,  z_1 = weight_1 d_1,  r_0 = r;  for k = 2 .. degree + 1:
///   r_(k-1) = r_(k-2) - A d_(k-1),  d_k = previous_k d_(k-1) + residual_k r_(k-1),
///   z_k = z_(k-1) + weight_k d_k.
/// `residual` is not 0.
struct PolynomialTerm {
    double previous = 0;
    double residual = 1;
    double weight = 1;
};

/// The degree + 1 terms of s on (0, upper] or [lower, upper]. `alpha` > 0 and `beta` >= -1/2 are
/// those of least_squares; `lower` is read by chebyshev (0 < lower < upper) and, where it is
/// positive, by neumann. Throws InvalidArgument for other numbers and degrees beyond 1..16.
std::vector<PolynomialTerm> polynomial_terms(PolynomialKind kind, int degree, double lower,
                                             double upper, double alpha = 0.5, double beta = -0.5);

/// z = s(A) r for a square operator A, with exactly terms.size() - 1 products; no overlap. The
/// directions of a polynomial follow a three-term recurrence, so Clenshaw's algorithm sums them
/// with one Operator::apply_step per product.
template <class T>
class MatrixPolynomial final : public Operator<T> {
  public:
    /// `matrix` must outlive it. Throws InvalidArgument unless it is square and there are at least
    /// two terms.
    MatrixPolynomial(const Operator<T>& matrix, const std::vector<PolynomialTerm>& terms);
    Index rows() const override { return matrix_.rows(); }
    Index columns() const override { return matrix_.rows(); }
    void apply(const Context& context, std::span<const T> r, std::span<T> z) const override;
    void apply_vectors(const Context& context, Vectors<const T> r, Vectors<T> z) const override;
    /// Other threads that apply the polynomial meanwhile use the old terms or the new ones.
    void set_terms(const std::vector<PolynomialTerm>& terms);

  private:
    using Steps = std::vector<RecurrenceStep<T>>;
    std::shared_ptr<const Steps> steps() const;

    const Operator<T>& matrix_;
    mutable std::mutex mutex_;  ///< Guards steps_, the pointer.
    std::shared_ptr<const Steps> steps_;
};

}  // namespace tessera
