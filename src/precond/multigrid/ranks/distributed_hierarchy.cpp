#include "precond/multigrid/ranks/distributed_hierarchy.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/checks.hpp"
#include "base/phases.hpp"
#include "base/zeros.hpp"
#include "distributed/sums.hpp"
#include "precond/multigrid/blocks/block_scaling.hpp"
#include "precond/multigrid/blocks/for_each_block.hpp"
#include "precond/multigrid/setup/coarsest.hpp"
#include "tessera/detail/rank_rows.hpp"

namespace tessera::multigrid {

template <class C>
DistributedHierarchy<C>::DistributedHierarchy(const Context& context, OwnRows matrix,
                                              const AmgOptions& options, const RankOptions& ranks,
                                              double rounding)
    : options_(options), ranks_(ranks), rounding_(rounding), cycle_(options.smoothing_steps) {
    levels_.emplace_back();
    levels_.back().halo = std::move(matrix.halo);
    levels_.back().matrix = std::move(matrix.rows);
    values_ = first_values(context, levels_.front().matrix.view(), options_);
    agree_on_inputs(context);
    const Offset mine[] = {levels_.front().matrix.blocks()};
    levels_.front().blocks = sums(context, mine)[0];
    const auto scale_last = [&] {
        norms_ = Buffer<double>(context, levels_.back().matrix.blocks());
        scale_level(context, levels_.size() - 1);
    };
    scale_last();
    while (true) {
        const Offset nodes = levels_.back().halo->all_nodes(),
                     rows = nodes * levels_.back().matrix.view().height;
        if (rows <= options_.coarse_rows || nodes <= ranks_.gather_nodes ||
            int(levels_.size()) >= options_.max_levels || !coarsen(context)) {
            break;
        }
        scale_last();
    }
    norms_ = {};
    setup_warnings_ = warnings_.size();
    gather(context);
    finish(context);
}

template <class C>
bool DistributedHierarchy<C>::has_pattern(const Context& context,
                                          const BsrView<double>& rows) const {
    const BsrView<double> a = levels_.front().matrix.view();
    bool same = rows.block_rows == a.block_rows && rows.block_columns == a.block_columns &&
                rows.height == a.height && rows.width == a.width && rows.blocks == a.blocks;
    if (same) {
        Buffer<int> differ = zeros<int>(context, 1);
        for_each_index(context, a.block_rows, CompareBlocks{rows, a, differ.data()});
        same = read_value(context, differ.data()) == 0;
    }
    const Offset mine[] = {same ? 0 : 1};
    return sums(context, mine)[0] == 0;
}

template <class C>
void DistributedHierarchy<C>::update(const Context& context, BsrMatrix<double> rows) {
    complete_ = false;
    warnings_.resize(setup_warnings_);
    levels_.front().matrix = std::move(rows);
    coordinates_ = coordinates_of(context, options_);
    make_near_null(context);
    coordinates_ = {};
    for (std::size_t l = 0;; ++l) {
        scale_level(context, l);
        if (l + 1 == levels_.size()) break;
        set_matrix_and_bound(context, l);
        near_null_ = make_next(context, levels_[l], levels_[l + 1]);
    }
    gathered_->update(context, levels_.back().matrix, near_null_);
    finish(context);
}

/// The sums of some numbers over all ranks.
template <class C>
std::vector<Offset> DistributedHierarchy<C>::sums(const Context& context,
                                                  std::span<const Offset> mine) const {
    const auto all = gather_to_host(communicator(), context, mine);
    std::vector<Offset> totals(mine.size(), 0);
    for (std::size_t k = 0; k < all.size(); ++k) totals[k % mine.size()] += all[k];
    return totals;
}

/// The near-null space and the coordinates of the first level. A rank without nodes knows neither
/// how many near-null vectors there are nor whether there are coordinates.
template <class C>
void DistributedHierarchy<C>::agree_on_inputs(const Context& context) {
    const Halo& halo = *levels_.front().halo;
    on_all_ranks(communicator(), [&] { check_options(halo.own(), options_); });
    const Offset mine[] = {!options_.coordinates->values.empty(),
                           options_.near_null->values.empty() ? 0 : options_.near_null->columns};
    const auto all = gather_to_host<Offset>(communicator(), context, mine);
    Offset given = 0;
    for (std::size_t k = 0; k < all.size(); k += 2) {
        has_coordinates_ = has_coordinates_ || all[k] != 0;
        given = std::max(given, all[k + 1]);
    }
    given_vectors_ = int(given);
    on_all_ranks(communicator(), [&] {
        const bool has_nodes = halo.own() > 0;
        require_argument("coordinates", !has_nodes || !has_coordinates_ || mine[0] != 0,
                         "amg: some ranks have coordinates, others none");
        require_argument("near_null", !has_nodes || mine[1] == given,
                         "amg: ranks have different numbers of near-null vectors");
        coordinates_ = coordinates_of(context, options_);
    });
    spread_coordinates(context, coordinates_.values);
    make_near_null(context);
}

/// The near-null space of the first matrix.
template <class C>
void DistributedHierarchy<C>::make_near_null(const Context& context) {
    const DistributedLevel& first = levels_.front();
    if (given_vectors_ > 0 && first.halo->own() == 0) {
        near_null_ = {given_vectors_, {}};
    } else {
        near_null_ =
            near_null_space(context, first.matrix.view(), options_, coordinates_, &communicator());
    }
}

/// Coordinates of the nodes of the last level from those of own nodes.
template <class C>
void DistributedHierarchy<C>::spread_coordinates(const Context& context,
                                                 const Buffer<double>& own) {
    if (!has_coordinates_) return;
    const Halo& halo = *levels_.back().halo;
    const int dimensions = coordinates_.dimensions;
    Buffer<double> all(context, Offset(halo.nodes()) * dimensions);
    copy<double>(context, own.view(), all.view().first(std::size_t(own.size())));
    halo.exchange(context, dimensions, all);
    coordinates_.values = std::move(all);
}

/// Scales the matrix of a level, its near-null space and the transfers to it.
template <class C>
void DistributedHierarchy<C>::scale_level(const Context& context, std::size_t l) {
    const Phase phase(context, "setup: scaling", 0, PhaseStep::setup);
    DistributedLevel& level = levels_[l];
    // The last node of a body that can move has a diagonal block of rounding errors (Hierarchy).
    const double pivot_error = l == 0 ? 0 : 64 * rounding_;
    scale_matrix(context, level.matrix, level.scaling, pivot_error, l, norms_, level.halo.get());
    scale_near_null(context, level.matrix.view(), level.scaling, near_null_);
    if (l == 0) return;
    DistributedLevel& finer = levels_[l - 1];
    BsrMatrix<double>&restriction = finer.products.transposed.matrix,
    &prolongator = finer.products.transfer;
    const BsrView<double> r = std::as_const(restriction).view(),
                          p = std::as_const(prolongator).view();
    for_each_block(context, r, restriction.values().data(),
                   ScaleRows{r.height, r.width, level.scaling.data()});
    for_each_block(context, p, prolongator.values().data(),
                   ScaleColumns{p.height, p.width, level.scaling.data()});
    cycle_.set_restriction(context, l - 1, r, finer.halo.get());
    cycle_.set_prolongator(context, l - 1, p, level.halo.get());
    restriction.values() = {};
    prolongator.values() = {};
}

/// Sets the matrix of a level in the cycle, and the upper bound of its eigenvalues.
template <class C>
void DistributedHierarchy<C>::set_matrix_and_bound(const Context& context, std::size_t l) {
    const Phase phase(context, "setup: bounds", 0, PhaseStep::setup);
    DistributedLevel& level = levels_[l];
    const Halo& halo = *level.halo;
    const Operator<C>& matrix = cycle_.set_matrix(context, l, level.matrix.view(), values_, &halo);
    const Offset block = level.matrix.view().height;
    const SumsOver sums(communicator());
    const UseRankSums use(context, &sums);
    const RankRows rows{halo.numbering().first * block, halo.all_nodes() * block};
    level.lambda = options_.lambda_factor * lanczos(context, matrix, rows).largest;
    require_positive(std::isfinite(level.lambda) && level.lambda > 0,
                     "amg: the matrix has values that are not finite, or is not positive definite");
    cycle_.set_bound(l, level.lambda);
}

/// Makes the aggregates of the last level.
template <class C>
void DistributedHierarchy<C>::make_aggregates(const Context& context, double theta) {
    const Phase phase(context, "setup: aggregates", 0, PhaseStep::setup);
    DistributedLevel& level = levels_.back();
    level.products = {};
    if (norms_.empty()) norms_ = block_norms(context, level.matrix.view());
    const NodeGraph graph =
        strong_couplings(context, level.matrix.view(), norms_,
                         has_coordinates_ ? options_.strength : AmgStrength::frobenius, theta,
                         coordinates_, level.halo.get());
    norms_ = {};
    level.products.aggregates =
        aggregate(context, graph,
                  min_neighbours_of_pass_2(options_, levels_.size() == 1, theta < options_.theta,
                                           near_null_.columns, level.halo->all_nodes()));
    level.products.starts =
        starts_of_ranks(communicator(), context, level.products.aggregates.count);
}

/// Makes the next level. Returns false if it would have hardly fewer unknowns, or too many entries.
template <class C>
bool DistributedHierarchy<C>::coarsen(const Context& context) {
    const std::size_t l = levels_.size() - 1;
    const Offset all_rows = levels_[l].halo->all_nodes() * levels_[l].matrix.view().height;
    const double first_entries =
        double(levels_.front().blocks) * levels_.front().matrix.view().block_size();
    double before = std::numeric_limits<double>::infinity();
    for (double theta = options_.theta;; theta /= 2) {
        make_aggregates(context, theta);
        const Offset all_aggregates = levels_[l].products.starts.back();
        // Aggregates of one rank each are smaller where parts are thin or scattered.
        if (all_aggregates == 0 || 5 * all_aggregates * near_null_.columns > 3 * all_rows) {
            return false;
        }
        if (levels_[l].lambda == 0) set_matrix_and_bound(context, l);
        DistributedLevel coarse;
        DeviceVectors coarse_space = make_next(context, levels_[l], coarse);
        const Offset mine[] = {coarse.matrix.blocks(), levels_[l].products.transfer.blocks()};
        const std::vector<Offset> blocks = sums(context, mine);
        coarse.blocks = blocks[0];
        levels_[l].prolongator_blocks = blocks[1];
        const double entries = double(coarse.blocks) * coarse.matrix.view().block_size(),
                     complexity = operator_complexity() + entries / first_entries,
                     per_row = double(coarse.blocks) / double(all_aggregates);
        const bool dense = complexity > max_complexity ||
                           (per_row > max_blocks_per_row && 2 * per_row < double(all_aggregates));
        if (dense && theta > min_theta && entries < 0.9 * before) {
            before = entries;
            continue;
        }
        if (complexity > 2 * max_complexity) return false;
        if (dense || theta != options_.theta) {
            warnings_.push_back(concat("level ", levels_.size(), " was made with theta = ", theta,
                                       ", for it had too many entries (", per_row,
                                       " blocks per row; all levels ", complexity,
                                       " times the matrix)"));
        }
        near_null_ = std::move(coarse_space);
        const DeviceCoordinates own = means(context, levels_[l].products.aggregates, coordinates_);
        levels_.push_back(std::move(coarse));
        spread_coordinates(context, own.values);
        return true;
    }
}

/// make_products with the relaxation of the options.
template <class C>
DeviceVectors DistributedHierarchy<C>::make_next(const Context& context, DistributedLevel& level,
                                                 DistributedLevel& coarse) {
    return make_products(context, level, near_null_,
                         options_.omega * options_.lambda_factor / level.lambda, coarse);
}

/// Gathers the last level, which the cycle then solves by a Hierarchy on each rank.
template <class C>
void DistributedHierarchy<C>::gather(const Context& context) {
    DistributedLevel& last = levels_.back();
    AmgOptions options = options_;
    options.max_levels = std::max(1, options_.max_levels - int(levels_.size()) + 1);
    const Offset nodes = last.halo->all_nodes();
    // Its first level is not the finest one.
    if (levels_.size() > 1) {
        options.second_pass =
            min_neighbours_of_pass_2(options_, false, false, near_null_.columns, nodes);
    }
    auto made = std::make_unique<GatheredLevel<C>>(context, *last.halo, last.matrix, near_null_,
                                                   has_coordinates_ ? &coordinates_ : nullptr,
                                                   options, rounding_);
    gathered_ = made.get();
    cycle_.set_coarsest(std::move(made));
    coordinates_ = {};
}

/// Chooses the type of values, and adds the warnings of the gathered level.
template <class C>
void DistributedHierarchy<C>::finish(const Context& context) {
    warnings_.insert(warnings_.end(), gathered_->hierarchy().warnings().begin(),
                     gathered_->hierarchy().warnings().end());
    levels_.back().matrix.values() = {};
    near_null_ = {};
    choose_values(context);
    complete_ = true;
}

/// Replaces values in 16 bits that are not precise enough, as Hierarchy does.
template <class C>
void DistributedHierarchy<C>::choose_values(const Context& context) {
    if (options_.values || values_ == ValueFormat::working || levels_.size() == 1) return;
    const Phase phase(context, "setup: values", 0, PhaseStep::setup);
    if (gathered_->hierarchy().ends_directly()) {
        Buffer<C> products(context, 2);
        Buffer<C> z = gathered_->smooth_vector(context, products.data());
        for (std::size_t l = levels_.size() - 1; l-- > 0;) z = cycle_.prolongated(context, l, z);
        const SumsOver sums(communicator());
        const UseRankSums use(context, &sums);
        dot<C>(context, z.view(), z.view(), products.data() + 1);
        const auto found = copy_to_host(context, products);
        if (double(found[0]) >= min_eigenvalue_for_f16(context) * double(found[1])) return;
    }
    values_ = ValueFormat::working;
    for (std::size_t l = 0; l + 1 < levels_.size(); ++l) {
        const DistributedLevel& level = levels_[l];
        cycle_.set_matrix(context, l, level.matrix.view(), values_, level.halo.get());
        cycle_.set_bound(l, level.lambda);
    }
}

template <class C>
double DistributedHierarchy<C>::operator_complexity() const {
    const auto entries = [](const DistributedLevel& level) {
        return double(level.blocks) * level.matrix.view().block_size();
    };
    double sum = 0;
    for (const DistributedLevel& level : levels_) sum += entries(level);
    const double first = std::max(1.0, entries(levels_.front()));
    if (gathered_ == nullptr) return sum / first;
    return (sum + (gathered_->hierarchy().operator_complexity() - 1) * entries(levels_.back())) /
           first;
}

template <class C>
void DistributedHierarchy<C>::raise_bounds(double factor) {
    for (std::size_t l = 0; l + 1 < levels_.size(); ++l) {
        cycle_.set_bound(l, factor * levels_[l].lambda);
    }
    gathered_->raise_bounds(factor);
}

template class DistributedHierarchy<float>;
template class DistributedHierarchy<double>;

}  // namespace tessera::multigrid
