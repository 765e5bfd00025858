#include "krylov/range_scaling.hpp"

#include <cmath>
#include <limits>

namespace tessera {

template <class T>
double RangeScaling<T>::scale(const std::function<double(std::span<const T>)>& norm,
                              std::span<const T>& b, std::span<T> x) {
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

template <class T>
double RangeScaling<T>::scaled(double length) const {
    for (int k = 0; k < rounds_; ++k) length *= double(factor_);
    return length;
}

template <class T>
void RangeScaling<T>::undo(std::span<T> x) const {
    const T back = T(1) / factor_;
    for (int k = 0; k < rounds_; ++k) axpby<T>(context_, back, x, T(0), x);
}

template class RangeScaling<float>;
template class RangeScaling<double>;

}  // namespace tessera
