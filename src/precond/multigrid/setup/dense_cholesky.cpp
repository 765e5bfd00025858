#include "precond/multigrid/setup/dense_cholesky.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/parallel.hpp"

namespace tessera::multigrid {

namespace {

/// a - x^T y
double subtract_product(double a, const double* x, const double* y, std::size_t n) {
    double sums[4] = {a, 0, 0, 0};
    std::size_t k = 0;
    for (; k + 4 <= n; k += 4) {
        for (std::size_t u = 0; u < 4; ++u) sums[u] -= x[k + u] * y[k + u];
    }
    for (; k < n; ++k) sums[0] -= x[k] * y[k];
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

}  // namespace

Index invert_positive_definite(const Context& context, std::vector<double>& matrix, Index rows) {
    const auto n = std::size_t(rows);
    const double least = double(n) * std::numeric_limits<double>::epsilon();
    for (std::size_t i = 0; i < n; ++i) {
        double* const row = &matrix[i * n];
        const double given = row[i];
        for (std::size_t j = 0; j < i; ++j) {
            const double* const other = &matrix[j * n];
            row[j] = subtract_product(row[j], row, other, j) / other[j];
        }
        const double pivot = subtract_product(given, row, row, i);
        if (!(pivot > least * given && given > 0)) return Index(i);
        row[i] = std::sqrt(pivot);
    }
    // Row c of U is column c of L^-1: forward substitution for the unit vector, from c down.
    std::vector<double> columns(n * n, 0.0);
    const auto each_row = [&](auto&& f) {
        parallel_tasks(context.threads(), Offset(n), [&](Offset c) { f(std::size_t(c)); });
    };
    each_row([&](std::size_t c) {
        double* const column = &columns[c * n];
        column[c] = 1 / matrix[c * n + c];
        for (std::size_t i = c + 1; i < n; ++i) {
            const double* const row = &matrix[i * n];
            column[i] = subtract_product(0, row + c, column + c, i - c) / row[i];
        }
    });
    // L^-T L^-1
    each_row([&](std::size_t i) {
        for (std::size_t j = 0; j <= i; ++j) {
            matrix[i * n + j] =
                -subtract_product(0, &columns[i * n + i], &columns[j * n + i], n - i);
        }
    });
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = i + 1; j < n; ++j) matrix[i * n + j] = matrix[j * n + i];
    }
    return -1;
}

}  // namespace tessera::multigrid
