#include <algorithm>
#include <limits>
#include <utility>

#include "base/checks.hpp"
#include "base/concat.hpp"
#include "base/phases.hpp"
#include "precond/multigrid/hierarchy.hpp"
#include "precond/multigrid/level_setup.hpp"

// How a Hierarchy makes the next level.
namespace tessera::multigrid {

namespace {

/// Each product that makes a level may take so many multiplications for each entry of the matrix.
/// Meshes take 3 to 30, of 138 real matrices one (saylr4) 100; graphs without small separators may
/// take any number.
constexpr double max_products = 100;

}  // namespace

/// Makes the matrix of the next level. Returns false if that has hardly fewer unknowns.
template <class C>
bool Hierarchy<C>::coarsen(const Context& context, DeviceVectors& near_null,
                           DeviceCoordinates& coordinates) {
    Level& level = levels_.back();
    double theta = options_.theta, before = std::numeric_limits<double>::infinity();
    Index aggregates_before = std::numeric_limits<Index>::max();
    const char* reason = "";
    for (;; theta /= 2) {
        level.products = {};
        if (levels_.size() == 1) restore_first_level(context, near_null);
        if (!choose_aggregates(context, level, theta, coordinates, near_null.columns)) {
            // The sum of many weak couplings may be large.
            const bool coupled = level.matrix.blocks() > level.nodes;
            if (!coupled || theta <= min_theta) return false;
            reason = level.aggregates.count > 0 ? ", for few couplings are stronger"
                                                : ", as no coupling is stronger";
            continue;
        }
        if (cycle_.size() < levels_.size()) {
            set_matrix_and_bound(context, levels_.size() - 1);
            // Here a setup takes most memory; to make this matrix again costs 1 % of its time.
            if (levels_.size() == 1 && !first_matrix_) cycle_.release_matrix(0);
        }
        std::optional<DeviceVectors> coarse_space =
            make_products(context, level, near_null, max_products * levels_.front().entries());
        if (!coarse_space) {
            const Index count = level.aggregates.count;
            if (options_.refuses_fill || theta <= min_theta || count >= 0.9 * aggregates_before) {
                return end_coarsening(level);
            }
            aggregates_before = count;
            reason = ", for it had too many entries";
            continue;
        }
        const BsrMatrix<double>& coarse = level.products.result;
        const double entries = double(coarse.entries());
        const double complexity = operator_complexity() + entries / levels_.front().entries();
        const double per_row = double(coarse.blocks()) / level.aggregates.count;
        const bool dense = complexity > max_complexity ||
                           (per_row > max_blocks_per_row && 2 * per_row < level.aggregates.count);
        if (dense && theta > min_theta && entries < 0.9 * before) {
            before = entries;
            reason = ", for it had too many entries";
            continue;
        }
        if (complexity > (options_.refuses_fill ? 1 : 2) * max_complexity) {
            return end_coarsening(level);
        }
        if (dense || theta != options_.theta) {
            warnings_.push_back(concat("level ", levels_.size(), " was made with theta = ", theta,
                                       reason, dense ? ", and has too many entries (" : " (",
                                       per_row, " blocks per row; all levels ", complexity,
                                       " times the matrix)"));
        }
        coordinates = means(context, level.aggregates, coordinates);
        near_null = std::move(*coarse_space);
        break;
    }
    BsrMatrix<double> coarse = std::move(level.products.result);
    levels_.emplace_back(std::move(coarse));
    return true;
}

/// Leaves out the next level, which would have too many entries. Returns false.
template <class C>
bool Hierarchy<C>::end_coarsening(Level& level) {
    require(!options_.refuses_fill, "amg: level ", levels_.size(),
            " would have too many entries: the graph of the matrix is no mesh");
    level.aggregates = {};
    level.products = {};
    stopped_by_ = "the many entries of another level";
    return false;
}

/// Returns false if the next level would have hardly fewer unknowns.
template <class C>
bool Hierarchy<C>::choose_aggregates(const Context& context, Level& level, double theta,
                                     const DeviceCoordinates& coordinates, int columns) {
    const Phase phase(context, "setup: aggregates", 0, PhaseStep::setup);
    const int second_pass = min_neighbours_of_pass_2(options_, &level == &levels_.front(),
                                                     theta < options_.theta, columns, level.nodes);
    if (norms_.empty()) norms_ = block_norms(context, level.matrix.view());  // Second attempt.
    const NodeGraph graph =
        strong_couplings(context, level.matrix.view(), norms_,
                         coordinates.values.empty() ? AmgStrength::frobenius : options_.strength,
                         theta, coordinates);
    norms_ = {};
    level.aggregates = aggregate(context, graph, second_pass);
    stopped_by_ = level.aggregates.count == 0 ? nullptr : "levels=";  // Smoothing is enough.
    const bool coarser = 5.0 * level.aggregates.count * columns <= 4.0 * level.rows();
    if (!coarser) stopped_by_ = "the weak couplings of its nodes";
    return level.aggregates.count > 0 && coarser;
}

/// Warns about given near-null vectors that are dropped in all aggregates.
template <class C>
void Hierarchy<C>::warn_of_dropped(const std::vector<Index>& dropped, int columns) {
    for (int c = 0; c < columns; ++c) {
        bool everywhere = !dropped.empty();
        for (std::size_t k = std::size_t(c); k < dropped.size(); k += std::size_t(columns)) {
            everywhere = everywhere && dropped[k] != 0;
        }
        if (!everywhere) continue;
        const std::string text = concat("near-null vector ", c + 1,
                                        " is zero or depends on those before it: it has no effect");
        if (std::ranges::find(warnings_, text) == warnings_.end()) warnings_.push_back(text);
    }
}

/// Makes the prolongator of the aggregates and the triple product; reuses their patterns if they
/// exist. Returns the near-null space of the next level; nothing where new patterns would take more
/// than `max_operations`.
template <class C>
std::optional<DeviceVectors> Hierarchy<C>::make_products(const Context& context, Level& level,
                                                         DeviceVectors& near_null,
                                                         double max_operations) {
    const Phase phase(context, "setup: products", 0, PhaseStep::setup);
    const BsrView<double> a = level.matrix.view();
    TentativeProlongator tentative =
        make_prolongator(context, level, a, near_null, level.products.p);
    if (&level == &levels_.front()) {
        near_null.values = {};
        if (!options_.near_null->values.empty()) {
            warn_of_dropped(copy_to_host(context, tentative.dropped), near_null.columns);
        }
    }
    level.prolongator_blocks = level.products.p.blocks();
    const auto release_matrix = [&] { release_first_matrix(level); };
    if (level.products.product.blocks() > 0) {
        tessera::update(context, a, level.products, release_matrix);
    } else {
        auto products = bounded_triple_product(context, std::move(level.products.p), a,
                                               max_operations, release_matrix);
        if (!products) return std::nullopt;
        level.products = std::move(*products);
    }
    set_dropped(context, tentative.dropped, level.products.result);
    release(level.products.product);
    return std::move(tentative.coarse);
}

/// Makes the prolongator of the aggregates, on its pattern if it has one.
template <class C>
TentativeProlongator Hierarchy<C>::make_prolongator(const Context& context, const Level& level,
                                                    const BsrView<double>& a,
                                                    const DeviceVectors& near_null,
                                                    BsrMatrix<double>& prolongator) const {
    TentativeProlongator tentative =
        tentative_prolongator(context, level.aggregates, near_null, a.height);
    smooth_prolongator(context, a, level.aggregates.has_dense, tentative.prolongator.view(),
                       options_.omega * options_.lambda_factor / level.lambda, prolongator);
    tentative.prolongator = {};
    return tentative;
}

#define TESSERA_INSTANTIATE(C)                                                                 \
    template bool Hierarchy<C>::coarsen(const Context&, DeviceVectors&, DeviceCoordinates&);   \
    template std::optional<DeviceVectors> Hierarchy<C>::make_products(const Context&, Level&,  \
                                                                      DeviceVectors&, double); \
    template TentativeProlongator Hierarchy<C>::make_prolongator(                              \
        const Context&, const Level&, const BsrView<double>&, const DeviceVectors&,            \
        BsrMatrix<double>&) const;
TESSERA_INSTANTIATE(float)
TESSERA_INSTANTIATE(double)

}  // namespace tessera::multigrid
