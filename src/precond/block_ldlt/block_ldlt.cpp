#include "tessera/block_ldlt.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/checks.hpp"
#include "base/concat.hpp"
#include "base/dispatch.hpp"
#include "base/find_csr_entry.hpp"
#include "base/phases.hpp"
#include "precond/block_ldlt/block_ldlt_state.hpp"
#include "precond/block_ldlt/config.hpp"
namespace tessera {

void check_options(const BlockLdltOptions& options) {
    const Index k = options.block;
    require(k == 1 || k == 4 || k == 8 || k == 16 || k == 32,
            "block_ldlt: blocks have 1, 4, 8, 16 or 32 rows");
    require(options.fill >= 0 && options.fill <= 1000, "block_ldlt: fill must be within 0..1000");
    require(options.sweeps >= 1 && options.sweeps <= 1000,
            "block_ldlt: sweeps must be within 1..1000");
    require(options.epsilon <= 1e6, "block_ldlt: epsilon must be within 0..1e6");
    require(options.delta >= 0 && options.delta <= 1, "block_ldlt: delta must be within 0..1");
    require(options.solve_sweeps >= 0 && options.solve_sweeps <= 1000,
            "block_ldlt: solve_sweeps must be within 0..1000");
    require(options.outer_threshold >= 0 && options.outer_threshold <= 1,
            "block_ldlt: outer_threshold must be within 0..1");
    require(options.method == BlockLdltStage::jacobi || options.method == BlockLdltStage::level,
            "block_ldlt: method must be jacobi or level");
    require(options.pivoting != batched::Pivoting::partial,
            "block_ldlt: pivoting must be static, bunch_kaufman, rook or complete");
}

namespace {

/// Outer pivoting: rounds, and the largest share of the block rows that a round may move.
constexpr int max_rounds = 3;
constexpr double max_delayed_share = 0.6;

/// The scaling of a matching, rounded to T and clamped to its range.
template <class T>
std::vector<T> scaling_in(const std::vector<double>& scaling) {
    constexpr double smallest = double(std::numeric_limits<T>::min());
    constexpr double largest = double(std::numeric_limits<T>::max());
    std::vector<T> narrow(scaling.size());
    std::ranges::transform(scaling, narrow.begin(),
                           [&](double s) { return T(std::clamp(s, smallest, largest)); });
    return narrow;
}

/// The entries of a matrix in host memory whose mirror image is stored too: matching and ordering
/// need a symmetric pattern.
template <class T>
CsrMatrix<T> paired_entries(const Context& host, const CsrView<T>& matrix) {
    const auto is_paired = [&](Index i, Offset k) {
        return find_csr_entry(matrix, matrix.column_indices[k], i) >= 0;
    };
    std::vector<Offset> offsets{0};
    std::vector<Index> columns;
    std::vector<T> values;
    for (Index i = 0; i < matrix.rows; ++i) {
        for (Offset k = matrix.row_offsets[i]; k < matrix.row_offsets[i + 1]; ++k) {
            if (!is_paired(i, k)) continue;
            columns.push_back(matrix.column_indices[k]);
            values.push_back(matrix.values[k]);
        }
        offsets.push_back(Offset(values.size()));
    }
    return copy_to<T>(host, {matrix.rows, matrix.columns, offsets.back(), offsets.data(),
                             columns.data(), values.data()});
}

/// Symbolic factorisation of `matrix`, which is in host memory, and buffers for the numeric one.
/// Throws OutOfMemory if the Context does not have the memory.
template <class T>
block_ldlt::NumericFactor<T> make_factor(const Context& context, block_ldlt::Grid grid,
                                         const CsrView<T>& matrix,
                                         const BlockLdltOptions& options) {
    using namespace block_ldlt;
    const double block_bytes = double(options.block) * options.block * sizeof(T);
    const double square = double(options.block) * options.block;
    const double max_values = options.max_growth * double(matrix.nonzeros);
    const double max_blocks =
        std::min({2e9, 0.5 * double(context.free_memory()) / block_bytes, max_values / square});
    BlockPattern pattern = arrange_by_levels(
        grid, fill_pattern(grid, matrix, options.fill, Offset(max_blocks), context.threads()));
    const bool by_sweeps = options.method == BlockLdltStage::jacobi;
    count_updates(pattern, context.threads());
    const double operations = double(pattern.updates()) * square * options.block;
    if (operations > 100 * max_values) {
        throw OutOfMemory(concat("block_ldlt: the factorisation takes ", operations,
                                 " multiplications, too many for a matrix with ", matrix.nonzeros,
                                 " entries"));
    }
    return {context,
            SymbolicFactor(context, std::move(grid), std::move(pattern), matrix, by_sweeps ? 3 : 1,
                           by_sweeps ? 2 : 1),
            options.pivoting, by_sweeps};
}

}  // namespace

/// Outer pivoting: block rows with small pivots are ordered after the others, those found in most
/// rounds last, and the factor is computed again.
template <class T>
void BlockLdlt<T>::State::delay_bad_rows(const Context& context, const block_ldlt::Grid& grid,
                                         const CsrView<T>& matrix, const CsrView<T>& host_matrix) {
    const auto k = std::size_t(grid.k);
    std::vector<int> found(std::size_t(grid.block_rows), 0);
    std::vector<Index> order(found.size());
    std::iota(order.begin(), order.end(), 0);
    for (int round = 0; round < max_rounds; ++round) {
        // An update reaches one more moved block with each sweep.
        compute_for_pivots(context, round + 1);
        const std::vector<Index> bad = factor.bad_block_rows(context, options.outer_threshold);
        if (bad.empty() || double(bad.size()) > max_delayed_share * grid.block_rows) return;
        for (const Index block : bad) {
            auto slot = factor.grid().slots.begin() + Offset(block) * grid.k;
            while (*slot < 0) ++slot;
            ++found[std::size_t(grid.slot_of_row[std::size_t(*slot)]) / k];
        }
        std::ranges::stable_sort(order, {}, [&](Index block) { return found[std::size_t(block)]; });
        std::vector<Index> slots;
        for (const Index block : order) {
            const auto first = grid.slots.begin() + Offset(block) * grid.k;
            slots.insert(slots.end(), first, first + grid.k);
        }
        report.delayed += Index(bad.size());
        factor = {};
        factor = make_factor<T>(context, block_ldlt::make_grid(grid.k, grid.rows, std::move(slots)),
                                host_matrix, options);
        load(context, matrix);
    }
}

template <class T>
void BlockLdlt<T>::State::describe_pattern() {
    report.block_rows = factor.grid().block_rows;
    report.levels = factor.levels();
    report.stored_blocks = factor.view().blocks + report.block_rows;
    report.updates = factor.symbolic().updates;
    report.bytes = factor.symbolic().bytes;
    const double square = double(options.block) * options.block;
    const double dense = double(factor.grid().rows) * factor.grid().rows;
    report.stored_share = dense > 0 ? double(report.stored_blocks) * square / dense : 0;
}

template <class T>
BlockLdlt<T>::BlockLdlt(const Context& context, const CsrView<T>& matrix,
                        const BlockLdltOptions& options) {
    check_options(options);
    check_matrix("block_ldlt", matrix);
    check_memory(context, "block_ldlt", matrix);
    const Phase phase(context, "setup", 0, PhaseStep::setup);
    const double start = now();
    const bool symmetric_pattern = check_symmetry(context, matrix, "block_ldlt");
    // Matching, ordering and symbolic factorisation run on the host.
    const Context host = context.on_gpu() ? Context::cpu(context.threads()) : context;
    const CsrMatrix<T> copied = context.on_gpu() ? copy_to_host(context, matrix) : CsrMatrix<T>();
    const CsrView<T> host_matrix = context.on_gpu() ? copied.view() : matrix;
    const CsrMatrix<T> paired =
        symmetric_pattern ? CsrMatrix<T>() : paired_entries(host, host_matrix);
    const CsrView<T> to_order = symmetric_pattern ? host_matrix : paired.view();
    BlockLdltReport report;
    SymmetricMatching matching;
    if (options.matching) {
        matching = match_symmetric(host, to_order);
        report.pairs = matching.pairs;
        report.structural_rank = matching.structural_rank;
    } else {
        matching.scaling.assign(std::size_t(matrix.rows), 1.0);
    }
    report.ordering =
        options.ordering.value_or(options.fill == 0 ? OrderingMethod::rcm : OrderingMethod::amd);
    const auto grid = block_ldlt::make_grid(
        options.block, matrix.rows,
        order_blocks<T>(host, to_order, matching.partner, options.block, report.ordering));
    report.padding = Index(grid.slots.size()) - grid.rows;

    state_ = std::unique_ptr<State>(
        new State{options, report, copy_to_buffer(context, scaling_in<T>(matching.scaling)),
                  plan_spmv(context, matrix), make_factor<T>(context, grid, host_matrix, options)});
    state_->load(context, matrix);
    state_->report.symbolic_seconds = now() - start;
    if (options.outer) state_->delay_bad_rows(context, grid, matrix, host_matrix);
    block_ldlt::reserve_apply_inverse<T>(context, state_->factor.symbolic());
    state_->describe_pattern();
    state_->choose_stage(context, matrix);
    state_->apply_sign_option(context);
}

template <class T>
BlockLdlt<T>::~BlockLdlt() = default;

template <class T>
Index BlockLdlt<T>::rows() const {
    return Index(state_->scale.size());
}

template <class T>
void BlockLdlt<T>::State::apply(const Context& context, const T* r, T* z) const {
    if (stage == BlockLdltStage::none) {
        copy(context, std::span<const T>(r, scale.view().size()),
             std::span<T>(z, scale.view().size()));
        return;
    }
    block_ldlt::apply_inverse(context, factor, scale.view(), options.solve_sweeps, r, z);
}

template <class T>
void BlockLdlt<T>::apply(const Context& context, std::span<const T> r, std::span<T> z) const {
    check_vector("block_ldlt", "r", r, rows());
    check_vector("block_ldlt", "z", z, rows());
    const double square = double(state_->options.block) * state_->options.block;
    const double blocks = double(2 * state_->report.stored_blocks - state_->report.block_rows);
    const Phase phase(context, "apply", (blocks * square + 6.0 * rows()) * sizeof(T));
    state_->apply(context, r.data(), z.data());
}

template <class T>
void BlockLdlt<T>::update(const Context& context, const CsrView<T>& matrix) {
    check_matrix("block_ldlt", matrix);
    const Phase phase(context, "setup", 0, PhaseStep::setup);
    require(state_->factor.symbolic().has_pattern_of(context, matrix),
            "block_ldlt: update needs the pattern that it was set up with");
    check_symmetry(context, matrix, "block_ldlt");
    state_->load(context, matrix);
    state_->compute_stage(context, matrix, state_->stage);
    state_->apply_sign_option(context);
}

template <class T>
const BlockLdltOptions& BlockLdlt<T>::options() const {
    return state_->options;
}

template <class T>
const BlockLdltReport& BlockLdlt<T>::report() const {
    return state_->report;
}

template <class T>
BlockLdltFactor<T> BlockLdlt<T>::factor(const Context& context) const {
    if (state_->stage == BlockLdltStage::none) return {};
    const auto& factor = state_->factor;
    const auto& symbolic = factor.symbolic();
    return {factor.grid().slots,
            copy_to_host(context, state_->scale),
            copy_to_host(context, symbolic.rows),
            copy_to_host(context, symbolic.columns),
            copy_to_host(context, factor.v()),
            block_ldlt::diagonal_blocks(context, factor)};
}

template class BlockLdlt<float>;
template class BlockLdlt<double>;

}  // namespace tessera
