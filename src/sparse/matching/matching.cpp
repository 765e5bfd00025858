#include <algorithm>
#include <cmath>

#include "base/checks.hpp"
#include "base/parallel.hpp"
#include "base/phases.hpp"
#include "sparse/matching/cycles.hpp"
#include "sparse/matching/shortest_paths.hpp"
#include "tessera/csr.hpp"
#include "tessera/detail/ordering.hpp"

namespace tessera {

namespace {

using matching::Assignment;
using matching::infinite;

/// -log2 |a|, infinite for zeros.
template <class T>
std::vector<double> log_costs(const Context& cpu, std::span<const T> values) {
    std::vector<double> costs(values.size());
    const auto fill = [&](Offset first, Offset last) {
        double size = -1, cost = 0;  // Neighbours are often equal.
        for (Offset k = first; k < last; ++k) {
            const double next = std::abs(double(values[k]));
            if (next != size) {
                size = next;
                cost = -std::log2(size);
            }
            costs[k] = cost;
        }
    };
    parallel_ranges(cpu.threads(), Offset(values.size()), fill);
    return costs;
}

template <class T>
Assignment solve_assignment(const Context& cpu, const CsrView<T>& matrix, bool symmetric = true) {
    const std::vector<double> costs = log_costs(cpu, matrix.values_span());
    const matching::Costs all{matrix.rows, matrix.row_offsets, matrix.column_indices, costs.data()};
    return matching::ShortestPaths(all, cpu.threads(), symmetric).solve();
}

double clamped_power(double exponent) { return std::exp2(std::clamp(exponent, -1000., 1000.)); }

/// Unmatched rows: s_i = 1 / max_k |a_ik| s_k over the matched rows k.
template <class T>
void scale_unmatched(const CsrView<T>& matrix, const std::vector<Index>& column_of_row,
                     std::vector<double>& scaling) {
    for (Index i = 0; i < matrix.rows; ++i) {
        if (column_of_row[i] >= 0) continue;
        double largest = -infinite;
        for (Offset k = matrix.row_offsets[i]; k < matrix.row_offsets[i + 1]; ++k) {
            const Index j = matrix.column_indices[k];
            if (column_of_row[j] < 0 || matrix.values[k] == T(0)) continue;
            largest = std::max(
                largest, std::log2(std::abs(double(matrix.values[k]))) + std::log2(scaling[j]));
        }
        scaling[i] = largest > -infinite ? clamped_power(-largest) : 1;
    }
}

/// For structurally singular symmetric matrices: matches the submatrix of the rows (and columns) of
/// a matching of largest cardinality, which has a perfect matching. Two other rows have no entry in
/// common, else the cardinality would be larger.
template <class T>
Assignment match_submatrix(const Context& cpu, const CsrView<T>& matrix, const Assignment& first) {
    std::vector<Index> matched_rows;
    for (Index i = 0; i < matrix.rows; ++i) {
        if (first.column_of_row[i] >= 0) matched_rows.push_back(i);
    }
    std::vector<Index> new_number(std::size_t(matrix.rows), -1);
    for (std::size_t i = 0; i < matched_rows.size(); ++i) new_number[matched_rows[i]] = Index(i);
    std::vector<Offset> row_offsets{0};
    std::vector<Index> columns;
    std::vector<T> values;
    for (const Index i : matched_rows) {
        for (Offset k = matrix.row_offsets[i]; k < matrix.row_offsets[i + 1]; ++k) {
            const Index j = new_number[matrix.column_indices[k]];
            if (j < 0) continue;
            columns.push_back(j);
            values.push_back(matrix.values[k]);
        }
        row_offsets.push_back(Offset(values.size()));
    }
    const auto rows = Index(matched_rows.size());
    const Assignment submatrix = solve_assignment<T>(
        cpu,
        {rows, rows, Offset(values.size()), row_offsets.data(), columns.data(), values.data()});
    Assignment whole{std::vector<Index>(new_number.size(), -1),
                     std::vector<double>(new_number.size(), 0),
                     std::vector<double>(new_number.size(), 0), submatrix.cardinality};
    for (std::size_t i = 0; i < matched_rows.size(); ++i) {
        const Index j = submatrix.column_of_row[i];
        whole.column_of_row[matched_rows[i]] = j < 0 ? -1 : matched_rows[j];
        whole.row_dual[matched_rows[i]] = submatrix.row_dual[i];
        whole.column_dual[matched_rows[i]] = submatrix.column_dual[i];
    }
    return whole;
}

}  // namespace

template <class T>
SymmetricMatching match_symmetric(const Context& cpu, const CsrView<T>& matrix) {
    require(!cpu.on_gpu(), "match_symmetric works in host memory: give it a CPU context");
    check_matrix("match_symmetric", matrix);
    check_square("match_symmetric", matrix.rows, matrix.columns);
    const Phase phase(cpu, "matching", 0);
    Assignment assignment = solve_assignment(cpu, matrix);
    if (assignment.cardinality < matrix.rows) assignment = match_submatrix(cpu, matrix, assignment);

    SymmetricMatching result;
    result.structural_rank = assignment.cardinality;
    result.scaling.resize(std::size_t(matrix.rows));
    const auto scale = [&](Offset first, Offset last) {
        for (Offset i = first; i < last; ++i) {
            result.scaling[i] =
                clamped_power((assignment.row_dual[i] + assignment.column_dual[i]) / 2);
        }
    };
    parallel_ranges(cpu.threads(), matrix.rows, scale);
    if (assignment.cardinality < matrix.rows) {
        scale_unmatched(matrix, assignment.column_of_row, result.scaling);
    }
    result.partner =
        matching::cut_cycles(cpu.threads(), matrix, result.scaling, assignment.column_of_row);
    for (Index i = 0; i < matrix.rows; ++i) result.pairs += result.partner[i] > i;
    return result;
}

template <class T>
ColumnMatching match_columns(const Context& cpu, const CsrView<T>& matrix) {
    require(!cpu.on_gpu(), "match_columns works in host memory: give it a CPU context");
    check_matrix("match_columns", matrix);
    check_square("match_columns", matrix.rows, matrix.columns);
    const Phase phase(cpu, "matching", 0);
    const Assignment assignment = solve_assignment(cpu, matrix, false);
    ColumnMatching result;
    result.structural_rank = assignment.cardinality;
    result.row_of_column.assign(std::size_t(matrix.rows), -1);
    std::vector<Index> free_rows;
    for (Index i = 0; i < matrix.rows; ++i) {
        const Index j = assignment.column_of_row[i];
        if (j < 0) {
            free_rows.push_back(i);
        } else {
            result.row_of_column[j] = i;
        }
        result.row_scaling.push_back(clamped_power(assignment.row_dual[i]));
        result.column_scaling.push_back(clamped_power(assignment.column_dual[i]));
    }
    auto next = free_rows.begin();
    for (Index& row : result.row_of_column) {
        if (row < 0) row = *next++;
    }
    return result;
}

template ColumnMatching match_columns<float>(const Context&, const CsrView<float>&);
template ColumnMatching match_columns<double>(const Context&, const CsrView<double>&);
template SymmetricMatching match_symmetric<float>(const Context&, const CsrView<float>&);
template SymmetricMatching match_symmetric<double>(const Context&, const CsrView<double>&);

}  // namespace tessera
