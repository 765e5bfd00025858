#pragma once

#include <cmath>
#include <functional>
#include <limits>
#include <span>

#include "tessera/vector_ops.hpp"

namespace tessera {

/// Keeps b^T b, and the squares in the methods, inside the range of T: if they would leave it, b
/// and x are multiplied by a power of two, which is exact.
template <class T>
class RangeScaling {
  public:
    explicit RangeScaling(const Context& context) : context_(context) {}

    /// Multiplies x, and makes b a multiplied copy that is stored here, if necessary. Returns ||b||
    /// after that, computed by `norm`.
    double scale(const std::function<double(std::span<const T>)>& norm, std::span<const T>& b,
                 std::span<T> x) {
        using limits = std::numeric_limits<T>;
        constexpr double epsilon = limits::epsilon();
        const double low = std::sqrt(double(limits::min())) / (epsilon * epsilon);
        const double high = std::sqrt(double(limits::max()) * epsilon);
        double norm_b = norm(b);
        if (std::isnan(norm_b) || (low <= norm_b && norm_b <= high)) return norm_b;
        const T factor =
            T(std::ldexp(1.0, norm_b < low ? limits::max_exponent / 3 : -limits::max_exponent / 3));
        Buffer<T> scaled(context_, Offset(b.size()));
        copy(context_, b, scaled.view());
        int rounds = 0;
        // The smallest denormal number and the sum of the largest ones are within six factors.
        while (rounds < 6 && !(low <= norm_b && norm_b <= high)) {
            axpby<T>(context_, factor, scaled.view(), T(0), scaled.view());
            norm_b = norm(scaled.view());
            ++rounds;
        }
        if (norm_b == 0 || !std::isfinite(norm_b)) return norm_b;
        for (int k = 0; k < rounds; ++k) axpby<T>(context_, factor, x, T(0), x);
        scaled_b_ = std::move(scaled);
        b = scaled_b_.view();
        factor_ = factor;
        rounds_ = rounds;
        return norm_b;
    }

    /// Scales a norm.
    double scaled(double length) const {
        for (int k = 0; k < rounds_; ++k) length *= double(factor_);
        return length;
    }

    void unscale(std::span<T> x) const {
        const T back = T(1) / factor_;
        for (int k = 0; k < rounds_; ++k) axpby<T>(context_, back, x, T(0), x);
    }

  private:
    const Context& context_;
    Buffer<T> scaled_b_;
    T factor_ = 1;  ///< b and x are multiplied by factor_^rounds_.
    int rounds_ = 0;
};

}  // namespace tessera
