#include "base/dispatch.hpp"
#include "tessera/polynomial.hpp"

namespace tessera {

namespace {

/// Clenshaw's algorithm. Without the residuals the directions of the terms 1 .. m are
///   d_(k+1) = (previous_(k+1) + residual_(k+1) / residual_k) d_k - residual_(k+1) A d_k
///             - (residual_(k+1) previous_k / residual_k) d_(k-1),  d_0 = 0,
/// so that with b_m = weight_m r and, down to k = 1, b_k = weight_k r + (the first factor) b_(k+1)
/// - residual_(k+1) A b_(k+1) - (the last factor for k + 2) b_(k+2), the sum is residual_1 b_1.
/// The first step has r in the place of b_m, the second one in that of b_(k+2).
template <class T>
std::vector<RecurrenceStep<T>> clenshaw(const std::vector<PolynomialTerm>& terms) {
    const std::size_t m = terms.size();
    std::vector<RecurrenceStep<T>> steps;
    for (std::size_t k = m - 1; k-- > 0;) {
        const PolynomialTerm &term = terms[k], &above = terms[k + 1];
        RecurrenceStep<double> step{
            -above.residual, above.previous + above.residual / term.residual, 0, term.weight};
        if (k + 2 < m) {
            step.before = -terms[k + 2].residual * above.previous / above.residual;
        }
        const double top = terms[m - 1].weight;
        if (k + 2 == m) {
            step = {step.product * top, step.own * top + step.given, 0, 0};
        } else if (k + 3 == m) {
            step = {step.product, step.own, 0, step.given + step.before * top};
        }
        const double scale = k == 0 ? term.residual : 1;
        steps.push_back({T(scale * step.product), T(scale * step.own), T(scale * step.before),
                         T(scale * step.given)});
    }
    return steps;
}

}  // namespace

template <class T>
MatrixPolynomial<T>::MatrixPolynomial(const Context& context, const Operator<T>& matrix,
                                      const std::vector<PolynomialTerm>& terms)
    : matrix_(matrix), work_(context, 3 * Offset(matrix.rows())) {
    require(matrix.rows() == matrix.columns(), "MatrixPolynomial: the operator must be square");
    set_terms(terms);
}

template <class T>
void MatrixPolynomial<T>::set_terms(const std::vector<PolynomialTerm>& terms) {
    require(terms.size() >= 2, "MatrixPolynomial: give two terms or more");
    for (const PolynomialTerm& term : terms) {
        require(term.residual != 0, "MatrixPolynomial: a term has no part of the residual");
    }
    steps_ = clenshaw<T>(terms);
}

template <class T>
void MatrixPolynomial<T>::apply(const Context& context, std::span<const T> r,
                                std::span<T> z) const {
    const std::size_t n = std::size_t(rows());
    require(r.size() == n && z.size() == n, "MatrixPolynomial: sizes differ");
    std::span<T> here = work_.view().first(n), other = work_.view().subspan(n, n);
    const std::span<T> work = work_.view().last(n);
    std::span<const T> x = r;
    for (std::size_t k = 0; k < steps_.size(); ++k) {
        const std::span<T> next = k + 1 < steps_.size() ? here : z;
        matrix_.apply_step(context, steps_[k], x, here, r, next, work);
        x = here;
        std::swap(here, other);
    }
}

template class MatrixPolynomial<float>;
template class MatrixPolynomial<double>;

}  // namespace tessera
