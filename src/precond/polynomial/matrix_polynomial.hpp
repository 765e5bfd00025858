#pragma once

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
/// with one Operator::apply_step per product. Has three work vectors, so that only one host thread
/// at a time may apply it.
template <class T>
class MatrixPolynomial final : public Operator<T> {
  public:
    /// `matrix` must outlive it. Throws InvalidArgument unless it is square and there are at least
    /// two terms.
    MatrixPolynomial(const Context& context, const Operator<T>& matrix,
                     const std::vector<PolynomialTerm>& terms);
    Index rows() const override { return matrix_.rows(); }
    Index columns() const override { return matrix_.rows(); }
    void apply(const Context& context, std::span<const T> r, std::span<T> z) const override;
    void set_terms(const std::vector<PolynomialTerm>& terms);
    /// The three work vectors; reusable as scratch between applications.
    std::span<T> work() const { return work_.view(); }

  private:
    const Operator<T>& matrix_;
    std::vector<RecurrenceStep<T>> steps_;
    mutable Buffer<T> work_;
};

}  // namespace tessera
