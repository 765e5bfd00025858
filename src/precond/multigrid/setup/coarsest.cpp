#include "precond/multigrid/setup/coarsest.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/checks.hpp"
#include "base/parallel.hpp"
#include "precond/multigrid/setup/coarsest_rows.hpp"
#include "tessera/vector_ops.hpp"

namespace tessera {

namespace cpu {

namespace {

using multigrid::EliminationFaults;

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

/// L of the lower triangle L L^T of a symmetric matrix, row-major, in its place. A row whose pivot
/// is a rounding error depends on those before it: it becomes one of zeros with an infinite pivot.
/// Ends at a negative pivot.
EliminationFaults factorise(double* matrix, std::size_t n, double tolerance) {
    EliminationFaults faults;
    for (std::size_t i = 0; i < n; ++i) {
        check_time();
        double* const row = &matrix[i * n];
        const double given = row[i];
        for (std::size_t j = 0; j < i; ++j) {
            const double* const other = &matrix[j * n];
            row[j] = subtract_product(row[j], row, other, j) / other[j];
        }
        const double pivot = subtract_product(given, row, row, i);
        if (!(pivot > -1000 * tolerance * given && given > 0)) {
            faults.negative = 1;
            break;
        }
        row[i] = std::sqrt(pivot);
        if (pivot > tolerance * given) continue;
        ++faults.dependent;
        std::fill(row, row + i, 0.0);
        row[i] = std::numeric_limits<double>::infinity();
    }
    return faults;
}

/// The inverse of L L^T in the place of L; rows and columns of zeros for those of infinite pivots.
void invert_factor(const Context& host, double* matrix, std::size_t n) {
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

}  // namespace

EliminationFaults invert_symmetric(const Context& context, Buffer<double>& matrix, Offset n,
                                   double tolerance) {
    const EliminationFaults faults = factorise(matrix.data(), std::size_t(n), tolerance);
    if (faults.negative == 0) invert_factor(context, matrix.data(), std::size_t(n));
    return faults;
}

}  // namespace cpu

namespace multigrid {

namespace {

/// Orthonormal near-null vectors that a matrix maps to rounding errors alone, the modes of a body
/// that can move: `rows` numbers for each, one after the other.
std::vector<double> free_modes(const Context& context, const BsrMatrix<double>& matrix,
                               const DeviceVectors& near_null, double rounding) {
    const auto width = std::size_t(near_null.columns);
    const auto n = std::size_t(near_null.values.size()) / width;
    Buffer<double> images(context, near_null.values.size()), sizes(context, images.size());
    for_each_index(context, images.size(),
                   ApplyToModes{matrix.view(), near_null.columns, near_null.values.data(),
                                images.data(), sizes.data()});
    const auto vectors = copy_to_host(context, near_null.values),
               image = copy_to_host(context, images), size = copy_to_host(context, sizes);
    const auto length = [&](const std::vector<double>& v, std::size_t c) {
        double sum = 0;
        for (std::size_t i = 0; i < n; ++i) sum += v[i * width + c] * v[i * width + c];
        return std::sqrt(sum);
    };
    std::vector<double> modes;
    for (std::size_t c = 0; c < width; ++c) {
        if (!(length(size, c) > 0) || !(length(image, c) <= 256 * rounding * length(size, c))) {
            continue;
        }
        std::vector<double> v(n);
        for (std::size_t i = 0; i < n; ++i) v[i] = vectors[i * width + c];
        for (std::size_t other = 0; other < 2 * modes.size(); other += n) {  // Twice.
            const double* const u = &modes[other % modes.size()];
            double share = 0;
            for (std::size_t i = 0; i < n; ++i) share += u[i] * v[i];
            for (std::size_t i = 0; i < n; ++i) v[i] -= share * u[i];
        }
        double square = 0;
        for (const double value : v) square += value * value;
        if (!(std::sqrt(square) > 1e-8 * length(vectors, c))) continue;
        for (double& value : v) value /= std::sqrt(square);
        modes.insert(modes.end(), v.begin(), v.end());
    }
    return modes;
}

}  // namespace

CoarsestInverse invert_coarsest(const Context& context, const BsrMatrix<double>& matrix,
                                const DeviceVectors& near_null, double rounding) {
    const Offset n = Offset(matrix.view().block_rows) * matrix.view().height;
    const double tolerance = 16 * std::sqrt(double(n)) * rounding;
    CoarsestInverse result{Buffer<double>(context, n * n), 0};
    double* const dense = result.inverse.data();
    fill<double>(context, 0, result.inverse.view());
    const int lanes = sharing_threads(context, n, 8);
    for_each_index(context, n * lanes, WriteDense{lanes, matrix.view(), n, dense});
    const auto modes = free_modes(context, matrix, near_null, rounding);
    const int count = n > 0 ? int(Offset(modes.size()) / n) : 0;
    const Buffer<double> vectors = copy_to_buffer(context, modes);
    if (count > 0) for_each_index(context, n * n, AddModes{n, count, vectors.data(), dense});
    const EliminationFaults faults =
        TESSERA_RUN(invert_symmetric, context, result.inverse, n, tolerance);
    require_positive(faults.negative == 0, "amg: the coarsest matrix is not positive definite");
    result.modes = count + faults.dependent;
    return result;
}

}  // namespace multigrid

}  // namespace tessera
