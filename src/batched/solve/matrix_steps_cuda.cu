#include "batched/solve/matrix_steps.hpp"
#include "gpu/for_each.cuh"
#include "gpu/scan.cuh"

namespace tessera::cuda {

TESSERA_FOR_EACH_REAL(batched::TakeAbsolutePivots)
TESSERA_FOR_EACH_REAL(batched::MarkNearSingular)
template void for_each_index(const Context&, Offset, const batched::ClearEmptyInfo&);
template void exclusive_scan(const Context&, Offset, batched::SizePower, Offset*);

}  // namespace tessera::cuda
