#include "gpu/for_each.cuh"
#include "krylov/reduction/reduced_vectors.hpp"
#include "krylov/reduction/row_scan.hpp"

namespace tessera::cuda {

TESSERA_FOR_EACH_REAL(ScanRow)
template void for_each_index(const Context&, Offset, const FindTwin&);
TESSERA_FOR_EACH_REAL(FixUnknowns)
TESSERA_FOR_EACH_REAL(RestrictResidual)
TESSERA_FOR_EACH_REAL(AddReduced)

}  // namespace tessera::cuda
