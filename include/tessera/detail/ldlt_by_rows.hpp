#pragma once

#include "tessera/factor.hpp"

namespace tessera::batched {

/// ldlt of blocks of one size, in place. With complete pivoting a GPU uses one lane per row,
/// always: the bits are those of the kernel that factors small levels of block LDL^T.
template <class T>
TESSERA_API void ldlt_by_rows(const Context& context, Pivoting pivoting, const BatchView<T>& blocks,
                              const PermutationsView<Index>& permutations,
                              const FactorResults<T>& results, const FactorOptions<T>& options);

}  // namespace tessera::batched
