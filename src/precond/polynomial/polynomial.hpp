#pragma once

#include <memory>

#include "tessera/formats.hpp"
#include "tessera/polynomial.hpp"
#include "tessera/precond.hpp"

namespace tessera {

/// Source of the upper end b of the spectrum.
enum class UpperBound : std::uint8_t {
    lanczos,     ///< lanczos(...).upper, at most the Gershgorin bound.
    gershgorin,  ///< gershgorin_bound: never too low.
    given,
};
/// Source of the lower end a.
enum class LowerBound : std::uint8_t {
    ratio,  ///< b divided by a number.
    ritz,   ///< The smallest Ritz value, which is at least the smallest eigenvalue.
    given,
};

struct PolynomialOptions {
    PolynomialKind kind = PolynomialKind::least_squares;
    /// Products per application, 1..16. Even degrees stay positive if b is too low.
    int degree = 6;
    double alpha = 0.5, beta = -0.5;  ///< Exponents of least_squares.
    UpperBound upper = UpperBound::lanczos;
    double upper_value = 0;  ///< For UpperBound::given.
    int lanczos_steps = 20;
    LowerBound lower = LowerBound::ratio;
    double lower_value = 30;        ///< The ratio, or the lower end.
    bool uses_lower = false;        ///< Neumann: omega = 2 / (a + b).
    bool is_scaled = true;          ///< The polynomial is that of S A S, S = diag(a_ii)^(-1/2).
    bool single_precision = false;  ///< Matrix and vectors in float: for compact bodies to 1e-8.
    /// Format of the scaled matrix in products. Rounded values (format.values) with vectors in full
    /// precision give another matrix, which is still symmetric; they need a format other than csr.
    FormatOptions format{.format = MatrixFormat::csr};
};

/// Results of the setup; all for the scaled matrix.
struct PolynomialReport {
    int degree = 0;
    double lower = 0, upper = 0;  ///< Ends of the spectrum that are used.
    Offset recoveries = 0;        ///< Number of times that the upper end was raised.
    Index not_positive = 0;       ///< Rows with no real scaling; the first one:
    Index first_not_positive = -1;
};

/// z = S s(S A S) S r, symmetric, for symmetric positive definite A. With `single_precision`
/// and double the scaled residual S r is divided by a power of two near its norm and rounded to
/// float, the polynomial of the rounded matrix applied, and the result scaled back.
template <class T>
class PolynomialPreconditioner final : public Preconditioner<T> {
  public:
    /// Scales, computes the ends of the spectrum; waits. Throws InvalidArgument for invalid
    /// options.
    PolynomialPreconditioner(const Context& context, const CsrView<T>& matrix,
                             const PolynomialOptions& options = {});
    ~PolynomialPreconditioner() override;
    Index rows() const override;
    Index columns() const override { return rows(); }
    void apply(const Context& context, std::span<const T> r, std::span<T> z) const override;
    void apply_vectors(const Context& context, Vectors<const T> r, Vectors<T> z) const override;
    /// Computes the ends anew.
    void update(const Context& context, const CsrView<T>& matrix) override;
    std::string describe() const override;
    /// Number of rows with no real scaling; z is NaN then.
    Index singular_blocks() const override;
    /// Raises b by a quarter, at most to the Gershgorin bound; false if that was reached.
    bool recover(const Context& context, Offset known) const override;
    Offset recoveries() const override { return report().recoveries; }
    PolynomialReport report() const;
    const PolynomialOptions& options() const;

  private:
    PreconditionerReport make_report() const override;
    struct State;
    std::unique_ptr<State> state_;
};

/// Options from a text: KIND[:DEGREE][,bound=lanczos:K|gershgorin|VALUE]
/// [,lower=ratio:R|ritz|VALUE][,scaling=jacobi|none][,precision=working|f32]
/// [,values=working|f32|f16|bf16][,format=FORMAT[:BLOCK]] (csr, with other values sbell) and for
/// least_squares [,alpha=0.5][,beta=-0.5]. Throws InvalidArgument for others.
PolynomialOptions parse_polynomial(Spec preconditioner);

}  // namespace tessera
