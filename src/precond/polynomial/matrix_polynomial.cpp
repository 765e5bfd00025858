#include "base/dispatch.hpp"
#include "tessera/polynomial.hpp"
#include "tessera/vector_ops.hpp"

namespace tessera {

template <class T>
MatrixPolynomial<T>::MatrixPolynomial(const Context& context, const Operator<T>& matrix,
                                      std::vector<PolynomialTerm> terms)
    : matrix_(matrix), work_(context, 3 * Offset(matrix.rows())) {
    require(matrix.rows() == matrix.columns(), "MatrixPolynomial: the operator must be square");
    set_terms(std::move(terms));
}

template <class T>
void MatrixPolynomial<T>::set_terms(std::vector<PolynomialTerm> terms) {
    require(terms.size() >= 2, "MatrixPolynomial: give two terms or more");
    terms_ = std::move(terms);
}

template <class T>
void MatrixPolynomial<T>::apply(const Context& context, std::span<const T> x,
                                std::span<T> z) const {
    const std::size_t n = std::size_t(rows());
    require(x.size() == n && z.size() == n, "MatrixPolynomial: sizes differ");
    const std::span<T> r = work_.view().first(n), d = work_.view().subspan(n, n);
    const std::span<T> q = work_.view().last(n);
    // The first direction is x times a number, which the second step takes in.
    const PolynomialTerm& first = terms_[0];
    matrix_.apply(context, x, q);
    const PolynomialTerm& second = terms_[1];
    const bool done = terms_.size() == 2;
    recurrence_step<T>(context,
                       {T(first.residual), T(second.previous * first.residual), T(second.residual),
                        T(first.weight * first.residual), T(second.weight)},
                       q, x, x, x, done ? std::span<T>() : r, done ? std::span<T>() : d, z);
    for (std::size_t k = 2; k < terms_.size(); ++k) {
        const PolynomialTerm& term = terms_[k];
        const bool last = k + 1 == terms_.size();
        matrix_.apply(context, d, q);
        recurrence_step<T>(context,
                           {T(1), T(term.previous), T(term.residual), T(1), T(term.weight)}, q, r,
                           d, z, last ? std::span<T>() : r, last ? std::span<T>() : d, z);
    }
}

template class MatrixPolynomial<float>;
template class MatrixPolynomial<double>;

}  // namespace tessera
