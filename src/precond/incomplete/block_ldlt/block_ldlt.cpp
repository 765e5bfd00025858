#include "tessera/block_ldlt.hpp"

#include "base/checks.hpp"
#include "base/find_csr_entry.hpp"
#include "base/phases.hpp"
#include "precond/arranged_rows.hpp"
#include "precond/incomplete/block_ldlt/config.hpp"
#include "precond/incomplete/state.hpp"

namespace tessera {

template <class T>
struct BlockLdlt<T>::State : incomplete::State<T> {};

void check_options(const BlockLdltOptions& options) {
    const Index k = options.block;
    require(k == 1 || k == 4 || k == 8 || k == 16 || k == 32,
            "block_ldlt: blocks have 1, 4, 8, 16 or 32 rows");
    incomplete::check_common_options("block_ldlt", options);
    require(options.pivoting != batched::Pivoting::partial,
            "block_ldlt: pivoting must be static, bunch_kaufman, rook or complete");
}

namespace {

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

}  // namespace

template <class T>
BlockLdlt<T>::BlockLdlt(const Context& context, const CsrView<T>& matrix,
                        const BlockLdltOptions& options) {
    check_options(options);
    check_matrix("block_ldlt", matrix);
    check_memory(context, "block_ldlt", matrix);
    const Phase phase(context, "setup", 0, PhaseStep::setup);
    const double start = now();
    const bool symmetric_pattern = check_symmetry(context, matrix, "block_ldlt");
    // Matching and ordering run on the host.
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
    const auto grid = incomplete::make_grid(
        context, options.block, matrix.rows,
        order_blocks<T>(host, to_order, matching.partner, options.block, report.ordering));
    report.padding = Index(grid.slots.size()) - grid.rows;
    const incomplete::GroupPattern pattern = incomplete::group_pattern(context, matrix, 1);

    state_ = std::unique_ptr<State>(
        new State{{options,
                   report,
                   incomplete::scaling_in<T>(context, copy_to_buffer(context, matching.scaling)),
                   {},
                   plan_spmv(context, matrix),
                   incomplete::make_factor<T>(context, grid, pattern, matrix, true, options)}});
    state_->report.symbolic_seconds = now() - start;
    state_->set_up(context, matrix, grid, pattern);
}

template <class T>
BlockLdlt<T>::~BlockLdlt() = default;

template <class T>
Index BlockLdlt<T>::rows() const {
    return Index(state_->row_scale.size());
}

template <class T>
void BlockLdlt<T>::apply(const Context& context, std::span<const T> r, std::span<T> z) const {
    check_vector("block_ldlt", "r", r, rows());
    check_vector("block_ldlt", "z", z, rows());
    const Phase phase(context, "apply", state_->bytes_of_apply());
    state_->apply(context, r.data(), z.data());
}

template <class T>
void BlockLdlt<T>::update(const Context& context, const CsrView<T>& matrix) {
    check_matrix("block_ldlt", matrix);
    const Phase phase(context, "setup", 0, PhaseStep::setup);
    require(state_->factor.symbolic().has_pattern_of(context, matrix),
            "block_ldlt: update needs the pattern that it was set up with");
    check_symmetry(context, matrix, "block_ldlt");
    const auto scale = std::as_const(state_->row_scale).view();
    // Values that were zero, or in other units, need another matching.
    if (!state_->options.matching ||
        (state_->report.structural_rank == rows() && is_scaled<T>(context, matrix, scale, scale))) {
        return state_->update(context, matrix);
    }
    BlockLdlt anew(context, matrix, state_->options);
    state_ = std::move(anew.state_);
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
    const incomplete::BlockPattern& pattern = factor.symbolic().pattern;
    return {
        copy_to_host(context, factor.grid().slots), copy_to_host(context, state_->row_scale),
        copy_to_host(context, pattern.rows),        copy_to_host(context, pattern.columns),
        copy_to_host(context, factor.v()),          incomplete::diagonal_blocks(context, factor)};
}

template class BlockLdlt<float>;
template class BlockLdlt<double>;

}  // namespace tessera
