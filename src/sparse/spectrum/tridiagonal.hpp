#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace tessera {

/// The eigenvalues, ascending, of the symmetric tridiagonal matrix with this diagonal and the first
/// diagonal.size() - 1 of `off_diagonal` beside it, to about n eps of the largest: bisection by the
/// number of negative pivots of T - t I (Sturm; Golub and Van Loan, Matrix Computations, 8.4).
inline std::vector<double> tridiagonal_eigenvalues(const std::vector<double>& diagonal,
                                                   const std::vector<double>& off_diagonal) {
    const std::size_t n = diagonal.size();
    double low = diagonal[0], high = diagonal[0], largest = 0;
    for (std::size_t i = 0; i < n; ++i) {
        const double radius = (i > 0 ? std::abs(off_diagonal[i - 1]) : 0) +
                              (i + 1 < n ? std::abs(off_diagonal[i]) : 0);
        low = std::min(low, diagonal[i] - radius);
        high = std::max(high, diagonal[i] + radius);
        largest = std::max(largest, std::abs(diagonal[i]) + radius);
    }
    const double tiny = std::max(
        largest * std::numeric_limits<double>::epsilon() * std::numeric_limits<double>::epsilon(),
        std::numeric_limits<double>::min());
    const auto below = [&](double t) {
        std::size_t count = 0;
        double pivot = 1;
        for (std::size_t i = 0; i < n; ++i) {
            const double off_diagonal_entry = i > 0 ? off_diagonal[i - 1] : 0;
            pivot = diagonal[i] - t - off_diagonal_entry * off_diagonal_entry / pivot;
            if (std::abs(pivot) < tiny) pivot = -tiny;
            count += pivot < 0;
        }
        return count;
    };
    std::vector<double> values(n);
    for (std::size_t k = 0; k < n; ++k) {
        double left = k > 0 ? values[k - 1] : low, right = high;
        for (int step = 0; step < 100; ++step) {
            const double middle = left + (right - left) / 2;
            if (!(middle > left && middle < right)) break;
            (below(middle) > k ? right : left) = middle;
        }
        values[k] = right;
    }
    return values;
}

}  // namespace tessera
