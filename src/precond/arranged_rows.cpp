#include "precond/arranged_rows.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/check_time.hpp"
#include "base/transpose_pattern.hpp"

namespace tessera {

template <class T>
bool has_small_diagonal(const CsrView<T>& a) {
    const auto rows = std::size_t(a.rows);
    std::vector<double> in_row(rows, 0), in_column(rows, 0), diagonal(rows, 0);
    for (Index i = 0; i < a.rows; ++i) {
        if (i % 1024 == 0) check_time();
        for (Offset k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) {
            const double size = std::abs(double(a.values[k]));
            const Index j = a.column_indices[k];
            in_row[i] = std::max(in_row[i], size);
            in_column[j] = std::max(in_column[j], size);
            if (i == j) diagonal[i] = size;
        }
    }
    for (std::size_t i = 0; i < rows; ++i) {
        if (!(diagonal[i] >= 1e-3 * std::min(in_row[i], in_column[i])) || diagonal[i] == 0) {
            return true;
        }
    }
    return false;
}

template <class T>
std::vector<double> diagonal_scaling(const CsrView<T>& a) {
    std::vector<double> scaling;
    for (Index i = 0; i < a.rows; ++i) {
        if (i % 1024 == 0) check_time();
        double diagonal = 0, largest = 0;
        for (Offset k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) {
            const double size = std::abs(double(a.values[k]));
            largest = std::max(largest, size);
            if (a.column_indices[k] == i) diagonal = size;
        }
        if (diagonal == 0) diagonal = largest;
        scaling.push_back(diagonal > 0 ? 1 / std::sqrt(diagonal) : 1);
    }
    return scaling;
}

template <class T>
bool needs_matching(const CsrView<T>& a) {
    if (has_small_diagonal(a)) return true;
    const std::vector<double> scaling = diagonal_scaling(a);
    //   poisson2d:120, rows times 10^-10 to 10^10  0.19 s, 5.7e6 entries  matched 0.03 s, 5e5
    for (Index i = 0; i < a.rows; ++i) {
        if (i % 1024 == 0) check_time();
        for (Offset k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) {
            const double size = scaling[i] * std::abs(double(a.values[k]));
            if (size * scaling[a.column_indices[k]] > 1e3) return true;
        }
    }
    return false;
}

void round_to_powers_of_two(std::vector<double>& scaling) {
    for (double& s : scaling) {
        int exponent;
        const double half = std::frexp(s, &exponent);  // Within 0.5 .. 1.
        s = std::ldexp(1.0, half < std::numbers::sqrt2 / 2 ? exponent - 1 : exponent);
    }
}

template <class T>
GatheredRows transposed_pattern(const CsrView<T>& a) {
    GatheredRows result{std::vector<Offset>(std::size_t(a.rows) + 1),
                        std::vector<Index>(std::size_t(a.nonzeros))};
    transpose_pattern(a.rows, a.row_offsets, a.column_indices, result.offsets, result.items.data(),
                      [](Offset k, Offset) {
                          if (k % 65536 == 0) check_time();
                      });
    return result;
}

template <class T>
GatheredRows union_pattern(const Context& cpu, const CsrView<T>& a, const GatheredRows& transposed,
                           const std::vector<Index>& row_of_column,
                           const std::vector<Index>& block_of_column) {
    std::vector<Index> column_of_row(std::size_t(a.rows));
    for (Index j = 0; j < a.rows; ++j) column_of_row[row_of_column[j]] = j;
    return gather_rows(cpu.threads(), a.rows, [&](Offset vertex, std::vector<Index>& list) {
        const Index j = Index(vertex), row = row_of_column[j];
        const auto add = [&](Index other) {
            if (other == j) return;
            if (block_of_column.empty() || block_of_column[other] == block_of_column[j]) {
                list.push_back(other);
            }
        };
        for (Offset k = a.row_offsets[row]; k < a.row_offsets[row + 1]; ++k) {
            add(a.column_indices[k]);
        }
        for (Offset k = transposed.offsets[j]; k < transposed.offsets[j + 1]; ++k) {
            add(column_of_row[transposed.items[k]]);
        }
    });
}

#define TESSERA_INSTANTIATE(T)                                      \
    template decltype(has_small_diagonal<T>) has_small_diagonal<T>; \
    template decltype(diagonal_scaling<T>) diagonal_scaling<T>;     \
    template decltype(needs_matching<T>) needs_matching<T>;         \
    template decltype(transposed_pattern<T>) transposed_pattern<T>; \
    template decltype(union_pattern<T>) union_pattern<T>;
TESSERA_INSTANTIATE(float)
TESSERA_INSTANTIATE(double)

}  // namespace tessera
