#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <span>

#include "tessera/krylov.hpp"
#include "tessera/vector_ops.hpp"

namespace tessera {

/// v *= 2^exponent, exact but for elements that leave the range of T.
template <class T>
void multiply_by_power(const Context& context, std::span<T> v, int exponent) {
    constexpr int largest = std::numeric_limits<T>::max_exponent / 3;
    while (exponent != 0) {
        const int part = std::clamp(exponent, -largest, largest);
        axpby<T>(context, T(std::ldexp(1.0, part)), v, T(0), v);
        exponent -= part;
    }
}

/// Keeps b^T b, and the squares in the methods, inside the range of T: if they would leave it, b
/// and x are multiplied by powers of two during the solve. That is exact but for elements that
/// underflow, which are negligible next to ||b|| after it; dividing x again may over- or underflow,
/// so that the residual of the returned x must be computed anew.
template <class T>
class RangeScaling {
  public:
    explicit RangeScaling(const Context& context) : context_(context) {}

    /// Multiplies b and x if necessary, for the matrix 2^matrix_exponent A. `norm_b` is ||b||,
    /// computed by `norm`; returns that of the multiplied b.
    double scale(double norm_b, const std::function<double(std::span<const T>)>& norm,
                 std::span<T> b, std::span<T> x, int matrix_exponent) {
        using limits = std::numeric_limits<T>;
        constexpr double epsilon = limits::epsilon();
        const double low = std::sqrt(double(limits::min())) / (epsilon * epsilon);
        const double high = std::sqrt(double(limits::max()) * epsilon);
        const auto in_range = [&] { return low <= norm_b && norm_b <= high; };
        b_exponent_ = x_exponent_ = 0;
        if (std::isnan(norm_b) || (in_range() && matrix_exponent == 0)) return norm_b;
        const int step = norm_b < low ? limits::max_exponent / 3 : -(limits::max_exponent / 3);
        int rounds = 0;
        // The smallest denormal number and the sum of the largest ones are within six steps.
        for (; rounds < 6 && !in_range(); ++rounds) {
            multiply_by_power(context_, b, step);
            norm_b = norm(b);
        }
        if (norm_b == 0 || !std::isfinite(norm_b)) return norm_b;
        b_exponent_ = rounds * step;
        x_exponent_ = b_exponent_ - matrix_exponent;
        multiply_by_power(context_, x, x_exponent_);
        return norm_b;
    }

    /// Whether b or x are multiplied.
    bool scales() const { return b_exponent_ != 0 || x_exponent_ != 0; }

    /// b is multiplied by 2^b_exponent().
    int b_exponent() const { return b_exponent_; }

    /// Scales a norm of a residual.
    double scaled(double length) const { return std::ldexp(length, b_exponent_); }

    /// Divides x again.
    void unscale(std::span<T> x) const { multiply_by_power(context_, x, -x_exponent_); }

    /// Undoes the scaling of x and judges the returned x. `residual_norm` is that of the
    /// scaled system; it was `length` for x and `at_start` for `start`, which x becomes again if
    /// the quotient is worse. Returns the norm for the new x. Overwrites `scratch`, as long as x.
    double undo(std::span<T> x, double length, std::span<const T> start, double at_start,
                double target, Status& status, std::span<T> scratch,
                const std::function<double(std::span<const T>)>& residual_norm) const {
        if (!scales()) return length;
        unscale(x);
        // Multiplied again it is the old x, unless it overflowed or lost bits.
        copy(context_, std::span<const T>(x), scratch);
        multiply_by_power(context_, scratch, x_exponent_);
        length = residual_norm(scratch);
        if (!std::isfinite(length)) {
            status = Status::non_finite;
        } else if (status == Status::converged && length > target) {
            status = Status::accuracy_lost;
        }
        if (length <= at_start) return length;
        copy(context_, start, x);
        return at_start;
    }

  private:
    const Context& context_;
    int b_exponent_ = 0;
    int x_exponent_ = 0;  ///< x is multiplied by 2^x_exponent_.
};

}  // namespace tessera
