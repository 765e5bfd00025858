#pragma once

#include <cmath>
#include <limits>
#include <span>

#include "tessera/vector_ops.hpp"

namespace tessera {

/// Norms of vectors in the memory of a Context, on the host. Every function waits.
template <class T>
class Norms {
  public:
    explicit Norms(const Context& context) : context_(context), squares_(context, 3) {}

    /// ||v||; infinite or 0 if the squares leave the range of T.
    double operator()(std::span<const T> v) { return root_of_square(v, 0); }

    /// ||v||, also where squares underflow: a residual with tiny elements must not pass for 0. v is
    /// then multiplied by a power of two and divided again, which is exact.
    double without_underflow(std::span<T> v) { return rescaled(v, (*this)(v)); }

    struct Pair {
        double norm;    ///< ||v|| as by without_underflow.
        double square;  ///< w^T w; it may have left the range of T.
    };
    /// Both, with one wait.
    Pair without_underflow(std::span<T> v, std::span<const T> w) {
        dot<T>(context_, v, v, squares_.data());
        dot<T>(context_, w, w, squares_.data() + 1);
        T squares[2];
        copy_to_host(context_, std::span<const T>(squares_.view()).first(2), std::span<T>(squares));
        return {rescaled(v, std::sqrt(double(squares[0]))), double(squares[1])};
    }

    /// Whether no element is infinite or NaN; `scratch`, as long as v, may be overwritten.
    bool all_finite(std::span<const T> v, std::span<T> scratch) {
        if (std::isfinite((*this)(v))) return true;
        fill(context_, T(0), scratch);
        dot<T>(context_, v, scratch, squares_.data());  // NaN if any element is not finite.
        return copied(0) == 0;
    }

    /// v^T v of the latest norm, in the memory of the Context; it may have left the range of T.
    const T* square() const { return squares_.data(); }

  private:
    /// `length`, the norm of v, or what it is if the squares underflow.
    double rescaled(std::span<T> v, double length) {
        using limits = std::numeric_limits<T>;
        // Each of n squares may lack half the smallest denormal number, u times the normal one.
        if (!(length * length < double(v.size()) * double(limits::min()))) return length;
        const T factor = T(std::ldexp(1.0, 3 * limits::max_exponent / 4));
        axpby<T>(context_, factor, v, T(0), v);
        const double multiplied = root_of_square(v, 2);  // No square leaves the range.
        axpby<T>(context_, 1 / factor, v, T(0), v);
        return multiplied / double(factor);
    }
    double copied(int k) {
        T value = 0;
        copy_to_host(context_, std::span<const T>(squares_.view()).subspan(std::size_t(k), 1),
                     std::span<T>(&value, 1));
        return double(value);
    }
    double root_of_square(std::span<const T> v, int k) {
        dot<T>(context_, v, v, squares_.data() + k);
        return std::sqrt(copied(k));
    }

    const Context& context_;
    Buffer<T> squares_;
};

}  // namespace tessera
