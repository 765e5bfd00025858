#include "tessera/detail/norm.hpp"

#include <cmath>
#include <limits>

#include "base/rank_sums.hpp"
#include "base/scratch/scratch.hpp"
#include "tessera/vector_ops.hpp"

namespace tessera {

template <class T>
double norm(const Context& context, std::span<const T> v) {
    using limits = std::numeric_limits<T>;
    const auto square_of = [&](std::span<const T> w) {
        const Scratch<T> square(context, 1);
        dot<T>(context, w, w, square.data());
        T on_host = 0;
        copy_to_host(context, std::span<const T>(square.view()), std::span<T>(&on_host, 1));
        return double(on_host);
    };
    const double square = square_of(v);
    // Over ranks, which must decide alike, n is a bound of the elements.
    const double n = rank_sums(context) == nullptr ? double(v.size()) : 0x1p40;
    const bool is_small = square < n * double(limits::min());
    if (!is_small && !(square > double(limits::max()))) return std::sqrt(square);
    const T factor = T(std::ldexp(1.0, (is_small ? 3 : -3) * limits::max_exponent / 4));
    const Scratch<T> scaled(context, Offset(v.size()));
    axpby<T>(context, factor, v, T(0), scaled.view());
    return std::sqrt(square_of(scaled.view())) / double(factor);
}

template double norm(const Context&, std::span<const float>);
template double norm(const Context&, std::span<const double>);

}  // namespace tessera
