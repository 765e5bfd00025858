#include "krylov/solver/row_errors.hpp"

#include "gpu/for_each.cuh"

namespace tessera::cuda {

TESSERA_FOR_EACH_REAL(LargestElement)
TESSERA_FOR_EACH_REAL(RowErrors)
TESSERA_FOR_EACH_REAL(LargestScaled)
TESSERA_FOR_EACH_REAL(ScaledNorms)
template void for_each_index(const Context&, Offset, const FindWorstRow&);
template void for_each_index(const Context&, Offset, const Equilibrate&);

}  // namespace tessera::cuda
