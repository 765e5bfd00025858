#include "precond/multigrid/block_operations.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/parallel.hpp"
#include "base/scratch/scratch.hpp"
#include "tessera/detail/spectrum.hpp"

namespace tessera::multigrid {

bool invert_factor(int n, double* a) {
    for (int i = 0; i < n; ++i) {
        for (int j = 0; j <= i; ++j) {
            double sum = a[i * n + j];
            for (int k = 0; k < j; ++k) sum -= a[i * n + k] * a[j * n + k];
            if (j < i) {
                a[i * n + j] = sum / a[j * n + j];
            } else if (sum > 0) {
                a[i * n + i] = std::sqrt(sum);
            } else {
                return false;
            }
        }
    }
    // Column by column of L^-1, from its diagonal down; rows of L below are still needed.
    for (int j = 0; j < n; ++j) {
        a[j * n + j] = 1 / a[j * n + j];
        for (int i = j + 1; i < n; ++i) {
            double sum = 0;
            for (int k = j; k < i; ++k) sum -= a[i * n + k] * a[k * n + j];
            a[i * n + j] = sum / a[i * n + i];
            a[j * n + i] = 0;
        }
    }
    return true;
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

/// L^-1 A L^-T, symmetric, with the eigenvalues of D^-1 A for D = L L^T; L^-1 by blocks.
class ScaledMatrix final : public Operator<double> {
  public:
    ScaledMatrix(const BsrView<double>& matrix, const std::vector<double>& inverse_factors,
                 const std::vector<double>& transposed)
        : matrix_(matrix), inverse_factors_(inverse_factors), transposed_(transposed) {}
    Index rows() const override { return matrix_.block_rows * matrix_.height; }
    Index columns() const override { return rows(); }
    void apply(const Context& context, std::span<const double> x,
               std::span<double> y) const override {
        const Scratch<double> product(context, rows());
        multiply_blocks(context, matrix_.height, transposed_, x, y);
        multiply(context, matrix_, y, product.view());
        multiply_blocks(context, matrix_.height, inverse_factors_, product.view(), y);
    }

  private:
    const BsrView<double>& matrix_;
    const std::vector<double>&inverse_factors_, &transposed_;
};

}  // namespace

double largest_ritz_value(const Context& context, const BsrView<double>& matrix,
                          const std::vector<double>& inverse_factors) {
    const auto n = std::size_t(matrix.height);
    std::vector<double> transposed(inverse_factors.size());
    for (std::size_t k = 0; k < transposed.size(); ++k) {
        transposed[k] = inverse_factors[k / (n * n) * (n * n) + k % n * n + k / n % n];
    }
    return lanczos(context, ScaledMatrix(matrix, inverse_factors, transposed)).largest;
}

}  // namespace tessera::multigrid
