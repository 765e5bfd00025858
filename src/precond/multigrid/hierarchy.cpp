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
#include "precond/multigrid/setup/coarsest.hpp"
#include "precond/multigrid/setup/near_null_rows.hpp"
#include "tessera/spectrum.hpp"

namespace tessera::multigrid {

namespace {

/// The last level is solved directly if it has at most this many rows, or
/// AmgOptions::coarse_rows; a larger one is smoothed.
constexpr Index max_dense_rows = 2000;
/// A matrix with a smaller eigenvalue is not stored in 16 bits: their rounding, 5e-4 of 1, disturbs
/// vectors of so little energy. Measured: docs/decisions/multigrid.md.
constexpr double min_eigenvalue_for_f16 = 1e-6;

/// Scales the blocks, and writes the norms of the scaled blocks to `norms` unless it is empty.
void scale_blocks(const Context& context, const BsrView<double>& matrix,
                  const Buffer<double>& scaling, Buffer<double>& values, Buffer<double>& norms) {
    const auto run = [&]<int N>(std::integral_constant<int, N>) {
        for_each_block(context, matrix, values.data(),
                       ScaleBlocks<N>{matrix.height, scaling.data(), norms.data()});
    };
    switch (matrix.height) {
        case 1:
            return run(std::integral_constant<int, 1>());
        case 2:
            return run(std::integral_constant<int, 2>());
        case 3:
            return run(std::integral_constant<int, 3>());
        case 6:
            return run(std::integral_constant<int, 6>());
        default:
            return run(std::integral_constant<int, 0>());
    }
}

void check_options(const BsrView<double>& matrix, const AmgOptions& options) {
    require(matrix.block_rows == matrix.block_columns && matrix.height == matrix.width,
            "amg: the matrix and its blocks must be square");
    const int dimensions = options.coordinates->dimensions;
    const SharedNumbers& coordinates = options.coordinates->values;
    require_argument(
        "coordinates",
        coordinates.empty() || Offset(coordinates.size()) == Offset(matrix.block_rows) * dimensions,
        "amg: there must be ", dimensions, " coordinates for each of ", matrix.block_rows,
        " nodes");
    require(options.smoothing_steps >= 2 && options.smoothing_steps <= 16,
            "amg: the smoother takes 2 to 16 products");
    require(options.theta >= 0 && options.omega > 0 && std::isfinite(options.omega) &&
                options.lambda_factor >= 0.5 && std::isfinite(options.lambda_factor) &&
                options.coarse_rows >= 1 && options.max_levels >= 1,
            "amg: theta, omega, lambda_factor, coarse_rows or max_levels is out of range");
    require(!options.values || *options.values == ValueFormat::working ||
                *options.values == ValueFormat::f16,
            "amg: values in the cycle are working or f16");
}

/// B_i becomes S_i^-T B_i for the near-null vectors B of a level.
void scale_near_null(const Context& context, const Level& level, DeviceVectors& near_null) {
    for_each_index(context, Offset(level.nodes()) * near_null.columns,
                   ScaleNearNull{level.matrix.view().height, near_null.columns,
                                 level.scaling.data(), near_null.values.data()});
}

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

/// A copy of numbers that must be finite.
Buffer<double> finite_copy(const Context& context, std::span<const double> values) {
    Buffer<double> copy(context, Offset(values.size()));
    if (values.empty()) return copy;
    copy_from_host(context, values, copy.view());
    Buffer<int> fault = zeros<int>(context, 1);
    for_each_index(context, copy.size(), CheckFinite{copy.data(), fault.data()});
    require(copy_to_host(context, fault)[0] == 0,
            "amg: a near-null vector or a coordinate is not finite");
    return copy;
}

DeviceCoordinates coordinates_of(const Context& context, const AmgOptions& options) {
    return {options.coordinates->dimensions, finite_copy(context, options.coordinates->values)};
}

/// Type of the stored values in the cycle before `choose_values`. On a CPU, conversions of blocks
/// that are single numbers cost more time than they save: with f16 the solve of poisson3d:100 takes
/// 0.6 to 0.8 instead of 0.55 s.
ValueFormat first_values(const Context& context, const BsrView<double>& matrix,
                         const AmgOptions& options) {
    if (options.values) return *options.values;
    const bool saves = options.single_precision && (context.on_gpu() || matrix.height > 1);
    return saves ? ValueFormat::f16 : ValueFormat::working;
}

}  // namespace

template <class C>
Hierarchy<C>::Hierarchy(const Context& context, BsrMatrix<double> matrix, const AmgOptions& options,
                        double rounding)
    : options_(options),
      rounding_(rounding),
      cycle_(options.smoothing_steps),
      values_(first_values(context, matrix.view(), options)) {
    check_options(matrix.view(), options);
    levels_.emplace_back().matrix = std::move(matrix);
    DeviceCoordinates coordinates = coordinates_of(context, options);
    DeviceVectors space = near_null(context, coordinates);
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
    if (solves_last_level() && !singular_ &&
        cycle_.smallest_eigenvalue(context) >= min_eigenvalue_for_f16) {
        return;
    }
    values_ = ValueFormat::working;
    for (std::size_t l = 0; l + (solves_last_level() ? 1 : 0) < levels_.size(); ++l) {
        cycle_.set_matrix(context, l, levels_[l].matrix.view(), values_);
        cycle_.set_bound(l, levels_[l].lambda);
    }
}

/// The near-null space; zero for unknowns that are coupled to no other one.
template <class C>
DeviceVectors Hierarchy<C>::near_null(const Context& context,
                                      const DeviceCoordinates& coordinates) const {
    const NearNullSpace& given = *options_.near_null;
    DeviceVectors space;
    if (!given.values.empty()) {
        space = {given.columns, finite_copy(context, given.values)};
    } else if (options_.near_null_kind == AmgNearNull::rigid_body) {
        space = rigid_body_vectors(context, *options_.coordinates, coordinates);
    } else {
        space = translation_vectors(context, rows(), block());
    }
    for_each_index(
        context, rows(),
        ClearUncoupled{levels_.front().matrix.view(), space.columns, space.values.data()});
    return space;
}

/// Scales the matrix of a level, its near-null space and the prolongator to it.
template <class C>
void Hierarchy<C>::scale_level(const Context& context, std::size_t l, DeviceVectors& near_null) {
    const Phase phase(context, "setup: scaling", 0, PhaseStep::setup);
    Level& level = levels_[l];
    const BsrView<double> a = level.matrix.view();
    if (level.scaling.empty()) {
        level.scaling = Buffer<double>(context, Offset(level.rows()) * a.height);
    }
    // A body that can move and has become one node has a diagonal block of rounding errors. They
    // are relative to the diagonal of the finer matrix, which is 1.
    const double pivot_error = l == 0 ? 0 : 64 * rounding_;
    Buffer<DiagonalFaults> faults = zeros<DiagonalFaults>(context, 1);
    for_each_index(context, a.block_rows,
                   InvertDiagonalFactors{a, level.scaling.data(), pivot_error, faults.data()});
    const DiagonalFaults found = read_value(context, faults.data());
    if (found.singular != 0) singular_ = true;
    require_positive(found.first_bad_from_end == 0, "amg: the diagonal block of node ",
                     a.block_rows - found.first_bad_from_end, " on level ", l,
                     " is not positive definite");
    scale_blocks(context, a, level.scaling, level.matrix.values(), norms_);
    scale_near_null(context, level, near_null);
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
    complete_ = true;
}

template <class C>
template <class D>
std::unique_ptr<Cycle<D>> Hierarchy<C>::make_cycle(const Context& context) const {
    auto made = std::make_unique<Cycle<D>>(options_.smoothing_steps);
    DeviceVectors space = near_null(context, coordinates_of(context, options_));
    for (std::size_t l = 0; l + (solves_last_level() ? 1 : 0) < levels_.size(); ++l) {
        const Level& level = levels_[l];
        made->set_matrix(context, l, level.matrix.view(), ValueFormat::working);
        made->set_bound(l, level.lambda);
        if (l + 1 == levels_.size()) break;
        scale_near_null(context, level, space);
        BsrMatrix<double> p;
        space = make_prolongator(context, level, space, p).coarse;
        Transposed<double> transposed = transposed_pattern(context, std::as_const(p).view());
        transpose_values(context, std::as_const(p).view(), transposed);
        set_transfers(context, l, levels_[l + 1].scaling, p, transposed, *made,
                      [](BsrMatrix<double>& matrix) { matrix = {}; });
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
    for (const Level& level : levels_) entries += double(level.matrix.entries());
    return entries / std::max(1.0, double(levels_.front().matrix.entries()));
}

template <class C>
bool Hierarchy<C>::has_pattern(const Context& context, const BsrView<double>& matrix) const {
    const BsrView<double> a = levels_.front().matrix.view();
    if (matrix.block_rows != a.block_rows || matrix.block_columns != a.block_columns ||
        matrix.height != a.height || matrix.width != a.width || matrix.blocks != a.blocks) {
        return false;
    }
    Buffer<int> differ = zeros<int>(context, 1);
    for_each_index(context, a.block_rows, CompareBlocks{matrix, a, differ.data()});
    return copy_to_host(context, differ)[0] == 0;
}

template <class C>
void Hierarchy<C>::update(const Context& context, BsrMatrix<double> matrix) {
    complete_ = singular_ = false;
    keeps_patterns_ = true;
    levels_.front().matrix = std::move(matrix);
    DeviceVectors space = near_null(context, coordinates_of(context, options_));
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
