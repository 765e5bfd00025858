#pragma once

#include "tessera/csr.hpp"

namespace tessera::matching {

/// Throws InvalidArgument that names the first entry (in row order) without a mirror image, or
/// whose mirror image differs by more than 1000 eps min(max_k |a_ik|, max_k |a_jk|).
template <class T>
void check_symmetry(const Context& cpu, const CsrView<T>& matrix, const char* who);

}  // namespace tessera::matching
