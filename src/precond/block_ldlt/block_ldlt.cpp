#include "tessera/block_ldlt.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/dispatch.hpp"
#include "base/phases.hpp"
#include "precond/block_ldlt/block_ldlt_state.hpp"
#include "precond/block_ldlt/config.hpp"
#include "precond/block_ldlt/outer_pivoting.hpp"
#include "precond/block_ldlt/reconstruction.hpp"

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
    require(options.pivoting != batched::Pivoting::partial,
            "block_ldlt: pivoting is static, bunch_kaufman, rook or complete");
}

namespace {

/// Outer pivoting goes on so many times, and pushes at most this share of the block rows.
constexpr int most_rounds = 3;
constexpr double largest_push = 0.6;

/// The scaling of a matching in the type of the matrix.
template <class T>
std::vector<T> narrowed(const std::vector<double>& scaling) {
    constexpr double smallest = double(std::numeric_limits<T>::min());
    constexpr double largest = double(std::numeric_limits<T>::max());
    std::vector<T> narrow(scaling.size());
    std::ranges::transform(scaling, narrow.begin(),
                           [&](double s) { return T(std::clamp(s, smallest, largest)); });
    return narrow;
}

/// What the host reads of a matrix: the matrix itself, or a copy of one in the memory of a GPU.
template <class T>
class OnHost {
  public:
    OnHost(const Context& context, const CsrView<T>& matrix) : view_(matrix) {
        if (!context.on_gpu()) return;
        offsets_.resize(std::size_t(matrix.rows) + 1);
        columns_.resize(std::size_t(matrix.nonzeros));
        values_.resize(std::size_t(matrix.nonzeros));
        copy_to_host(context, matrix.row_offsets_span(), std::span<Offset>(offsets_));
        copy_to_host(context, matrix.column_indices_span(), std::span<Index>(columns_));
        copy_to_host(context, matrix.values_span(), std::span<T>(values_));
        view_.row_offsets = offsets_.data();
        view_.column_indices = columns_.data();
        view_.values = values_.data();
    }
    const CsrView<T>& view() const { return view_; }

  private:
    std::vector<Offset> offsets_;
    std::vector<Index> columns_;
    std::vector<T> values_;
    CsrView<T> view_;
};

template <class T>
block_ldlt::BlockFactor<T> make_factor(const Context& context, block_ldlt::Grid grid,
                                       const block_ldlt::BlockRows& blocks,
                                       const CsrView<T>& matrix, const BlockLdltOptions& options) {
    auto pattern = block_ldlt::arrange_by_levels(grid, blocks);
    return {context, std::move(grid), std::move(pattern), matrix, options.pivoting, options.method};
}

}  // namespace

template <class T>
void BlockLdlt<T>::State::push_back(const Context& context, const block_ldlt::Grid& grid,
                                    const block_ldlt::BlockRows& blocks, const CsrView<T>& matrix,
                                    const CsrView<T>& on_host) {
    block_ldlt::PushedBlocks pushed(grid.block_rows);
    for (int round = 0; round < most_rounds; ++round) {
        // What a block that was pushed takes from those now before it is there one sweep later.
        run_first(context, round + 1);
        const std::vector<Index> bad =
            factor.bad_block_rows(context, options.outer_threshold, grid);
        if (bad.empty() || double(bad.size()) > largest_push * grid.block_rows) return;
        pushed.push(bad);
        report.pushed += Index(bad.size());
        factor = {};
        factor =
            make_factor<T>(context, reorder_grid(grid, pushed),
                           reorder_blocks(blocks, pushed, context.threads()), on_host, options);
        factor.load(context, std::as_const(scale).view(), matrix);
    }
}

template <class T>
void BlockLdlt<T>::State::describe_pattern() {
    report.block_rows = factor.grid().block_rows;
    report.levels = factor.levels();
    report.stored_blocks = factor.blocks() + report.block_rows;
    report.triples = factor.triples();
    report.bytes = factor.bytes();
    const double square = double(options.block) * options.block;
    const double dense = double(factor.grid().rows) * factor.grid().rows;
    report.stored_share = dense > 0 ? double(report.stored_blocks) * square / dense : 0;
}

template <class T>
BlockLdlt<T>::BlockLdlt(const Context& context, const CsrView<T>& matrix,
                        const BlockLdltOptions& options) {
    check_options(options);
    require(matrix.rows == matrix.columns, "block_ldlt: the matrix must be square");
    const Phase phase(context, "setup", 0);
    const double start = now();
    const Context host = context.on_gpu() ? Context::cpu(context.threads()) : context;
    const OnHost<T> copied(context, matrix);
    const CsrView<T>& on_host = copied.view();
    const auto rows = std::size_t(matrix.rows);
    BlockLdltReport report;
    SymmetryCheck<T> symmetry(context, matrix.rows);
    SymmetricMatching matching;
    if (options.matching) {
        matching = match_symmetric(host, on_host);
        report.pairs = matching.pairs;
        report.structural_rank = matching.structural_rank;
    } else {
        symmetry.require_symmetric(context, matrix, "block_ldlt");
        matching.scaling.assign(rows, 1.0);
    }
    OrderingOptions ordering;
    ordering.block = options.block;
    ordering.method = report.ordering =
        options.ordering.value_or(options.fill == 0 ? OrderingMethod::rcm : OrderingMethod::amd);
    BlockOrdering ordered =
        order_blocks(host, on_host, std::span<const Index>(matching.partner), ordering);
    report.padding = ordered.padding;

    using namespace block_ldlt;
    const Grid grid = make_grid(options.block, matrix.rows, std::move(ordered.row_of_slot));
    const double block_bytes = double(options.block) * options.block * sizeof(T);
    const double most = std::min(2e9, 0.5 * double(context.free_memory()) / block_bytes);
    const BlockRows blocks =
        fill_pattern(grid, on_host, options.fill, Offset(most), context.threads());
    state_ = std::unique_ptr<State>(
        new State{options, report, copy_to_buffer(context, narrowed<T>(matching.scaling)),
                  make_factor<T>(context, grid, blocks, on_host, options), std::move(symmetry)});
    state_->factor.load(context, std::as_const(state_->scale).view(), matrix);
    state_->report.symbolic_seconds = now() - start;
    if (options.outer) state_->push_back(context, grid, blocks, matrix, on_host);
    state_->describe_pattern();
    state_->choose(context, matrix);
    state_->finish(context);
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
    factor.solve(context, scale.view(), options.solve_sweeps, r, z);
}

template <class T>
void BlockLdlt<T>::apply(const Context& context, std::span<const T> r, std::span<T> z) const {
    require(Index(r.size()) == rows() && Index(z.size()) == rows(),
            "block_ldlt: vectors must have as many elements as the matrix has rows");
    const double square = double(state_->options.block) * state_->options.block;
    const double blocks = double(2 * state_->report.stored_blocks - state_->report.block_rows);
    const Phase phase(context, "apply", (blocks * square + 6.0 * rows()) * sizeof(T));
    state_->apply(context, r.data(), z.data());
}

template <class T>
void BlockLdlt<T>::update(const Context& context, const CsrView<T>& matrix) {
    const Phase phase(context, "setup", 0);
    require(state_->factor.has_pattern_of(context, matrix),
            "block_ldlt: update needs the pattern that it was set up with");
    state_->symmetry.require_symmetric(context, matrix, "block_ldlt");
    state_->factor.load(context, std::as_const(state_->scale).view(), matrix);
    state_->run(context, state_->stage);
    state_->finish(context);
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
double BlockLdlt<T>::reconstruction_error(const Context& context) const {
    return state_->stage == BlockLdltStage::none
               ? std::numeric_limits<double>::quiet_NaN()
               : block_ldlt::exact_reconstruction_error(context, state_->factor);
}

template class BlockLdlt<float>;
template class BlockLdlt<double>;

}  // namespace tessera
