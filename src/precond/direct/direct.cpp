#include "tessera/direct.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/checks.hpp"
#include "base/phases.hpp"
#include "base/scratch/scratch.hpp"
#include "precond/direct/direct_state.hpp"

namespace tessera {

namespace {

std::string short_text(double number) {
    return number_text(number, std::chars_format::scientific, 1);
}

/// Throws InvalidArgument if a factorisation takes more operations than allowed.
void require_few(double flops, double max_flops) {
    if (max_flops <= 0 || flops <= max_flops) return;
    throw InvalidArgument("direct: the factorisation takes " + short_text(flops) +
                              " operations, more than max_flops=" + short_text(max_flops),
                          "preconditioner");
}

/// A matrix in host memory: that of the caller, or a copy of one on a GPU.
template <class T>
class HostMatrix {
  public:
    HostMatrix(const Context& context, const CsrView<T>& matrix) : view_(matrix) {
        if (!context.on_gpu()) return;
        copy_ = copy_to_host(context, matrix);
        view_ = copy_.view();
    }
    const CsrView<T>& view() const { return view_; }

  private:
    CsrMatrix<T> copy_;
    CsrView<T> view_;
};

/// ||A||_1.
template <class T>
double column_norm(const CsrView<T>& matrix) {
    std::vector<double> sums(std::size_t(matrix.columns), 0);
    for (Offset k = 0; k < matrix.nonzeros; ++k) {
        sums[matrix.column_indices[k]] += std::abs(double(matrix.values[k]));
    }
    return sums.empty() ? 0 : *std::ranges::max_element(sums);
}

/// PreconditionerReport::singular.
template <class T>
std::string singularity(const DirectReport& report, Index rows) {
    const std::string size = std::to_string(rows);
    if (report.structural_rank < rows) {
        return "the matrix is singular whatever its values: its pattern allows a rank of " +
               std::to_string(report.structural_rank) + " of " + size;
    }
    if (report.null_pivots > 0) {
        return "the matrix is singular: " + std::to_string(report.null_pivots) + " of its " + size +
               (report.null_pivots == 1 ? " columns has no pivot" : " columns have no pivot");
    }
    constexpr double epsilon = double(std::numeric_limits<T>::epsilon());
    const double rounding = 8 * epsilon * std::min(rows, 1000);
    if (report.smallest_pivot_row < 0 || report.smallest_pivot > rounding) return "";
    return concat("the matrix is singular to working precision: the pivot of row ",
                  report.smallest_pivot_row, " is ", short_text(report.smallest_pivot),
                  " of the largest entry after scaling");
}

}  // namespace

/// Everything that the pattern, and the values at the setup, decide.
template <class T>
void Direct<T>::State::analyse(const CsrView<T>& matrix) {
    const double start = now();
    const bool symmetric = options.symmetric && is_symmetric(host, matrix);
    arrangement = direct::arrange(host, matrix, symmetric, options);
    {
        const direct::PatternView pattern = arrangement.pattern(matrix);
        const direct::EliminationTree tree = direct::make_elimination_tree(
            pattern, direct::elimination_order(host, pattern, arrangement));
        report.flops = tree.flops(symmetric);
        require_few(report.flops, options.max_flops);
        fronts = direct::make_fronts(matrix, arrangement, tree);
    }
    arrangement.symmetric_pattern = {};
    report.symmetric = symmetric;
    report.matched = arrangement.matched;
    report.structural_rank = arrangement.structural_rank;
    report.blocks = arrangement.blocks;
    report.fronts = fronts.count();
    report.analysis_seconds = now() - start;
}

template <class T>
void Direct<T>::State::compute(const CsrView<T>& matrix) {
    is_complete = false;
    is_finite = first_non_finite_row(host, matrix) < 0;
    if (!is_finite) return;
    norm = column_norm(matrix);
    if (fronts.first.empty()) analyse(matrix);
    const double analysed = now();
    factor.compute(host, matrix, arrangement, fronts, threshold());
    memory.set(fronts.bytes() + factor.peak_bytes());
    memory.set(fronts.bytes() + factor.bytes());
    const direct::PivotCounts& pivots = factor.pivots();
    report.largest_front = factor.largest_front();
    report.factor_entries = factor.entries();
    report.factor_bytes = factor.bytes();
    report.delayed = factor.delayed();
    report.null_pivots = pivots.null_pivots;
    report.positive = pivots.positive;
    report.negative = pivots.negative;
    is_in_range = std::isfinite(factor.largest_entry());
    report.smallest_pivot = pivots.smallest_row < 0 ? 1 : pivots.smallest / factor.largest_entry();
    report.smallest_pivot_row =
        pivots.smallest_row < 0 ? -1 : fronts.row[std::size_t(pivots.smallest_row)];
    report.factor_seconds = now() - analysed;
    is_complete = is_in_range;
}

template <class T>
Direct<T>::Direct(const Context& context, const CsrView<T>& matrix, const DirectOptions& options) {
    require(options.threshold <= 0.5, "direct: threshold must be within 0..0.5");
    check_matrix("direct", matrix);
    check_memory(context, "direct", matrix);
    check_square("direct", matrix.rows, matrix.columns);
    const Phase phase(context, "setup", 0, PhaseStep::setup);
    const HostMatrix<T> host(context, matrix);
    const CsrView<T>& view = host.view();
    const auto offsets = view.row_offsets_span();
    const auto columns = view.column_indices_span();
    state_ = std::unique_ptr<State>(
        new State{options,
                  {},
                  context.on_gpu() ? Context::cpu(context.threads()) : context,
                  context.on_gpu(),
                  {offsets.begin(), offsets.end()},
                  {columns.begin(), columns.end()}});
    state_->compute(view);
}

template <class T>
Direct<T>::~Direct() = default;

template <class T>
Index Direct<T>::rows() const {
    return Index(state_->row_offsets.size()) - 1;
}

template <class T>
bool Direct<T>::can_be_captured() const {
    return !state_->on_gpu;
}

template <class T>
void Direct<T>::apply(const Context& context, std::span<const T> r, std::span<T> z) const {
    apply_vectors(context, one_vector(r), one_vector(z));
}

template <class T>
void Direct<T>::State::solve(const Context& cpu, bool transposed, Vectors<const T> b,
                             Vectors<T> x) const {
    const Scratch<T> work(cpu, direct::solve_work(fronts, factor, b.count));
    direct::solve_factors(cpu, arrangement, fronts, factor, transposed, b, x, work.data());
}

template <class T>
void Direct<T>::apply_vectors(const Context& context, Vectors<const T> r, Vectors<T> z) const {
    apply(context, false, r, z);
}

template <class T>
void Direct<T>::apply_transposed(const Context& context, Vectors<const T> r, Vectors<T> z) const {
    apply(context, true, r, z);
}

template <class T>
void Direct<T>::apply(const Context& context, bool transposed, Vectors<const T> r,
                      Vectors<T> z) const {
    check_vectors("direct", "r", r, rows());
    check_vectors("direct", "z", z, rows());
    require(r.count == z.count, "direct: r has ", r.count, " vectors, z has ", z.count);
    const State& state = *state_;
    state.require_factors();
    const Phase phase(context, "apply", double(state.report.factor_entries) * sizeof(T) * r.count);
    if (!state.on_gpu) return state.solve(context, transposed, r, z);
    const Context host = Context::cpu(1);
    std::vector<T> values(static_cast<std::size_t>(rows()));
    for (int v = 0; v < r.count; ++v) {
        copy_to_host(context, r[v], std::span<T>(values));
        state.solve(host, transposed, one_vector(std::span<const T>(values)),
                    one_vector(std::span<T>(values)));
        copy_from_host(context, std::span<const T>(values), z[v]);
    }
}

template <class T>
void Direct<T>::update(const Context& context, const CsrView<T>& matrix) {
    check_matrix("direct", matrix);
    const Phase phase(context, "setup", 0, PhaseStep::setup);
    const HostMatrix<T> host(context, matrix);
    require(state_->has_pattern_of(host.view()),
            "direct: update needs the pattern that it was set up with");
    if (state_->report.symmetric && !is_symmetric(state_->host, host.view())) {
        state_->fronts = {};  // LU needs another analysis.
    }
    state_->compute(host.view());
}

template <class T>
const DirectOptions& Direct<T>::options() const {
    return state_->options;
}

template <class T>
const DirectReport& Direct<T>::report() const {
    return state_->report;
}

template <class T>
PreconditionerReport Direct<T>::make_report() const {
    const DirectReport& report = state_->report;
    PreconditionerReport result;
    if (!state_->is_complete) {
        result.unusable = !state_->is_finite     ? "the matrix has a NaN or infinity"
                          : !state_->is_in_range ? "the scaled matrix leaves the range of its type"
                                                 : "the latest factorisation was not completed";
        return result;
    }
    ReportValues values{{"factorisation", report.symmetric ? "LDL^T" : "LU"},
                        {"flops", report.flops},
                        {"factor_entries", report.factor_entries},
                        {"factor_bytes", report.factor_bytes},
                        {"fronts", Offset(report.fronts)},
                        {"largest_front", Offset(report.largest_front)},
                        {"delayed_pivots", report.delayed}};
    if (report.matched) values.push_back({"structural_rank", Offset(report.structural_rank)});
    if (report.blocks > 1) values.push_back({"diagonal_blocks", Offset(report.blocks)});
    if (report.symmetric) {
        values.push_back({"positive_pivots", Offset(report.positive)});
        values.push_back({"negative_pivots", Offset(report.negative)});
    }
    values.push_back({"null_pivots", Offset(report.null_pivots)});
    values.push_back({"smallest_pivot", report.smallest_pivot});
    result.values = {{"direct", std::move(values)}};
    result.singular = singularity<T>(report, rows());
    return result;
}

template class Direct<float>;
template class Direct<double>;

}  // namespace tessera
