#include "gpu/for_each.cuh"
#include "sparse/spectrum/lanczos_steps.hpp"
#include "sparse/spectrum/row_sum.hpp"

namespace tessera::cuda {

TESSERA_FOR_EACH_REAL(RowSum)
TESSERA_FOR_EACH_REAL(BetaFactors)
TESSERA_FOR_EACH_REAL(NegateAlpha)

}  // namespace tessera::cuda
