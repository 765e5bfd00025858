#pragma once

#include <span>
#include <vector>

#include "tessera/csr.hpp"

namespace tessera {

/// b - A x in host memory, A.rows elements, with compensated sums in double precision: as if they
/// were computed in twice the precision, and rounded. All arrays are in the memory of `context`.
/// Waits. Source: T. Ogita, S. M. Rump, S. Oishi, "Accurate sum and dot product", SIAM J. Sci.
/// Comput. 26 (2005), pp. 1955-1988 (Dot2).
template <class T>
TESSERA_API std::vector<T> accurate_residual(const Context& context, const CsrView<T>& matrix,
                                             std::span<const T> b, std::span<const T> x);

}  // namespace tessera
