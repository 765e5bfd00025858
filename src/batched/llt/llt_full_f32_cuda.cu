#include "batched/llt/llt_tile.cuh"

namespace tessera::batched::cuda {

template void llt_with<Pivoting::full>(const Context&, const FactorJob<float>&);

}  // namespace tessera::batched::cuda
