#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>

#include "base/rank_sums.hpp"
#include "tessera/detail/norm.hpp"
#include "tessera/vector_ops.hpp"

namespace tessera {

/// Whether the norm of a residual fell by a tenth: a restart or correction that reduces it by less
/// is the last one. Strictly, as 0.9 times the smallest numbers is rounded to themselves.
inline bool is_reduced(double now, double before) { return now < before && now <= 0.9 * before; }

/// Whether rounding errors of a start with a residual of this norm would hide b, or the residual
/// leaves the range of T: a start of 0 is better.
template <class T>
bool is_far_start(double residual, double norm_b) {
    return !(residual * double(std::numeric_limits<T>::epsilon()) <= norm_b);
}

/// Norms of vectors in the memory of a Context, on the host. Every function waits.
template <class T>
class Norms {
  public:
    explicit Norms(const Context& context) : context_(context), squares_(context, 4) {}

    /// ||v||; infinite or 0 if the squares leave the range of T.
    double operator()(std::span<const T> v) { return std::sqrt(squares(v)[0]); }

    /// v^T v of up to three vectors, with one wait; they may have left the range of T.
    template <class... Spans>
    std::array<double, sizeof...(Spans)> squares(const Spans&... vectors) {
        static_assert(sizeof...(Spans) <= 3);
        Offset count = 0;
        (dot<T>(context_, vectors, vectors, squares_.data() + count++), ...);
        return copied<sizeof...(Spans)>(0);
    }

    /// ||v||, also where squares underflow: a residual with tiny elements must not pass for 0. v is
    /// then multiplied by a power of two and divided again, which is exact.
    double without_underflow(std::span<T> v) { return without_underflow(v, squares(v)[0]); }
    /// ||v|| where `square`, v^T v, is known.
    double without_underflow(std::span<T> v, double square) {
        using limits = std::numeric_limits<T>;
        // Each of n squares may lack half the smallest denormal number, u times the normal one.
        // Over ranks, which must decide alike, n is a bound of it.
        const double n = rank_sums(context_) == nullptr ? double(v.size()) : 0x1p40;
        if (!(square < n * double(limits::min()))) return std::sqrt(square);
        const T factor = T(std::ldexp(1.0, 3 * limits::max_exponent / 4));
        axpby<T>(context_, factor, v, T(0), v);
        dot<T>(context_, v, v, squares_.data() + 3);  // No square leaves the range.
        axpby<T>(context_, 1 / factor, v, T(0), v);
        return std::sqrt(copied<1>(3)[0]) / double(factor);
    }

    /// Whether no element is infinite or NaN; `scratch`, as long as v, may be overwritten.
    bool all_finite(std::span<const T> v, std::span<T> scratch) {
        if (std::isfinite((*this)(v))) return true;
        fill(context_, T(0), scratch);
        dot<T>(context_, v, scratch, squares_.data());  // NaN if any element is not finite.
        return copied<1>(0)[0] == 0;
    }

    /// v^T v of the latest norm (of squares: the first), in the memory of the Context; it may have
    /// left the range of T.
    const T* square() const { return squares_.data(); }

  private:
    template <std::size_t n>
    std::array<double, n> copied(std::size_t first) {
        T values[n];
        copy_to_host(context_, std::span<const T>(squares_.view()).subspan(first, n),
                     std::span<T>(values));
        std::array<double, n> squares;
        std::ranges::copy(values, squares.begin());
        return squares;
    }

    const Context& context_;
    Buffer<T> squares_;
};

}  // namespace tessera
