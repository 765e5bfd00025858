#include "gpu/for_each.cuh"
#include "precond/multigrid/symmetric_part/symmetric_part_rows.hpp"

namespace tessera::cuda {

TESSERA_FOR_EACH_REAL(SymmetricPartRow)
TESSERA_FOR_EACH_REAL(CheckRowOfPart)

}  // namespace tessera::cuda
