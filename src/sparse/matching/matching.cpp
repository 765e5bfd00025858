#include <algorithm>
#include <cmath>

#include "base/dispatch.hpp"
#include "base/parallel.hpp"
#include "base/phases.hpp"
#include "sparse/matching/cycles.hpp"
#include "sparse/matching/shortest_paths.hpp"
#include "tessera/ordering.hpp"
#include "tessera/symmetry.hpp"

namespace tessera {

namespace {

using matching::infinite;

template <class T>
void check_input(const Context& cpu, const CsrView<T>& matrix, const char* who) {
    const std::string name = who;
    if (cpu.on_gpu()) throw InvalidArgument(name + " works in host memory: give it a CPU context");
    if (matrix.rows != matrix.columns) throw InvalidArgument(name + ": the matrix must be square");
    const auto check = [&](Offset first, Offset last) {
        for (Offset k = first; k < last; ++k) {
            if (!std::isfinite(matrix.values[k])) {
                throw InvalidArgument(name + ": the matrix holds values that are not finite");
            }
        }
    };
    parallel_ranges(cpu.threads(), matrix.nonzeros, check);
}

/// -log2 |a|, infinite for zeros.
template <class T>
std::vector<double> log_costs(const Context& cpu, std::span<const T> values) {
    std::vector<double> costs(values.size());
    const auto fill = [&](Offset first, Offset last) {
        for (Offset k = first; k < last; ++k) costs[k] = -std::log2(std::abs(double(values[k])));
    };
    parallel_ranges(cpu.threads(), Offset(values.size()), fill);
    return costs;
}

ProductMatching product_matching(const Context& cpu, const matching::Costs& costs, bool symmetric) {
    matching::Assignment assigned = matching::ShortestPaths(costs, cpu.threads()).solve(symmetric);
    return {std::move(assigned.column_of_row), std::move(assigned.row_dual),
            std::move(assigned.column_dual), assigned.cardinality};
}

template <class T>
ProductMatching match_all(const Context& cpu, const CsrView<T>& matrix, bool symmetric) {
    const std::vector<double> costs = log_costs(cpu, matrix.values_span());
    return product_matching(
        cpu, {matrix.rows, matrix.row_offsets, matrix.column_indices, costs.data()}, symmetric);
}

double clamped_power(double exponent) { return std::exp2(std::clamp(exponent, -1000., 1000.)); }

/// s_i = 1 / max_k |a_ik| s_k over the rows k that are matched, for the others.
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

/// Of a structurally singular symmetric matrix the rows (and columns) that a matching of largest
/// cardinality matches have a perfect matching among themselves, and there is no entry between two
/// of the others: with it the cardinality would be larger.
template <class T>
ProductMatching match_matched_rows(const Context& cpu, const CsrView<T>& matrix,
                                   const ProductMatching& first) {
    std::vector<Index> kept;
    for (Index i = 0; i < matrix.rows; ++i) {
        if (first.column_of_row[i] >= 0) kept.push_back(i);
    }
    std::vector<Index> place(std::size_t(matrix.rows), -1);
    for (std::size_t i = 0; i < kept.size(); ++i) place[kept[i]] = Index(i);
    std::vector<Offset> row_offsets{0};
    std::vector<Index> columns;
    std::vector<T> values;
    for (const Index i : kept) {
        for (Offset k = matrix.row_offsets[i]; k < matrix.row_offsets[i + 1]; ++k) {
            const Index j = place[matrix.column_indices[k]];
            if (j < 0) continue;
            columns.push_back(j);
            values.push_back(matrix.values[k]);
        }
        row_offsets.push_back(Offset(values.size()));
    }
    const std::vector<double> costs = log_costs<T>(cpu, values);
    const ProductMatching part = product_matching(
        cpu, {Index(kept.size()), row_offsets.data(), columns.data(), costs.data()}, true);
    ProductMatching whole;
    whole.cardinality = part.cardinality;
    whole.column_of_row.assign(std::size_t(matrix.rows), -1);
    whole.row_exponents.assign(std::size_t(matrix.rows), 0);
    whole.column_exponents.assign(std::size_t(matrix.rows), 0);
    for (std::size_t i = 0; i < kept.size(); ++i) {
        const Index j = part.column_of_row[i];
        whole.column_of_row[kept[i]] = j < 0 ? -1 : kept[j];
        whole.row_exponents[kept[i]] = part.row_exponents[i];
        whole.column_exponents[kept[i]] = part.column_exponents[i];
    }
    return whole;
}

}  // namespace

template <class T>
ProductMatching maximum_product_matching(const Context& cpu, const CsrView<T>& matrix) {
    check_input(cpu, matrix, "maximum_product_matching");
    const Phase phase(cpu, "matching", 0);
    return match_all(cpu, matrix, false);
}

template <class T>
SymmetricMatching match_symmetric(const Context& cpu, const CsrView<T>& matrix) {
    check_input(cpu, matrix, "match_symmetric");
    const Phase phase(cpu, "matching", 0);
    SymmetryCheck<T>(cpu, matrix.rows).require_symmetric(cpu, matrix, "match_symmetric");
    ProductMatching found = match_all(cpu, matrix, true);
    if (found.cardinality < matrix.rows) found = match_matched_rows(cpu, matrix, found);

    SymmetricMatching result;
    result.structural_rank = found.cardinality;
    result.scaling.resize(std::size_t(matrix.rows));
    const auto scale = [&](Offset first, Offset last) {
        for (Offset i = first; i < last; ++i) {
            result.scaling[i] =
                clamped_power((found.row_exponents[i] + found.column_exponents[i]) / 2);
        }
    };
    parallel_ranges(cpu.threads(), matrix.rows, scale);
    if (found.cardinality < matrix.rows) {
        scale_unmatched(matrix, found.column_of_row, result.scaling);
    }
    result.partner =
        matching::cut_cycles(cpu.threads(), matrix, result.scaling, found.column_of_row);
    for (Index i = 0; i < matrix.rows; ++i) result.pairs += result.partner[i] > i;
    return result;
}

#define TESSERA_INSTANTIATE(T)                                                               \
    template ProductMatching maximum_product_matching<T>(const Context&, const CsrView<T>&); \
    template SymmetricMatching match_symmetric<T>(const Context&, const CsrView<T>&);
TESSERA_INSTANTIATE(float)
TESSERA_INSTANTIATE(double)

}  // namespace tessera
