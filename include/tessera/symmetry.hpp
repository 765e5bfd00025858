#pragma once

#include "tessera/csr.hpp"

namespace tessera {

/// Whether a matrix is symmetric up to rounding: square, all values finite, and every entry (i, j)
/// with a mirror image that differs by at most 1000 eps min(max_k |a_ik|, max_k |a_jk|). Waits.
template <class T>
TESSERA_API bool is_symmetric(const Context& context, const CsrView<T>& matrix);

/// Throws InvalidArgument that begins with `who` and names the first entry (in row order) at fault
/// unless is_symmetric. Waits.
template <class T>
TESSERA_API void check_symmetry(const Context& context, const CsrView<T>& matrix, const char* who);

}  // namespace tessera
