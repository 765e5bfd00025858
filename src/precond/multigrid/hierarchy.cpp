#include "precond/multigrid/hierarchy.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/checks.hpp"
#include "base/concat.hpp"
#include "base/phases.hpp"
#include "base/zeros.hpp"
#include "precond/multigrid/blocks/block_scaling.hpp"
#include "precond/multigrid/blocks/for_each_block.hpp"
#include "precond/multigrid/level_setup.hpp"
#include "precond/multigrid/setup/coarsest.hpp"
#include "tessera/spectrum.hpp"

namespace tessera::multigrid {

namespace {

/// The last level is solved directly if it has at most this many rows, or
/// AmgOptions::coarse_rows; a larger one is smoothed.
constexpr Index max_dense_rows = 2000;

/// P^T becomes S P^T, S the scaling of the next level, and P the transpose of that. Sets both in a
/// cycle; of each matrix `release` is called after its use.
template <class C, class Release>
void set_transfers(const Context& context, std::size_t l, const Buffer<double>& scaling,
                   BsrMatrix<double>& p, Transposed<double>& transposed, Cycle<C>& cycle,
                   Release&& release) {
    const BsrView<double> blocks = std::as_const(transposed.matrix).view();
    for_each_block(context, blocks, transposed.matrix.values().data(),
                   ScaleRows{blocks.height, blocks.width, scaling.data()});
    cycle.set_restriction(context, l, blocks);
    transpose_values_back(context, transposed, p);
    release(transposed.matrix);
    cycle.set_prolongator(context, l, std::as_const(p).view());
    release(p);
}

}  // namespace

template <class C>
Hierarchy<C>::Hierarchy(const Context& context, BsrMatrix<double> matrix, const AmgOptions& options,
                        double rounding, FirstMatrix again)
    : options_(options),
      rounding_(rounding),
      first_matrix_(std::move(again)),
      cycle_(options.smoothing_steps),
      values_(first_values(context, matrix.view(), options)) {
    require(matrix.view().block_rows == matrix.view().block_columns &&
                matrix.view().height == matrix.view().width,
            "amg: the matrix and its blocks must be square");
    check_options(matrix.view().block_rows, options);
    levels_.emplace_back(std::move(matrix));
    DeviceCoordinates coordinates = coordinates_of(context, options);
    DeviceVectors space =
        near_null_space(context, levels_.front().matrix.view(), options, coordinates);
    const auto scale_last = [&] {
        norms_ = Buffer<double>(context, levels_.back().matrix.blocks());
        scale_level(context, levels_.size() - 1, space);
    };
    scale_last();
    while (levels_.back().rows() > options_.coarse_rows &&
           int(levels_.size()) < options_.max_levels && coarsen(context, space, coordinates)) {
        scale_last();
    }
    norms_ = {};
    setup_warnings_ = warnings_.size();
    finish(context, std::move(space));
}

/// Replaces values in 16 bits that are not precise enough, unless the options name them. Bounds and
/// prolongators stay those of the rounded matrix.
template <class C>
void Hierarchy<C>::choose_values(const Context& context) {
    if (options_.values || cycle_.values() == ValueFormat::working) return;
    const Phase phase(context, "setup: values", 0, PhaseStep::setup);
    if (ends_directly() && cycle_.smallest_eigenvalue(context) >= min_eigenvalue_for_f16(context)) {
        return;
    }
    values_ = ValueFormat::working;
    if (!has_first_matrix()) levels_.front().matrix = scaled_first_matrix(context);
    for (std::size_t l = 0; l + (solves_last_level() ? 1 : 0) < levels_.size(); ++l) {
        cycle_.set_matrix(context, l, levels_[l].matrix.view(), values_);
        cycle_.set_bound(l, levels_[l].lambda);
    }
}

/// Scales the matrix of a level, its near-null space and the prolongator to it.
template <class C>
void Hierarchy<C>::scale_level(const Context& context, std::size_t l, DeviceVectors& near_null) {
    const Phase phase(context, "setup: scaling", 0, PhaseStep::setup);
    Level& level = levels_[l];
    // A body that can move and has become one node has a diagonal block of rounding errors. They
    // are relative to the diagonal of the finer matrix, which is 1.
    const double pivot_error = l == 0 ? 0 : 64 * rounding_;
    if (scale_matrix(context, level.matrix, level.scaling, pivot_error, l, norms_)) {
        singular_ = true;
    }
    scale_near_null(context, level.matrix.view(), level.scaling, near_null);
    if (l == 0) return;
    TripleProduct<double>& products = levels_[l - 1].products;
    if (!cycle_.has_matrix(l - 1)) {
        cycle_.set_matrix(context, l - 1, levels_[l - 1].matrix.view(), values_);
        cycle_.set_bound(l - 1, levels_[l - 1].lambda);
    }
    set_transfers(context, l - 1, level.scaling, products.p, products.transposed, cycle_,
                  [&](BsrMatrix<double>& matrix) { release(matrix); });
    if (!keeps_patterns_) products = {};
}

/// Releases a matrix of products; not its pattern if that is kept for updates.
template <class C>
void Hierarchy<C>::release(BsrMatrix<double>& matrix) const {
    if (keeps_patterns_) {
        matrix.values() = {};
    } else {
        matrix = {};
    }
}

/// The first scaled matrix, made anew.
template <class C>
BsrMatrix<double> Hierarchy<C>::scaled_first_matrix(const Context& context) const {
    BsrMatrix<double> matrix = first_matrix_(context);
    apply_scaling(context, matrix, levels_.front().scaling);
    return matrix;
}

/// Makes anew what make_products has released of the first level.
template <class C>
void Hierarchy<C>::restore_first_level(const Context& context, DeviceVectors& near_null) {
    Level& first = levels_.front();
    if (!has_first_matrix()) first.matrix = scaled_first_matrix(context);
    if (!near_null.values.empty()) return;
    near_null =
        near_null_space(context, first.matrix.view(), options_, coordinates_of(context, options_));
    scale_near_null(context, first.matrix.view(), first.scaling, near_null);
}

/// Releases the matrix of a level, if it is the first and can be made anew.
template <class C>
void Hierarchy<C>::release_first_matrix(const Level& level) {
    if (&level == &levels_.front() && first_matrix_) levels_.front().matrix = {};
}

/// Sets the matrix of a level in the cycle, and the upper bound of its eigenvalues.
template <class C>
void Hierarchy<C>::set_matrix_and_bound(const Context& context, std::size_t l) {
    const Phase phase(context, "setup: bounds", 0, PhaseStep::setup);
    Level& level = levels_[l];
    const Operator<C>& matrix = cycle_.set_matrix(context, l, level.matrix.view(), values_);
    level.lambda = options_.lambda_factor * lanczos(context, matrix).largest;
    require_positive(std::isfinite(level.lambda) && level.lambda > 0,
                     "amg: the matrix has values that are not finite, or is not positive definite");
    cycle_.set_bound(l, level.lambda);
}

/// Whether the last level is solved directly. Otherwise it is smoothed, for example because no
/// nodes are coupled.
template <class C>
bool Hierarchy<C>::solves_last_level() const {
    return stopped_by_ != nullptr &&
           levels_.back().rows() <= std::max(options_.coarse_rows, max_dense_rows);
}

/// Sets up the last level, chooses the type of values, and adds the warnings that depend on values.
template <class C>
void Hierarchy<C>::finish(const Context& context, DeviceVectors near_null) {
    warnings_.resize(setup_warnings_);
    const Level& last = levels_.back();
    if (levels_.size() == 1) restore_first_level(context, near_null);
    coarsest_near_null_ = std::move(near_null);
    if (solves_last_level()) {
        const Phase phase(context, "setup: coarsest", 0, PhaseStep::setup);
        const CoarsestInverse coarsest =
            invert_coarsest(context, last.matrix, coarsest_near_null_, rounding_);
        if (coarsest.modes > 0) singular_ = true;
        cycle_.set_inverse(context, coarsest.inverse, last.rows());
    } else {
        set_matrix_and_bound(context, levels_.size() - 1);
        if (stopped_by_ != nullptr) {
            warnings_.push_back(concat("the last level has ", last.rows(), " unknowns, as ",
                                       stopped_by_,
                                       " ended the coarsening: it is only smoothed, "
                                       "and iterations may be many"));
        }
    }
    if (singular_) {
        warnings_.push_back(
            "the matrix is singular up to rounding, as of a body that can move or a constant that "
            "is not fixed: right-hand sides without such parts are solved");
    }
    choose_values(context);
    if (levels_.size() > 1) release_first_matrix(levels_.front());
    complete_ = true;
}

template <class C>
template <class D>
std::unique_ptr<Cycle<D>> Hierarchy<C>::make_cycle(const Context& context) const {
    auto made = std::make_unique<Cycle<D>>(options_.smoothing_steps);
    const BsrMatrix<double> first =
        has_first_matrix() ? BsrMatrix<double>() : scaled_first_matrix(context);
    const auto matrix_of = [&](std::size_t l) {
        return l == 0 && !has_first_matrix() ? first.view() : levels_[l].matrix.view();
    };
    DeviceVectors space =
        near_null_space(context, matrix_of(0), options_, coordinates_of(context, options_));
    for (std::size_t l = 0; l + (solves_last_level() ? 1 : 0) < levels_.size(); ++l) {
        const Level& level = levels_[l];
        const BsrView<double> matrix = matrix_of(l);
        made->set_matrix(context, l, matrix, ValueFormat::working);
        made->set_bound(l, level.lambda);
        if (l + 1 == levels_.size()) break;
        scale_near_null(context, matrix, level.scaling, space);
        BsrMatrix<double> p;
        space = make_prolongator(context, level, matrix, space, p).coarse;
        Transposed<double> transposed = transposed_pattern(context, std::as_const(p).view());
        transpose_values(context, std::as_const(p).view(), transposed);
        set_transfers(context, l, levels_[l + 1].scaling, p, transposed, *made,
                      [](BsrMatrix<double>& transfer) { transfer = {}; });
    }
    const Level& last = levels_.back();
    if (solves_last_level()) {
        const auto coarsest = invert_coarsest(context, last.matrix, coarsest_near_null_, rounding_);
        made->set_inverse(context, coarsest.inverse, last.rows());
    }
    return made;
}

template <class C>
template <class D>
void Hierarchy<C>::set_bounds(Cycle<D>& cycle, double factor) const {
    for (std::size_t l = 0; l + (solves_last_level() ? 1 : 0) < levels_.size(); ++l) {
        cycle.set_bound(l, factor * levels_[l].lambda);
    }
}

template <class C>
double Hierarchy<C>::operator_complexity() const {
    double entries = 0;
    for (const Level& level : levels_) entries += level.entries();
    return entries / std::max(1.0, levels_.front().entries());
}

template <class C>
void Hierarchy<C>::update(const Context& context, BsrMatrix<double> matrix, FirstMatrix again) {
    complete_ = singular_ = false;
    keeps_patterns_ = true;
    first_matrix_ = std::move(again);
    levels_.front().matrix = std::move(matrix);
    DeviceVectors space = near_null_space(context, levels_.front().matrix.view(), options_,
                                          coordinates_of(context, options_));
    for (std::size_t l = 0; l < levels_.size(); ++l) {
        scale_level(context, l, space);
        if (l + 1 == levels_.size()) break;
        Level& level = levels_[l];
        set_matrix_and_bound(context, l);
        // The pattern returns to its level even if memory runs out.
        std::swap(level.products.result, levels_[l + 1].matrix);
        try {
            space = *make_products(context, level, space, std::numeric_limits<double>::infinity());
        } catch (...) {
            std::swap(level.products.result, levels_[l + 1].matrix);
            throw;
        }
        levels_[l + 1].matrix = std::move(level.products.result);
    }
    finish(context, std::move(space));
}

template class Hierarchy<float>;
template class Hierarchy<double>;
#define TESSERA_INSTANTIATE(C, D)                                                      \
    template std::unique_ptr<Cycle<D>> Hierarchy<C>::make_cycle(const Context&) const; \
    template void Hierarchy<C>::set_bounds(Cycle<D>&, double) const;
TESSERA_INSTANTIATE(float, float)
TESSERA_INSTANTIATE(float, double)
TESSERA_INSTANTIATE(double, double)

}  // namespace tessera::multigrid
