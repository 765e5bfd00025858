#include "gpu/for_each.cuh"
#include "krylov/row_scan.hpp"

namespace tessera::cuda {

TESSERA_FOR_EACH_REAL(ScanRow)

}  // namespace tessera::cuda
