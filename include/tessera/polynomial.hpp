#pragma once

#include <memory>

#include "tessera/formats.hpp"
#include "tessera/precond.hpp"

namespace tessera {

/// Polynomials s(t) that approximate 1 / t on (0, b] or [a, b], by their residuals
/// R(t) = 1 - t s(t), R(0) = 1, of degree m = degree + 1.
enum class PolynomialKind : std::uint8_t {
    neumann,  ///< R = (1 - omega t)^m, omega = 1 / b, or 2 / (a + b) where a lower end was named.
    /// The least of all integrals of R^2 t^(alpha - 1) (b - t)^beta over [0, b]: the Jacobi
    /// polynomial orthogonal for t^alpha (b - t)^beta (Saad, Iterative Methods, 12.3.3).
    least_squares,
    chebyshev,   ///< The least maximum on [a, b]: T_m((b + a - 2 t) / (b - a)) / T_m((b + a) / (b -
                 ///< a)).
    chebyshev4,  ///< Of the fourth kind, W_m(1 - 2 t / b) / (2 m + 1): least_squares with 1/2,
                 ///< -1/2.
    /// The least maximum of t R^2 / (1 - R^2) on [0, b], in the basis of the fourth kind (Lottes,
    /// Optimal polynomial smoothers for multigrid V-cycles, 2022).
    chebyshev4_optimal,
};
TESSERA_API const char* to_string(PolynomialKind kind);

/// One direction of the recurrence that stands for a polynomial, and for no power of A:
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
TESSERA_API std::vector<PolynomialTerm> polynomial_terms(PolynomialKind kind, int degree,
                                                         double lower, double upper,
                                                         double alpha = 0.5, double beta = -0.5);

/// z = s(A) r for a square operator A, with exactly terms.size() - 1 products; no overlap. The
/// directions of a polynomial follow a recurrence of three terms, so Clenshaw's algorithm sums them
/// with one Operator::apply_step a product. Keeps three vectors, so that one host thread at a time
/// may apply it.
template <class T>
class TESSERA_API MatrixPolynomial final : public Operator<T> {
  public:
    /// `matrix` must outlive it. Throws InvalidArgument unless it is square and there are two terms
    /// or more.
    MatrixPolynomial(const Context& context, const Operator<T>& matrix,
                     const std::vector<PolynomialTerm>& terms);
    Index rows() const override { return matrix_.rows(); }
    Index columns() const override { return matrix_.rows(); }
    void apply(const Context& context, std::span<const T> r, std::span<T> z) const override;
    void set_terms(const std::vector<PolynomialTerm>& terms);
    /// Its three vectors, for what else needs memory between two applications.
    std::span<T> work() const { return work_.view(); }

  private:
    const Operator<T>& matrix_;
    std::vector<RecurrenceStep<T>> steps_;
    mutable Buffer<T> work_;
};

/// Where the upper end b of the spectrum comes from.
enum class UpperEnd : std::uint8_t {
    lanczos,     ///< lanczos(...).upper, at most the Gershgorin bound.
    gershgorin,  ///< gershgorin_bound: never too low.
    given,
};
/// Where the lower end a comes from.
enum class LowerEnd : std::uint8_t {
    ratio,  ///< b over a number.
    ritz,   ///< The smallest Ritz value, which is at least the smallest eigenvalue.
    given,
};
/// What the matrix is scaled with first; see SymmetricScaling.
enum class PolynomialScaling : std::uint8_t { jacobi, block_jacobi, none };

struct PolynomialOptions {
    PolynomialKind kind = PolynomialKind::least_squares;
    /// Products an application, 1..16. Even ones stay positive where b is too low.
    int degree = 6;
    double alpha = 0.5, beta = -0.5;  ///< Of least_squares.
    UpperEnd upper = UpperEnd::lanczos;
    double upper_value = 0;  ///< With UpperEnd::given.
    int lanczos_steps = 20;
    LowerEnd lower = LowerEnd::ratio;
    double lower_value = 30;  ///< The ratio, or the lower end.
    bool uses_lower = false;  ///< Neumann: omega = 2 / (a + b).
    PolynomialScaling scaling = PolynomialScaling::jacobi;
    Index block_bound = default_block_bound;  ///< Natural blocks of at most so many rows.
    bool single_precision = false;  ///< In float, vectors too: for compact bodies to 1e-8.
    /// Of the scaled matrix in products. Rounded values (format.values) beside vectors in full are
    /// those of another matrix, but a symmetric one; they need a format other than csr.
    FormatOptions format{.format = MatrixFormat::csr};
};

/// Of a polynomial preconditioner.
struct PolynomialReport {
    int degree = 0;               ///< 0: it is of another kind.
    double lower = 0, upper = 0;  ///< Of the scaled matrix, as they are used.
    Offset mends = 0;             ///< Times that b was enlarged.
    Index not_positive = 0;       ///< Rows that keep the scaling from being real; the first one:
    Index first_not_positive = -1;
};

/// A preconditioner that can do something about r^T M^-1 r <= 0.
class TESSERA_API Mendable {
  public:
    virtual ~Mendable() = default;
    /// Called by a solver that saw r^T M^-1 r <= 0. True: M was changed, and the solver may go on
    /// with it; what was captured in a graph before stays as it was. Waits.
    virtual bool mend(const Context& context) const = 0;
};

/// z = S^T s(S A S^T) S r, symmetric, for symmetric positive definite A. With `single_precision`
/// and double the scaled residual S r is divided by a power of two near its norm and rounded to
/// float, the polynomial of the rounded matrix applied, and the result brought back.
template <class T>
class TESSERA_API PolynomialPreconditioner final : public Preconditioner<T>, public Mendable {
  public:
    /// Scales, finds the ends of the spectrum; waits. Throws InvalidArgument for options that
    /// cannot be.
    PolynomialPreconditioner(const Context& context, const CsrView<T>& matrix,
                             const PolynomialOptions& options = {});
    ~PolynomialPreconditioner() override;
    Index rows() const override;
    Index columns() const override { return rows(); }
    void apply(const Context& context, std::span<const T> r, std::span<T> z) const override;
    void apply_dot(const Context& context, std::span<const T> r, std::span<T> z,
                   T* rz) const override;
    /// Finds the ends anew.
    void update(const Context& context, const CsrView<T>& matrix) override;
    std::string describe() const override;
    /// Rows that keep the scaling from being real; z is NaN then.
    Index singular_blocks() const override;
    /// b times 1.25, at most the Gershgorin bound; false where it has been reached.
    bool mend(const Context& context) const override;
    PolynomialReport report() const;
    const PolynomialOptions& options() const;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

/// Options from a text: KIND[:DEGREE][,bound=lanczos:K|gershgorin|VALUE]
/// [,lower=ratio:R|ritz|VALUE][,scaling=jacobi|block_jacobi:B|none][,precision=working|f32]
/// [,values=working|f32|f16|bf16][,format=FORMAT[:BLOCK]] (csr, with other values sbell) and for
/// least_squares [,alpha=0.5][,beta=-0.5]. Throws InvalidArgument for another one.
TESSERA_API PolynomialOptions parse_polynomial(Spec preconditioner);

}  // namespace tessera
