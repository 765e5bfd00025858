#pragma once

#include "precond/direct/fronts/factor.hpp"
#include "tessera/vector_ops.hpp"

namespace tessera::direct {

/// Values of work space that solve_factors needs for so many vectors.
template <class T>
Offset solve_work(const Fronts& fronts, const Factor<T>& factor, int vectors);

/// x = A^-1 b, or A^-T b, in host memory, with the factors of an arranged matrix; x may be b.
template <class T>
void solve_factors(const Context& cpu, const Arrangement& arrangement, const Fronts& fronts,
                   const Factor<T>& factor, bool transposed, Vectors<const T> b, Vectors<T> x,
                   T* work);

}  // namespace tessera::direct
