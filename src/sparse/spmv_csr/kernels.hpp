#pragma once

#include "base/dispatch.hpp"
#include "tessera/csr.hpp"

namespace tessera {

/// Entries of a long row per partial sum.
inline constexpr Offset long_row_chunk = 4096;

// y = alpha A x + beta y for the vectors of x and y as documented in csr.hpp; sizes are checked by
// the caller.
// clang-format off
TESSERA_BACKENDS(
    template <class T>
    void multiply(const Context& context, const CsrView<T>& matrix, const SpmvPlan& plan, T alpha,
                  const Vectors<const T>& x, T beta, const Vectors<T>& y);)
// clang-format on

}  // namespace tessera
