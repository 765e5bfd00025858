#include "gpu/for_each.cuh"
#include "krylov/choice/row_scan.hpp"

namespace tessera::cuda {

TESSERA_FOR_EACH_REAL(ScanRow)

}  // namespace tessera::cuda
