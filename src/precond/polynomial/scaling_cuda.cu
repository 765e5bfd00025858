#include "gpu/for_each.cuh"
#include "precond/polynomial/scaling_rows.hpp"

namespace tessera::cuda {

TESSERA_FOR_EACH_REAL(scaling::InvertRoot)
TESSERA_FOR_EACH_REAL(scaling::ScaleEntries)

}  // namespace tessera::cuda
