#pragma once

#include <cmath>
#include <functional>
#include <limits>
#include <span>

#include "tessera/krylov.hpp"
#include "tessera/vector_ops.hpp"

namespace tessera {

/// Keeps b^T b, and the squares in the methods, inside the range of T: if they would leave it, b
/// and x are multiplied by a power of two during the solve. That is exact but for elements that
/// underflow, which are negligible next to ||b|| after it; dividing x again may over- or underflow,
/// so that the residual of the returned x must be computed anew.
template <class T>
class RangeScaling {
  public:
    explicit RangeScaling(const Context& context) : context_(context) {}

    /// Multiplies b and x if necessary. `norm_b` is ||b||, computed by `norm`; returns that of the
    /// multiplied b.
    double scale(double norm_b, const std::function<double(std::span<const T>)>& norm,
                 std::span<T> b, std::span<T> x) {
        using limits = std::numeric_limits<T>;
        constexpr double epsilon = limits::epsilon();
        const double low = std::sqrt(double(limits::min())) / (epsilon * epsilon);
        const double high = std::sqrt(double(limits::max()) * epsilon);
        rounds_ = 0;
        if (std::isnan(norm_b) || (low <= norm_b && norm_b <= high)) return norm_b;
        factor_ =
            T(std::ldexp(1.0, norm_b < low ? limits::max_exponent / 3 : -limits::max_exponent / 3));
        int rounds = 0;
        // The smallest denormal number and the sum of the largest ones are within six factors.
        while (rounds < 6 && !(low <= norm_b && norm_b <= high)) {
            axpby<T>(context_, factor_, b, T(0), b);
            norm_b = norm(b);
            ++rounds;
        }
        if (norm_b == 0 || !std::isfinite(norm_b)) return norm_b;
        for (int k = 0; k < rounds; ++k) axpby<T>(context_, factor_, x, T(0), x);
        rounds_ = rounds;
        return norm_b;
    }

    /// Whether b and x are multiplied.
    bool scales() const { return rounds_ > 0; }

    /// Scales a norm.
    double scaled(double length) const {
        for (int k = 0; k < rounds_; ++k) length *= double(factor_);
        return length;
    }

    /// Divides x again.
    void unscale(std::span<T> x) const {
        for (int k = 0; k < rounds_; ++k) axpby<T>(context_, T(1) / factor_, x, T(0), x);
    }

    /// Undoes the scaling of x and judges the returned x. `residual_norm` is that of the
    /// scaled system; it was `length` for x and `at_start` for `start`, which x becomes again if
    /// the quotient is worse. Returns the norm for the new x. Overwrites `scratch`, as long as x.
    double undo(std::span<T> x, double length, std::span<const T> start, double at_start,
                double target, Status& status, std::span<T> scratch,
                const std::function<double(std::span<const T>)>& residual_norm) const {
        if (rounds_ == 0) return length;
        unscale(x);
        // Multiplied again it is the old x, unless it overflowed or lost bits.
        copy(context_, std::span<const T>(x), scratch);
        for (int k = 0; k < rounds_; ++k) axpby<T>(context_, factor_, scratch, T(0), scratch);
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
    T factor_ = 1;  ///< b and x are multiplied by factor_^rounds_.
    int rounds_ = 0;
};

}  // namespace tessera
