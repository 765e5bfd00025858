#include "gpu/for_each.cuh"
#include "precond/multigrid/block_scaling.hpp"

namespace tessera::cuda {

TESSERA_FOR_EACH_REAL(multigrid::ApplyScaling)
template void for_each_index(const Context&, Offset, const multigrid::InvertDiagonalFactors&);
template void for_each_index(const Context&, Offset, const multigrid::ScaleBlocks&);
template void for_each_index(const Context&, Offset, const multigrid::ScaleColumns&);
template void for_each_index(const Context&, Offset, const multigrid::ScaleNearNull&);
template void for_each_index(const Context&, Offset, const multigrid::SubtractFromTentative&);

}  // namespace tessera::cuda
