#include "tessera/polynomial.hpp"

#include "base/checks.hpp"
#include "base/scratch/scratch.hpp"

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
            step.gamma = -terms[k + 2].residual * above.previous / above.residual;
        }
        const double top = terms[m - 1].weight;
        if (k + 2 == m) {
            step = {step.alpha * top, step.beta * top + step.delta, 0, 0};
        } else if (k + 3 == m) {
            step = {step.alpha, step.beta, 0, step.delta + step.gamma * top};
        }
        const double scale = k == 0 ? term.residual : 1;
        steps.push_back({T(scale * step.alpha), T(scale * step.beta), T(scale * step.gamma),
                         T(scale * step.delta)});
    }
    return steps;
}

}  // namespace

template <class T>
MatrixPolynomial<T>::MatrixPolynomial(const Operator<T>& matrix,
                                      const std::vector<PolynomialTerm>& terms)
    : matrix_(matrix) {
    require(matrix.rows() == matrix.columns(), "MatrixPolynomial: the operator must be square");
    set_terms(terms);
}

template <class T>
void MatrixPolynomial<T>::set_terms(const std::vector<PolynomialTerm>& terms) {
    require(terms.size() >= 2, "MatrixPolynomial: give two terms or more");
    for (const PolynomialTerm& term : terms) {
        require(term.residual != 0, "MatrixPolynomial: the residual coefficient of a term is zero");
    }
    auto steps = std::make_shared<const Steps>(clenshaw<T>(terms));
    const std::lock_guard lock(mutex_);
    steps_ = std::move(steps);
}

template <class T>
auto MatrixPolynomial<T>::steps() const -> std::shared_ptr<const Steps> {
    const std::lock_guard lock(mutex_);
    return steps_;
}

template <class T>
void MatrixPolynomial<T>::apply(const Context& context, std::span<const T> r,
                                std::span<T> z) const {
    apply_vectors(context, one_vector(r), one_vector(z));
}

template <class T>
void MatrixPolynomial<T>::apply_vectors(const Context& context, Vectors<const T> r,
                                        Vectors<T> z) const {
    check_vectors("MatrixPolynomial", "r", r, rows());
    check_vectors("MatrixPolynomial", "z", z, rows());
    require(r.count == z.count, "MatrixPolynomial: the numbers of vectors differ");
    const std::shared_ptr<const Steps> steps = this->steps();
    const Offset size = Offset(rows()) * r.count;
    const Scratch<T> first(context, size), second(context, size), product(context, size);
    const auto vectors = [&](const Scratch<T>& memory) {
        return Vectors<T>{memory.data(), rows(), r.count, rows()};
    };
    Vectors<T> next = vectors(first), other = vectors(second);
    Vectors<const T> x = r;
    for (std::size_t k = 0; k + 1 < steps->size(); ++k) {
        matrix_.apply_step_vectors(context, (*steps)[k], x, next, r, next, vectors(product));
        x = next;
        std::swap(next, other);
    }
    matrix_.apply_step_vectors(context, steps->back(), x, next, r, z, vectors(product));
}

template class MatrixPolynomial<float>;
template class MatrixPolynomial<double>;

}  // namespace tessera
