#include "precond/multigrid/block_operations.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/parallel.hpp"
#include "base/philox.hpp"
#include "tessera/vector_ops.hpp"

namespace tessera::multigrid {

bool invert_block(int n, double* a) {
    bool positive = true;
    for (int k = 0; k < n; ++k) {
        const double pivot = a[k * n + k];
        positive = positive && pivot > 0;
        for (int j = 0; j < n; ++j) a[k * n + j] = j == k ? 1 / pivot : a[k * n + j] / pivot;
        for (int i = 0; i < n; ++i) {
            if (i == k) continue;
            const double factor = a[i * n + k];
            for (int j = 0; j < n; ++j) {
                a[i * n + j] = (j == k ? 0 : a[i * n + j]) - factor * a[k * n + j];
            }
        }
    }
    return positive;
}

void multiply(const Context& context, const BsrView<double>& a, std::span<const double> x,
              std::span<double> y, bool add) {
    parallel_ranges(
        context.threads(), a.block_rows,
        [&](Offset first, Offset last) {
            std::array<double, max_bsr_block> sums{};
            for (Offset i = first; i < last; ++i) {
                sums.fill(0);
                for (Offset k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) {
                    const double* const block = a.values + k * a.block_size();
                    const double* const from = x.data() + Offset(a.column_indices[k]) * a.width;
                    for (int r = 0; r < a.height; ++r) {
                        double sum = 0;
                        for (int c = 0; c < a.width; ++c) sum += block[r * a.width + c] * from[c];
                        sums[std::size_t(r)] += sum;
                    }
                }
                for (int r = 0; r < a.height; ++r) {
                    double& to = y[std::size_t(i * a.height + r)];
                    to = (add ? to : 0) + sums[std::size_t(r)];
                }
            }
        },
        1024);
}

void multiply_blocks(const Context& context, int n, const std::vector<double>& blocks,
                     std::span<const double> r, std::span<double> z) {
    parallel_ranges(
        context.threads(), Offset(r.size()) / n,
        [&](Offset first, Offset last) {
            for (Offset row = first * n; row < last * n; ++row) {
                const double* const from = r.data() + row / n * n;
                double sum = 0;
                for (int c = 0; c < n; ++c) sum += blocks[std::size_t(row * n + c)] * from[c];
                z[std::size_t(row)] = sum;
            }
        },
        4096);
}

namespace {

constexpr int lanczos_steps = 10;

/// The largest eigenvalue of a symmetric tridiagonal matrix, by bisection.
double largest_eigenvalue(const std::vector<double>& diagonal, const std::vector<double>& beside) {
    double low = diagonal[0], high = diagonal[0];
    for (std::size_t i = 0; i < diagonal.size(); ++i) {
        const double sum = (i > 0 ? std::abs(beside[i - 1]) : 0) +
                           (i + 1 < diagonal.size() ? std::abs(beside[i]) : 0);
        high = std::max(high, diagonal[i] + sum);
    }
    for (int step = 0; step < 60; ++step) {
        const double middle = (low + high) / 2;
        int above = 0;  // Eigenvalues above the middle: positive pivots of T - middle I.
        double pivot = 1;
        for (std::size_t i = 0; i < diagonal.size(); ++i) {
            pivot = diagonal[i] - middle - (i > 0 ? beside[i - 1] * beside[i - 1] / pivot : 0);
            if (pivot == 0) pivot = 1e-300;
            above += pivot > 0;
        }
        (above > 0 ? low : high) = middle;
    }
    return high;
}

}  // namespace

double largest_ritz_value(const Context& context, const BsrView<double>& matrix,
                          const std::vector<double>& inverse_diagonal) {
    const int block = matrix.height;
    const auto n = std::size_t(matrix.block_rows) * std::size_t(block);
    std::vector<double> r(n), z(n), p(n, 0.0), q(n), diagonal, beside;
    for (std::size_t i = 0; i < n; ++i) {
        r[i] = 2 * philox::unit_interval<double>(philox::words(7, 0, i).words[0],
                                                 philox::words(7, 0, i).words[1]) -
               1;
    }
    const auto dot_of = [&](const std::vector<double>& a, const std::vector<double>& b) {
        double sum = 0;
        tessera::dot<double>(context, std::span<const double>(a), std::span<const double>(b), &sum);
        return sum;
    };
    double rz = 1, alpha = 1, beta = 0;
    for (int step = 0; step < std::min<int>(lanczos_steps, int(n)); ++step) {
        multiply_blocks(context, block, inverse_diagonal, r, z);
        const double now = dot_of(r, z);
        if (!(now > 0)) break;
        beta = step == 0 ? 0 : now / rz;
        for (std::size_t i = 0; i < n; ++i) p[i] = z[i] + beta * p[i];
        multiply(context, matrix, p, q);
        const double pq = dot_of(p, q);
        if (!(pq > 0)) break;
        if (step > 0) beside.push_back(std::sqrt(beta) / alpha);
        const double before = alpha;
        alpha = now / pq;
        diagonal.push_back(1 / alpha + (step > 0 ? beta / before : 0));
        for (std::size_t i = 0; i < n; ++i) r[i] -= alpha * q[i];
        rz = now;
    }
    return diagonal.empty() ? 1 : largest_eigenvalue(diagonal, beside);
}

}  // namespace tessera::multigrid
