#include "precond/multigrid/setup/coarsest.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/checks.hpp"
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

/// Orthonormal near-null vectors that the coarsest matrix maps to rounding errors alone: the modes
/// of a body that can move.
std::vector<std::vector<double>> free_modes(const std::vector<double>& dense,
                                            const NearNullSpace& near_null, double rounding) {
    const auto width = std::size_t(near_null.columns), n = near_null.values.size() / width;
    const auto length_of = [](const std::vector<double>& v) {
        double sum = 0;
        for (const double value : v) sum += value * value;
        return std::sqrt(sum);
    };
    std::vector<std::vector<double>> modes;
    for (std::size_t c = 0; c < width; ++c) {
        std::vector<double> v(n), image(n), sizes(n);
        for (std::size_t i = 0; i < n; ++i) v[i] = near_null.values[i * width + c];
        for (std::size_t i = 0; i < n; ++i) {
            for (std::size_t j = 0; j < n; ++j) {
                image[i] += dense[i * n + j] * v[j];
                sizes[i] += std::abs(dense[i * n + j] * v[j]);
            }
        }
        const double size = length_of(sizes), before = length_of(v);
        if (!(size > 0) || !(length_of(image) <= 256 * rounding * size)) continue;
        for (int pass = 0; pass < 2; ++pass) {
            for (const auto& other : modes) {
                double share = 0;
                for (std::size_t i = 0; i < n; ++i) share += other[i] * v[i];
                for (std::size_t i = 0; i < n; ++i) v[i] -= share * other[i];
            }
        }
        const double length = length_of(v);
        if (!(length > 1e-8 * before)) continue;
        for (double& value : v) value /= length;
        modes.push_back(std::move(v));
    }
    return modes;
}

/// L of the lower triangle L L^T of a symmetric matrix, row-major, in its place. A row whose pivot
/// is a rounding error depends on those before it: it becomes one of zeros with an infinite pivot.
/// Returns how many there are. Throws InvalidArgument for a negative pivot.
int factorise(std::vector<double>& matrix, std::size_t n, double rounding) {
    const double least = 16 * std::sqrt(double(n)) * rounding;
    int dependent = 0;
    for (std::size_t i = 0; i < n; ++i) {
        double* const row = &matrix[i * n];
        const double given = row[i];
        for (std::size_t j = 0; j < i; ++j) {
            const double* const other = &matrix[j * n];
            row[j] = subtract_product(row[j], row, other, j) / other[j];
        }
        const double pivot = subtract_product(given, row, row, i);
        require(pivot > -1000 * least * given && given > 0,
                "amg: the coarsest matrix is not positive definite (row ", i, ")");
        row[i] = std::sqrt(pivot);
        if (pivot > least * given) continue;
        ++dependent;
        std::fill(row, row + i, 0.0);
        row[i] = std::numeric_limits<double>::infinity();
    }
    return dependent;
}

/// The inverse of L L^T in the place of L; rows and columns of zeros for those of infinite pivots.
void invert_factor(const Context& host, std::vector<double>& matrix, std::size_t n) {
    // Row c of U is column c of L^-1: forward substitution for the unit vector, from c down.
    std::vector<double> columns(n * n, 0.0);
    const auto each_row = [&](auto&& f) {
        parallel_tasks(host.threads(), Offset(n), [&](Offset c) { f(std::size_t(c)); });
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
}

/// The matrix with all its zeros, row-major, in host memory.
std::vector<double> dense(const Context& context, const BsrMatrix<double>& matrix, std::size_t n) {
    const auto offsets = copy_to_host(context, matrix.row_offsets());
    const auto columns = copy_to_host(context, matrix.column_indices());
    const auto values = copy_to_host(context, matrix.values());
    const auto b = std::size_t(matrix.view().height);
    std::vector<double> all(n * n, 0.0);
    for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
        for (auto k = std::size_t(offsets[i]); k < std::size_t(offsets[i + 1]); ++k) {
            for (std::size_t e = 0; e < b * b; ++e) {
                all[(i * b + e / b) * n + std::size_t(columns[k]) * b + e % b] =
                    values[k * b * b + e];
            }
        }
    }
    return all;
}

}  // namespace

CoarsestInverse invert_coarsest(const Context& context, const BsrMatrix<double>& matrix,
                                const DeviceVectors& near_null, double rounding) {
    const auto n = std::size_t(matrix.view().block_rows) * std::size_t(matrix.view().height);
    const Context host = Context::cpu(context.threads());
    CoarsestInverse result{dense(context, matrix, n), 0};
    const auto modes = free_modes(
        result.inverse, {near_null.columns, copy_to_host(context, near_null.values)}, rounding);
    for (const auto& v : modes) {
        for (std::size_t e = 0; e < n * n; ++e) result.inverse[e] += v[e / n] * v[e % n];
    }
    result.modes = int(modes.size()) + factorise(result.inverse, n, rounding);
    invert_factor(host, result.inverse, n);
    return result;
}

}  // namespace tessera::multigrid
