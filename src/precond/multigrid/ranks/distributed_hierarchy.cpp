#include "precond/multigrid/ranks/distributed_hierarchy.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/checks.hpp"
#include "base/phases.hpp"
#include "distributed/sums.hpp"
#include "precond/multigrid/blocks/block_scaling.hpp"
#include "precond/multigrid/blocks/for_each_block.hpp"
#include "precond/multigrid/setup/coarsest.hpp"
#include "tessera/detail/rank_rows.hpp"
#include "tessera/detail/symmetric_product.hpp"
#include "tessera/products.hpp"

namespace tessera::multigrid {

namespace {

/// Rows of own nodes, then those of the ghosts of a halo; `columns`, of `all` of all ranks, gets
/// the ghosts that they have.
BsrMatrix<double> with_ghosts(const Context& context, const Halo& halo, const GlobalRows& own,
                              Numbering& columns, Offset all) {
    const Phase phase(context, "setup: rows of others", 0, PhaseStep::setup);
    return joined(context, own, halo.ghost_rows(context, own), columns, all);
}

/// f(), as the phase of this name.
template <class F>
auto timed(const Context& context, const char* name, F&& f) {
    const Phase phase(context, name, 0, PhaseStep::setup);
    return f();
}

}  // namespace

template <class C>
DistributedHierarchy<C>::DistributedHierarchy(const Context& context, OwnRows matrix,
                                              const AmgOptions& options, const RankOptions& ranks,
                                              double rounding)
    : options_(options), ranks_(ranks), rounding_(rounding), cycle_(options.smoothing_steps) {
    levels_.push_back({std::move(matrix.halo), std::move(matrix.rows), {}, 0, 0, 0});
    values_ = first_values(context, levels_.front().matrix.view(), options_);
    agree_on_inputs(context);
    scale_last(context);
    while (true) {
        const Offset nodes = levels_.back().halo->all_nodes(),
                     rows = nodes * levels_.back().matrix.view().height;
        if (rows <= options_.coarse_rows || nodes <= ranks_.gather_nodes ||
            int(levels_.size()) >= options_.max_levels || !coarsen(context)) {
            break;
        }
        scale_last(context);
    }
    norms_ = {};
    gather(context);
    choose_values(context);
}

template <class C>
Offset DistributedHierarchy<C>::sum(const Context& context, Offset mine) const {
    const auto all = gather_to_host(communicator(), context, mine);
    Offset total = 0;
    for (const Offset number : all) total += number;
    return total;
}

/// The near-null space and the coordinates of the first level. A rank without nodes knows neither
/// how many near-null vectors there are nor whether there are coordinates.
template <class C>
void DistributedHierarchy<C>::agree_on_inputs(const Context& context) {
    const Halo& halo = *levels_.front().halo;
    const BsrView<double> a = std::as_const(levels_.front().matrix).view();
    on_all_ranks(communicator(), [&] { check_options(halo.own(), options_); });
    const Offset mine[] = {!options_.coordinates->values.empty(),
                           options_.near_null->values.empty() ? 0 : options_.near_null->columns};
    const auto all = gather_to_host<Offset>(communicator(), context, mine);
    Offset given = 0;
    for (std::size_t k = 0; k < all.size(); k += 2) {
        has_coordinates_ = has_coordinates_ || all[k] != 0;
        given = std::max(given, all[k + 1]);
    }
    on_all_ranks(communicator(), [&] {
        const bool has_nodes = halo.own() > 0;
        require_argument("coordinates", !has_nodes || !has_coordinates_ || mine[0] != 0,
                         "amg: some ranks have coordinates, others none");
        require_argument("near_null", !has_nodes || mine[1] == given,
                         "amg: ranks have different numbers of near-null vectors");
        coordinates_ = coordinates_of(context, options_);
    });
    spread_coordinates(context, coordinates_.values);
    if (given > 0 && halo.own() == 0) {
        near_null_ = {int(given), {}};
    } else {
        near_null_ = near_null_space(context, a, options_, coordinates_, &communicator());
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

/// Scales the matrix of the last level, its near-null space and the transfers to it.
template <class C>
void DistributedHierarchy<C>::scale_last(const Context& context) {
    const Phase phase(context, "setup: scaling", 0, PhaseStep::setup);
    const std::size_t l = levels_.size() - 1;
    DistributedLevel& level = levels_[l];
    norms_ = Buffer<double>(context, level.matrix.blocks());
    // The last node of a body that can move has a diagonal block of rounding errors (Hierarchy).
    const double pivot_error = l == 0 ? 0 : 64 * rounding_;
    scale_matrix(context, level.matrix, level.scaling, pivot_error, l, norms_, level.halo.get());
    scale_near_null(context, level.matrix.view(), level.scaling, near_null_);
    level.blocks = sum(context, level.matrix.blocks());
    if (l == 0) return;
    const BsrView<double> r = std::as_const(restriction_).view(),
                          p = std::as_const(prolongator_).view();
    for_each_block(context, r, restriction_.values().data(),
                   ScaleRows{r.height, r.width, level.scaling.data()});
    for_each_block(context, p, prolongator_.values().data(),
                   ScaleColumns{p.height, p.width, level.scaling.data()});
    cycle_.set_restriction(context, l - 1, r, levels_[l - 1].halo.get());
    cycle_.set_prolongator(context, l - 1, p, level.halo.get());
    restriction_ = {};
    prolongator_ = {};
}

/// Sets the matrix of the last level in the cycle, and the upper bound of its eigenvalues.
template <class C>
void DistributedHierarchy<C>::set_matrix_and_bound(const Context& context) {
    const Phase phase(context, "setup: bounds", 0, PhaseStep::setup);
    const std::size_t l = levels_.size() - 1;
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

/// Aggregates of own nodes; `all`: how many all ranks have.
template <class C>
Aggregates DistributedHierarchy<C>::make_aggregates(const Context& context, double theta,
                                                    Offset& all) {
    const Phase phase(context, "setup: aggregates", 0, PhaseStep::setup);
    const DistributedLevel& level = levels_.back();
    if (norms_.empty()) norms_ = block_norms(context, level.matrix.view());
    const NodeGraph graph =
        strong_couplings(context, level.matrix.view(), norms_,
                         has_coordinates_ ? options_.strength : AmgStrength::frobenius, theta,
                         coordinates_, level.halo.get());
    norms_ = {};
    Aggregates aggregates =
        aggregate(context, graph,
                  min_neighbours_of_pass_2(options_, levels_.size() == 1, theta < options_.theta,
                                           near_null_.columns, level.halo->all_nodes()));
    all = sum(context, aggregates.count);
    return aggregates;
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
        Offset all_aggregates = 0;
        const Aggregates aggregates = make_aggregates(context, theta, all_aggregates);
        // Aggregates of one rank each are smaller where parts are thin or scattered.
        if (all_aggregates == 0 || 5 * all_aggregates * near_null_.columns > 3 * all_rows) {
            return false;
        }
        if (levels_[l].lambda == 0) set_matrix_and_bound(context);
        TentativeProlongator tentative =
            tentative_prolongator(context, aggregates, near_null_, levels_[l].matrix.view().height);
        DistributedLevel coarse;
        make_products(context, aggregates, tentative, coarse);
        coarse.blocks = sum(context, coarse.matrix.blocks());
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
        levels_[l].prolongator_blocks = sum(context, prolongator_.blocks());
        near_null_ = std::move(tentative.coarse);
        const DeviceCoordinates own = means(context, aggregates, coordinates_);
        levels_.push_back(std::move(coarse));
        spread_coordinates(context, own.values);
        return true;
    }
}

/// The smoothed prolongator, its transpose and own rows of the next matrix.
template <class C>
void DistributedHierarchy<C>::make_products(const Context& context, const Aggregates& aggregates,
                                            TentativeProlongator& tentative,
                                            DistributedLevel& coarse) {
    const DistributedLevel& level = levels_.back();
    const Halo& halo = *level.halo;
    const BsrView<double> a = level.matrix.view();
    std::vector<Offset> starts{0};
    for (const Offset count : gather_to_host(communicator(), context, Offset(aggregates.count))) {
        starts.push_back(starts.back() + count);
    }
    const Offset all = starts.back();
    Numbering columns(context, starts[std::size_t(communicator().rank())], aggregates.count, {});
    // P = T - omega / lambda A T: rows of ghosts of T.
    const BsrMatrix<double> t = with_ghosts(
        context, halo, with_global_columns(context, std::move(tentative.prolongator), columns),
        columns, all);
    GlobalRows own_p = timed(context, "setup: P", [&] {
        BsrMatrix<double> p;
        smooth_prolongator(context, a, aggregates.has_dense, t.view(),
                           options_.omega * options_.lambda_factor / level.lambda, p);
        return with_global_columns(context, std::move(p), columns);
    });
    // A P: rows of ghosts of P. Own columns of P are rows of P^T.
    BsrMatrix<double> p_of_all = with_ghosts(context, halo, own_p, columns, all);
    restriction_ = timed(context, "setup: P^T", [&] {
        return transpose<double>(
            context, column_range(context, std::as_const(p_of_all).view(), 0, columns.own).view());
    });
    // P^T (A P): rows of ghosts of A P. Own columns come first, so that its own square is
    // symmetric.
    GlobalRows own_ap = timed(context, "setup: A P", [&] {
        return with_global_columns(context, multiply(context, a, std::as_const(p_of_all).view()),
                                   columns);
    });
    p_of_all = {};
    const BsrMatrix<double> ap_of_all = with_ghosts(context, halo, own_ap, columns, all);
    own_ap = {};
    GlobalRows product = timed(context, "setup: P^T (A P)", [&] {
        return with_global_columns(
            context,
            multiply_symmetric(context, std::as_const(restriction_).view(), ap_of_all.view()),
            columns);
    });
    // One numbering for both, as P leads to this level.
    const Phase phase(context, "setup: numbering", 0, PhaseStep::setup);
    std::vector<Offset> ghosts =
        merged(foreign_columns(context, product, columns.first, columns.own, all),
               foreign_columns(context, own_p, columns.first, columns.own, all));
    coarse.halo =
        std::make_shared<const Halo>(context, communicator(), std::move(starts), std::move(ghosts));
    coarse.matrix = renumbered(context, std::move(product), coarse.halo->numbering());
    prolongator_ = renumbered(context, std::move(own_p), coarse.halo->numbering());
    set_dropped(context, tentative.dropped, coarse.matrix);
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
    warnings_.insert(warnings_.end(), gathered_->hierarchy().warnings().begin(),
                     gathered_->hierarchy().warnings().end());
    last.matrix.values() = {};
    near_null_ = {};
    coordinates_ = {};
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
        if (double(found[0]) >= min_eigenvalue_for_f16 * double(found[1])) return;
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
