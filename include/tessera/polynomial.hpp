#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "tessera/operator.hpp"

namespace tessera {

/// Polynomials s(t) that approximate 1 / t on (0, b] or [a, b], by their residuals
/// R(t) = 1 - t s(t), R(0) = 1, of degree m = degree + 1.
enum class PolynomialKind : std::uint8_t {
    neumann,  ///< R = (1 - omega t)^m, omega = 1 / b, or 2 / (a + b) if a lower end is given.
    /// Minimises the integral of R^2 t^(alpha - 1) (b - t)^beta over [0, b]: the Jacobi
    /// polynomial orthogonal for t^alpha (b - t)^beta (Saad, Iterative Methods, 12.3.3).
    least_squares,
    chebyshev,   ///< Minimises max |R| on [a, b]: T_m((b + a - 2 t) / (b - a)) / T_m((b + a) / (b -
                 ///< a)).
    chebyshev4,  ///< Fourth kind: W_m(1 - 2 t / b) / (2 m + 1); least_squares with 1/2, -1/2.
    /// Minimises the maximum of t R^2 / (1 - R^2) on [0, b], in the basis of the fourth kind
    /// (Lottes, Optimal polynomial smoothers for multigrid V-cycles, 2022).
    chebyshev4_optimal,
};
TESSERA_API const char* to_string(PolynomialKind kind);

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
/// those of least_squares; `lower`, below `upper`, is read by chebyshev (0 < lower) and, where it
/// is positive, by neumann. Throws InvalidArgument for other values and degrees outside 1..16.
TESSERA_API std::vector<PolynomialTerm> polynomial_terms(PolynomialKind kind, int degree,
                                                         double lower, double upper,
                                                         double alpha = 0.5, double beta = -0.5);

/// z = s(A) r for a square operator A, with exactly terms.size() - 1 products; no overlap. The
/// directions of a polynomial follow a three-term recurrence, so Clenshaw's algorithm sums them
/// with one Operator::apply_step per product.
template <class T>
class TESSERA_API MatrixPolynomial final : public Operator<T> {
  public:
    /// `matrix` must outlive it. Throws InvalidArgument unless it is square and `terms` has at
    /// least two elements.
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
