#include <algorithm>
#include <cmath>

#include "base/checks.hpp"
#include "base/phases.hpp"
#include "precond/direct/direct_state.hpp"

// The part of Direct that analyses and factors a matrix in host memory.
namespace tessera {

namespace {

std::string operations_text(double number) {
    return number_text(number, std::chars_format::scientific, 1);
}

/// Throws InvalidArgument if a factorisation takes more operations than allowed.
void require_few(double flops, double max_flops) {
    if (max_flops <= 0 || flops <= max_flops) return;
    throw InvalidArgument("direct: the factorisation takes " + operations_text(flops) +
                              " operations, more than max_flops=" + operations_text(max_flops),
                          "preconditioner");
}

/// ||A||_1; not finite where an entry is not.
template <class T>
double column_norm(const CsrView<T>& matrix) {
    std::vector<double> sums(std::size_t(matrix.columns), 0);
    for (Offset k = 0; k < matrix.nonzeros; ++k) {
        sums[matrix.column_indices[k]] += std::abs(double(matrix.values[k]));
    }
    double largest = 0;
    for (const double sum : sums) {
        if (std::isnan(sum)) return sum;
        largest = std::max(largest, sum);
    }
    return largest;
}

}  // namespace

/// Everything that the pattern, and the values at the setup, decide: the plan of fronts, or rows
/// where `may_be_simplicial`.
template <class T>
void Direct<T>::State::analyse(const CsrView<T>& matrix, bool may_be_simplicial) {
    const double start = now();
    row_plan.reset();
    fronts = {};
    if (!known_symmetric) known_symmetric = is_symmetric(host, matrix);
    const bool symmetric = options.symmetric && *known_symmetric;
    arrangement = direct::arrange(host, matrix, symmetric, options, may_be_simplicial);
    const direct::PatternView pattern = arrangement.pattern(matrix);
    std::vector<Index> order = direct::elimination_order(host, pattern, arrangement);
    std::optional<direct::RowPlan> plan;
    if (may_be_simplicial && arrangement.structural_rank == matrix.rows) {
        plan = direct::plan_rows(pattern, arrangement, order);
    }
    if (!plan && arrangement.by_pattern) return analyse(matrix, false);
    report.symmetric = symmetric;
    report.matched = arrangement.matched;
    report.structural_rank = arrangement.structural_rank;
    report.blocks = arrangement.blocks;
    report.fronts = 0;
    if (plan) {
        report.flops = plan->flops;
        require_few(report.flops, options.max_flops);
        row_plan = std::move(plan);
    } else {
        plan_fronts(matrix, std::move(order));
    }
    report.analysis_seconds = now() - start;
}

template <class T>
void Direct<T>::State::plan_fronts(const CsrView<T>& matrix, std::vector<Index> order) {
    row_plan.reset();
    const direct::EliminationTree tree =
        direct::make_elimination_tree(arrangement.pattern(matrix), std::move(order));
    report.flops = tree.flops(arrangement.symmetric);
    require_few(report.flops, options.max_flops);
    fronts = direct::make_fronts(matrix, arrangement, tree);
    arrangement.symmetric_pattern = {};
    report.fronts = fronts.count();
}

template <class T>
void Direct<T>::State::measure(const CsrView<T>& matrix) {
    norm = column_norm(matrix);
    is_finite = std::isfinite(norm) || first_non_finite_row(host, matrix) < 0;
}

template <class T>
void Direct<T>::State::compute(const Context& given, const CsrView<T>& matrix,
                               const CsrView<T>& on_host) {
    is_complete = is_on_host = false;
    device.reset();
    measure(on_host);
    if (!is_finite) return;
    const bool is_first = !is_analysed();
    // Options of pivots are for fronts, as are plans that serve a GPU later.
    const bool may_be_simplicial =
        !given.on_gpu() && options.threshold < 0 && !options.matching.has_value();
    if (is_first) analyse(on_host, may_be_simplicial);
    if (row_plan && factor_by_rows(on_host)) {
        arrangement.symmetric_pattern = {};
        return;
    }
    if (row_plan && is_first && !arrangement.by_pattern) {
        plan_fronts(on_host, std::move(row_plan->order));
    } else if (row_plan) {
        analyse(on_host, false);
    }
    //   stokes:256, 6.5e9 operations  host 314 ms  cuDSS 432 ms (its analysis 383)
    constexpr double min_flops = 1e10;
    if (is_first && report.flops >= min_flops && factor_on_device(given, matrix, on_host)) return;
    factor_on_host(on_host);
}

template <class T>
bool Direct<T>::State::factor_by_rows(const CsrView<T>& matrix) {
    const double start = now();
    if (!simplicial.compute(matrix, arrangement, *row_plan, threshold())) return false;
    memory.set(row_plan->bytes() + simplicial.bytes());
    report.largest_front = 0;
    report.factor_entries = simplicial.entries();
    report.factor_bytes = simplicial.bytes();
    report.delayed = 0;
    report_pivots(simplicial.pivots(), simplicial.largest_entry(), simplicial.row());
    report.factor_seconds = now() - start;
    is_complete = is_on_host = is_in_range = true;
    return true;
}

template <class T>
void Direct<T>::State::report_pivots(const direct::PivotCounts& pivots, double largest,
                                     const std::vector<Index>& row_of_step) {
    report.null_pivots = pivots.null_pivots;
    report.positive = pivots.positive;
    report.negative = pivots.negative;
    const bool has_pivots = pivots.smallest_row >= 0;
    report.smallest_pivot = has_pivots ? pivots.smallest / largest : 1;
    report.smallest_pivot_row = has_pivots ? row_of_step[std::size_t(pivots.smallest_row)] : -1;
}

template <class T>
void Direct<T>::State::factor_on_host(const CsrView<T>& matrix) {
    const double start = now();
    factor.compute(host, matrix, arrangement, fronts, threshold());
    memory.set(fronts.bytes() + factor.peak_bytes());
    memory.set(fronts.bytes() + factor.bytes());
    report.largest_front = factor.largest_front();
    report.factor_entries = factor.entries();
    report.factor_bytes = factor.bytes();
    report.delayed = factor.delayed();
    report_pivots(factor.pivots(), factor.largest_entry(), fronts.row);
    report.factor_seconds = now() - start;
    is_in_range = std::isfinite(factor.largest_entry());
    is_complete = is_on_host = is_in_range;
}

#define TESSERA_INSTANTIATE(T)                                                                     \
    template void Direct<T>::State::analyse(const CsrView<T>&, bool);                              \
    template void Direct<T>::State::plan_fronts(const CsrView<T>&, std::vector<Index>);            \
    template void Direct<T>::State::measure(const CsrView<T>&);                                    \
    template void Direct<T>::State::compute(const Context&, const CsrView<T>&, const CsrView<T>&); \
    template bool Direct<T>::State::factor_by_rows(const CsrView<T>&);                             \
    template void Direct<T>::State::factor_on_host(const CsrView<T>&);
TESSERA_INSTANTIATE(float)
TESSERA_INSTANTIATE(double)
#undef TESSERA_INSTANTIATE

}  // namespace tessera
