#include "precond/incomplete/ilu/threshold.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <queue>

#include "base/check_time.hpp"
#include "base/dispatch.hpp"

namespace tessera::incomplete {

namespace {

/// A sparse row under construction, by columns.
struct WorkRow {
    explicit WorkRow(std::size_t columns) : value(columns, 0), present(columns, 0) {}

    /// Adds to an entry, which is new if it is not present; lists new ones on the side of `row`.
    void add(Index row, Index column, double number) {
        if (!present[column]) {
            present[column] = 1;
            value[column] = 0;
            if (column < row) waiting.push(column);
            if (column > row) above.push_back(column);
        }
        value[column] += number;
    }

    std::vector<double> value;
    std::vector<char> present;
    /// Columns below the diagonal that are not eliminated, and all above it.
    std::priority_queue<Index, std::vector<Index>, std::greater<>> waiting;
    std::vector<Index> above;
};

/// Appends the entries with the largest values of a row, at most `limit`, by ascending columns.
void append_largest(std::vector<std::pair<Index, double>>& entries, std::size_t limit,
                    TriangleRows& to) {
    const auto larger = [](const auto& a, const auto& b) {
        const double x = std::abs(a.second), y = std::abs(b.second);
        return x > y || (x == y && a.first < b.first);
    };
    if (entries.size() > limit) {
        std::ranges::nth_element(entries, entries.begin() + Offset(limit), larger);
        entries.resize(limit);
    }
    std::ranges::sort(entries);
    for (const auto& [column, value] : entries) {
        to.columns.push_back(column);
        to.values.push_back(value);
    }
    to.offsets.push_back(Offset(to.columns.size()));
}

template <class T>
double largest_entry(const CsrView<T>& matrix, const std::vector<double>& row_scaling,
                     const std::vector<double>& column_scaling) {
    double largest = 0;
    for (Index i = 0; i < matrix.rows; ++i) {
        for (Offset e = matrix.row_offsets[i]; e < matrix.row_offsets[i + 1]; ++e) {
            const double scale = row_scaling[i] * column_scaling[matrix.column_indices[e]];
            largest = std::max(largest, std::abs(scale * double(matrix.values[e])));
        }
    }
    return largest > 0 ? largest : 1;
}

}  // namespace

template <class T>
ThresholdFactor threshold_factor(const Grid& grid, const CsrView<T>& matrix,
                                 const std::vector<double>& row_scaling,
                                 const std::vector<double>& column_scaling,
                                 const ThresholdOptions& options) {
    const auto rows = std::size_t(matrix.rows);
    const double min_pivot = options.epsilon * largest_entry(matrix, row_scaling, column_scaling);
    ThresholdFactor factor;
    factor.d.reserve(rows);
    factor.smallest_pivot = std::numeric_limits<double>::infinity();
    WorkRow work(rows);
    std::vector<std::pair<Index, double>> lower, upper;
    for (Index i = 0; i < matrix.rows; ++i) {
        if (i % 64 == 0) check_time();
        const Index row = grid.rows_in_slots().data()[i];
        const Offset begin = matrix.row_offsets[row], end = matrix.row_offsets[row + 1];
        double sum = 0;
        for (Offset e = begin; e < end; ++e) {
            const Index column = matrix.column_indices[e];
            const double value =
                row_scaling[row] * double(matrix.values[e]) * column_scaling[column];
            sum += std::abs(value);
            work.add(i, grid.slot_of_column.data()[column], value);
        }
        const double tolerance = options.drop * sum / double(std::max<Offset>(1, end - begin));
        lower.clear();
        upper.clear();
        while (!work.waiting.empty()) {  // Ascending: all updates of an entry come before it.
            const Index j = work.waiting.top();
            work.waiting.pop();
            work.present[j] = 0;
            if (std::abs(work.value[j]) <= tolerance) continue;
            const double l = work.value[j] / factor.d[j];
            lower.push_back({j, l});
            for (Offset e = factor.u.offsets[j]; e < factor.u.offsets[j + 1]; ++e) {
                work.add(i, factor.u.columns[e], -work.value[j] * factor.u.values[e]);
            }
        }
        double pivot = work.present[i] ? work.value[i] : 0;
        work.present[i] = 0;
        factor.smallest_pivot = std::min(factor.smallest_pivot, std::abs(pivot));
        if (!(std::abs(pivot) > min_pivot)) {
            pivot = pivot < 0 ? -min_pivot : min_pivot;
            ++factor.perturbed;
        }
        factor.d.push_back(pivot);
        for (const Index j : work.above) {
            work.present[j] = 0;
            if (std::abs(work.value[j]) > tolerance) upper.push_back({j, work.value[j] / pivot});
        }
        work.above.clear();
        const auto limit = std::size_t(std::max(10.0, options.max_share / 2 * double(end - begin)));
        append_largest(lower, limit, factor.l);
        append_largest(upper, limit, factor.u);
    }
    return factor;
}

GatheredRows union_of_triangles(const ThresholdFactor& factor) {
    return union_with_transpose(1, {factor.l.offsets, factor.l.columns},
                                {factor.u.offsets, factor.u.columns});
}

#define TESSERA_INSTANTIATE(T) template decltype(threshold_factor<T>) threshold_factor<T>;
TESSERA_INSTANTIATE(float)
TESSERA_INSTANTIATE(double)

}  // namespace tessera::incomplete
