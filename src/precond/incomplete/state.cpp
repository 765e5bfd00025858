#include "precond/incomplete/state.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/concat.hpp"
#include "base/for_each.hpp"

namespace tessera::incomplete {

namespace {

/// Outer pivoting: rounds, and the largest share of the block rows that a round may move.
constexpr int max_rounds = 3;
constexpr double max_delayed_share = 0.6;

}  // namespace

void check_common_options(const char* who, const BlockLdltOptions& options) {
    require(options.fill >= 0 && options.fill <= 1000, who, ": fill must be within 0..1000");
    require(options.sweeps >= 1 && options.sweeps <= 1000, who, ": sweeps must be within 1..1000");
    require(options.epsilon <= 1e6, who, ": epsilon must be within 0..1e6");
    require(options.delta >= 0 && options.delta <= 1, who, ": delta must be within 0..1");
    require(options.outer_threshold >= 0 && options.outer_threshold <= 1, who,
            ": outer_threshold must be within 0..1");
    require(options.solve_sweeps >= 0 && options.solve_sweeps <= 1000, who,
            ": solve_sweeps must be within 0..1000");
    require(options.method == BlockLdltStage::jacobi || options.method == BlockLdltStage::level,
            who, ": method must be jacobi or level");
}

template <class T>
Buffer<T> scaling_in(const Context& context, const Buffer<double>& scaling) {
    Buffer<T> clamped(context, scaling.size());
    for_each_index(context, scaling.size(), ClampScale<T>{scaling.data(), clamped.data()});
    return clamped;
}

template <class T>
NumericFactor<T> make_factor(const Context& context, const Grid& grid, const GroupPattern& pattern,
                             const CsrView<T>& matrix, bool symmetric,
                             const BlockLdltOptions& options, Index max_levels) {
    const double block_bytes = double(options.block) * options.block * sizeof(T);
    const double square = double(options.block) * options.block;
    const double triangles = symmetric ? 1 : 2;
    const double max_values = options.max_growth * double(matrix.nonzeros) / triangles;
    const double max_blocks =
        std::min({2e9, 0.5 * double(context.free_memory()) / block_bytes, max_values / square});
    GridByLevels arranged =
        arrange_by_levels(context, grid,
                          add_fill(context, lower_blocks(context, grid, pattern, symmetric),
                                   options.fill, Offset(max_blocks)),
                          max_levels);
    const bool by_sweeps = options.method == BlockLdltStage::jacobi;
    count_updates(context, arranged.pattern);
    const int products = !symmetric ? 0 : by_sweeps ? 2 : 1;
    const double operations = double(arranged.pattern.updates) * square * options.block;
    if (operations > 100 * max_values) {
        throw OutOfMemory(
            concat("incomplete factors: the factorisation takes ", triangles * operations,
                   " multiplications, too many for a matrix with ", matrix.nonzeros, " entries"));
    }
    return {context,
            SymbolicFactor(context, std::move(arranged), matrix, symmetric,
                           FactorArrays::of_factor(symmetric, by_sweeps ? 3 : 1, products)),
            options.pivoting, by_sweeps};
}

namespace {

/// The row that belongs to each column, in host memory; empty: that of its number.
std::vector<Index> rows_of_columns(const Context& context, const Grid& grid) {
    if (grid.row_slots.empty()) return {};
    const std::vector<Index> slot_of_column = copy_to_host(context, grid.slot_of_column);
    std::vector<Index> rows = copy_to_host(context, grid.row_slots), result;
    for (const Index slot : slot_of_column) result.push_back(rows[std::size_t(slot)]);
    return result;
}

}  // namespace

/// Outer pivoting: block rows with small pivots are ordered after the others, those found in most
/// rounds last, and the factor is computed again.
template <class T>
void State<T>::delay_bad_rows(const Context& context, const Grid& grid, const CsrView<T>& matrix,
                              const GroupPattern& pattern) {
    const auto k = std::size_t(grid.k);
    const std::vector<Index> first_slots = copy_to_host(context, grid.slots);
    const std::vector<Index> first_slot_of = copy_to_host(context, grid.slot_of_column);
    const std::vector<Index> row_of_column = rows_of_columns(context, grid);
    std::vector<int> found(std::size_t(grid.block_rows), 0);
    std::vector<Index> order(found.size());
    std::iota(order.begin(), order.end(), 0);
    for (int round = 0; round < max_rounds; ++round) {
        // An update reaches one more moved block with each sweep.
        compute_for_pivots(context, matrix, round + 1);
        const std::vector<Index> bad = factor.bad_block_rows(context, options.outer_threshold);
        if (bad.empty() || double(bad.size()) > max_delayed_share * grid.block_rows) return;
        const std::vector<Index> current_slots = copy_to_host(context, factor.grid().slots);
        for (const Index block : bad) {
            auto slot = current_slots.begin() + Offset(block) * grid.k;
            while (*slot < 0) ++slot;
            ++found[std::size_t(first_slot_of[std::size_t(*slot)]) / k];
        }
        std::ranges::stable_sort(order, {}, [&](Index block) { return found[std::size_t(block)]; });
        std::vector<Index> slots;
        for (const Index block : order) {
            const auto first = first_slots.begin() + Offset(block) * grid.k;
            slots.insert(slots.end(), first, first + grid.k);
        }
        report.delayed += Index(bad.size());
        const bool symmetric = factor.symmetric();
        factor = {};
        factor = make_factor<T>(
            context, make_grid(context, grid.k, grid.rows, std::move(slots), row_of_column),
            pattern, matrix, symmetric, options);
    }
}

template <class T>
void State<T>::describe_pattern() {
    report.block_rows = factor.grid().block_rows;
    report.levels = factor.levels();
    report.stored_blocks = factor.view().blocks + report.block_rows;
    report.updates = factor.symbolic().pattern.updates;
    report.bytes = factor.symbolic().bytes;
    const double square = double(options.block) * options.block;
    const double dense = double(factor.grid().rows) * factor.grid().rows;
    report.stored_share = dense > 0 ? double(report.stored_blocks) * square / dense : 0;
}

template <class T>
void State<T>::apply(const Context& context, const T* r, T* z, bool transposed) const {
    if (stage == BlockLdltStage::none) {
        const auto rows = std::size_t(row_scale.size());
        copy(context, std::span<const T>(r, rows), std::span<T>(z, rows));
        return;
    }
    apply_inverse(context, factor, scaling(), options.solve_sweeps, r, z, transposed);
}

template <class T>
double State<T>::bytes_of_apply() const {
    const double square = double(options.block) * options.block;
    const double blocks = double(2 * report.stored_blocks - report.block_rows);
    return (blocks * square + 6.0 * double(row_scale.size())) * sizeof(T);
}

template <class T>
void State<T>::set_up(const Context& context, const CsrView<T>& matrix, const Grid& grid,
                      const GroupPattern& pattern) {
    if (options.outer) delay_bad_rows(context, grid, matrix, pattern);
    reserve_apply_inverse<T>(context, factor.symbolic());
    describe_pattern();
    choose_stage(context, matrix);
    apply_sign_option(context);
    taken.reset();
}

template <class T>
void State<T>::update(const Context& context, const CsrView<T>& matrix) {
    compute_stage(context, matrix, stage);
    apply_sign_option(context);
}

ReportValue report_values(const char* name, const BlockLdltReport& details) {
    ReportValues reconstruction, probes;
    for (const double error : details.reconstruction) reconstruction.push_back({"", error});
    for (const auto stage : {BlockLdltStage::jacobi, BlockLdltStage::level,
                             BlockLdltStage::block_jacobi, BlockLdltStage::none}) {
        const double residual = details.probe[int(stage)];
        if (residual >= 0) probes.push_back({to_string(stage), residual});
    }
    return {name, ReportValues{{"block_rows", details.block_rows},
                               {"padding", details.padding},
                               {"pairs", details.pairs},
                               {"structural_rank", details.structural_rank},
                               {"ordering", to_string(details.ordering)},
                               {"levels", details.levels},
                               {"stored_blocks", details.stored_blocks},
                               {"stored_share", details.stored_share},
                               {"updates", details.updates},
                               {"bytes", details.bytes},
                               {"delayed", details.delayed},
                               {"stage", to_string(details.stage)},
                               {"sweeps", details.sweeps},
                               {"best_sweep", details.best_sweep},
                               {"restarts", details.restarts},
                               {"epsilon", details.epsilon},
                               {"perturbed", details.perturbed},
                               {"smallest_pivot", details.smallest_pivot},
                               {"reconstruction", std::move(reconstruction)},
                               {"probes", std::move(probes)},
                               {"probe_products", details.probe_products},
                               {"outcome", details.outcome}}};
}

#define TESSERA_INSTANTIATE(T)                                                     \
    template decltype(scaling_in<T>) scaling_in<T>;                                \
    template decltype(make_factor<T>) make_factor<T>;                              \
    template void State<T>::apply(const Context&, const T*, T*, bool) const;       \
    template double State<T>::bytes_of_apply() const;                              \
    template void State<T>::set_up(const Context&, const CsrView<T>&, const Grid&, \
                                   const GroupPattern&);                           \
    template void State<T>::update(const Context&, const CsrView<T>&);
TESSERA_INSTANTIATE(float)
TESSERA_INSTANTIATE(double)

}  // namespace tessera::incomplete
