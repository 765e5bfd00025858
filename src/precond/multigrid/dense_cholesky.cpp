#include "precond/multigrid/dense_cholesky.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tessera::multigrid {

Index DenseCholesky::factorise(std::vector<double> matrix, Index n) {
    n_ = std::size_t(n);
    factor_ = std::move(matrix);
    const double least = double(n_) * std::numeric_limits<double>::epsilon();
    for (std::size_t i = 0; i < n_; ++i) {
        double* const row = &factor_[i * n_];
        const double given = row[i];
        for (std::size_t j = 0; j <= i; ++j) {
            const double* const other = &factor_[j * n_];
            double sums[4] = {row[j], 0, 0, 0};
            std::size_t k = 0;
            for (; k + 4 <= j; k += 4) {
                for (std::size_t u = 0; u < 4; ++u) sums[u] -= row[k + u] * other[k + u];
            }
            for (; k < j; ++k) sums[0] -= row[k] * other[k];
            const double sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
            if (j < i) {
                row[j] = sum / other[j];
            } else if (sum > least * given && given > 0) {
                row[i] = std::sqrt(sum);
            } else {
                return Index(i);
            }
        }
    }
    return -1;
}

void DenseCholesky::solve(std::span<const double> b, std::span<double> x) const {
    for (std::size_t i = 0; i < n_; ++i) {
        double sum = b[i];
        for (std::size_t k = 0; k < i; ++k) sum -= factor_[i * n_ + k] * x[k];
        x[i] = sum / factor_[i * n_ + i];
    }
    for (std::size_t i = n_; i-- > 0;) {
        x[i] /= factor_[i * n_ + i];
        for (std::size_t k = 0; k < i; ++k) x[k] -= factor_[i * n_ + k] * x[i];
    }
}

}  // namespace tessera::multigrid
