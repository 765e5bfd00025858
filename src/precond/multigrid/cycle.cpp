#include "precond/multigrid/cycle.hpp"

#include <algorithm>

#include "base/checks.hpp"
#include "base/scratch/scratch.hpp"
#include "precond/multigrid/setup/coarsest_rows.hpp"

namespace tessera::multigrid {

namespace {

/// Makes the matrix, or updates the values of an existing one.
template <class C>
void set_distributed(const Context& context, const BsrView<double>& matrix, const Halo* halo,
                     ValueFormat values, std::unique_ptr<DistributedMatrix<C>>& distributed) {
    if (distributed) return distributed->update(context, matrix);
    distributed = std::make_unique<DistributedMatrix<C>>(context, matrix, halo, values);
}

}  // namespace

template <class C>
const Operator<C>& Cycle<C>::set_matrix(const Context& context, std::size_t l,
                                        const BsrView<double>& matrix, ValueFormat values,
                                        const Halo* halo) {
    if (l == levels_.size()) levels_.emplace_back();
    Level& level = levels_[l];
    level.rows = matrix.block_rows * matrix.height;
    if (level.matrix && level.matrix->values() != values) release_matrix(l);
    set_distributed<C>(context, matrix, halo, values, level.matrix);
    return *level.matrix;
}

template <class C>
void Cycle<C>::release_matrix(std::size_t level) {
    levels_[level].smoother.reset();  // It refers to the matrix.
    levels_[level].matrix.reset();
}

template <class C>
void Cycle<C>::set_prolongator(const Context& context, std::size_t l,
                               const BsrView<double>& prolongator, const Halo* coarse_halo) {
    set_distributed<C>(context, prolongator, coarse_halo, ValueFormat::working,
                       levels_[l].prolongator);
}

template <class C>
void Cycle<C>::set_restriction(const Context& context, std::size_t l,
                               const BsrView<double>& restriction, const Halo* halo) {
    set_distributed<C>(context, restriction, halo, ValueFormat::working, levels_[l].restriction);
}

template <class C>
void Cycle<C>::set_bound(std::size_t level, double bound) {
    const auto terms = polynomial_terms(PolynomialKind::chebyshev4_optimal, steps_ - 1, 0, bound);
    auto& smoother = levels_[level].smoother;
    if (smoother) {
        smoother->set_terms(terms);
    } else {
        smoother = std::make_unique<MatrixPolynomial<C>>(*levels_[level].matrix, terms);
    }
}

template <class C>
void Cycle<C>::set_inverse(const Context& context, const Buffer<double>& inverse, Index n) {
    if (levels_.empty() || levels_.back().prolongator) levels_.emplace_back().rows = n;
    inverse_ = CsrMatrix<C>(context, n, n, inverse.size());
    if (n == 0) {
        copy_from_host<Offset>(context, std::vector<Offset>{0}, inverse_.row_offsets().view());
    }
    for_each_index(context, inverse.size(),
                   WriteRows<C>{n, inverse.data(), inverse_.row_offsets().data(),
                                inverse_.column_indices().data(), inverse_.values().data()});
    coarsest_ = std::make_unique<CsrOperator<C>>(context, inverse_.view());
}

template <class C>
void Cycle<C>::set_coarsest(std::unique_ptr<Operator<C>> coarsest) {
    if (levels_.empty() || levels_.back().prolongator) levels_.emplace_back();
    levels_.back().rows = coarsest->rows();
    coarsest_ = std::move(coarsest);
}

template <class C>
Buffer<C> Cycle<C>::prolongated(const Context& context, std::size_t level,
                                const Buffer<C>& coarse) const {
    Buffer<C> fine(context, levels_[level].rows);
    levels_[level].prolongator->apply(context, coarse.view(), fine.view());
    return fine;
}

template <class C>
Buffer<C> Cycle<C>::smooth_vector(const Context& context, C* energy) const {
    const Index n = levels_.back().rows;
    Buffer<C> b(context, n), z(context, n);
    fill_normal(context, 1, b.view());
    coarsest_->apply(context, std::as_const(b).view(), z.view());
    dot<C>(context, b.view(), z.view(), energy);  // z^T A z = z^T b
    for (std::size_t l = levels_.size() - 1; l-- > 0;) z = prolongated(context, l, z);
    return z;
}

template <class C>
double Cycle<C>::smallest_eigenvalue(const Context& context) const {
    Buffer<C> products(context, 2);
    const Buffer<C> z = smooth_vector(context, products.data());
    dot<C>(context, z.view(), z.view(), products.data() + 1);
    const auto found = copy_to_host(context, products);
    return double(found[0]) / double(found[1]);
}

template <class C>
ValueFormat Cycle<C>::values() const {
    const auto& matrix = levels_.front().matrix;
    return matrix ? matrix->values() : ValueFormat::working;
}

template <class C>
Offset Cycle<C>::work_bytes(int count, std::size_t l) const {
    const auto vectors = [&](std::size_t level, int number) {
        return number * scratch_bytes(Offset(levels_[level].rows) * count * Offset(sizeof(C)));
    };
    const bool last = l + 1 == levels_.size();
    if (last && coarsest_) return 0;
    const Offset smoother = vectors(l, 3);
    if (last) return smoother;
    return vectors(l, 2) + vectors(l + 1, 2) + std::max(smoother, work_bytes(count, l + 1));
}

template <class C>
void Cycle<C>::apply_vectors(const Context& context, Vectors<const C> b, Vectors<C> z) const {
    check_vectors("amg", "b", b, rows());
    check_vectors("amg", "z", z, rows());
    require(b.count == z.count, "amg: b has ", b.count, " vectors, z has ", z.count);
    cycle(context, 0, b, z);
}

template <class C>
void Cycle<C>::cycle(const Context& context, std::size_t l, Vectors<const C> b,
                     Vectors<C> z) const {
    const Level& level = levels_[l];
    if (l + 1 == levels_.size()) {
        if (coarsest_) return coarsest_->apply_vectors(context, b, z);
        return level.smoother->apply_vectors(context, b, z);
    }
    const int count = b.count;
    const Index rows = level.rows, coarse_rows = levels_[l + 1].rows;
    const Scratch<C> residuals(context, Offset(rows) * count),
        corrections(context, Offset(rows) * count), right(context, Offset(coarse_rows) * count),
        solutions(context, Offset(coarse_rows) * count);
    const Vectors<C> r{residuals.data(), rows, count, rows},
        work{corrections.data(), rows, count, rows},
        coarse_b{right.data(), coarse_rows, count, coarse_rows},
        coarse_z{solutions.data(), coarse_rows, count, coarse_rows};
    const RecurrenceStep<C> residual{C(-1), C(0), C(0), C(1)};  // r = b - A z
    level.smoother->apply_vectors(context, b, z);
    level.matrix->apply_step_vectors(context, residual, z, b, b, r, work);
    level.restriction->apply_vectors(context, r, coarse_b);
    cycle(context, l + 1, coarse_b, coarse_z);
    for (int j = 0; j < count; ++j) {
        level.prolongator->add_product(context, coarse_z[j], z[j]);
    }
    level.matrix->apply_step_vectors(context, residual, z, b, b, r, work);
    level.smoother->apply_vectors(context, r, work);
    for (int j = 0; j < count; ++j) axpby<C>(context, C(1), work[j], C(1), z[j]);
}

template class Cycle<float>;
template class Cycle<double>;

}  // namespace tessera::multigrid
