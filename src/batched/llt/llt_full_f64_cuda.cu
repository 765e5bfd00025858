#include "batched/llt/llt_tile.cuh"

namespace tessera::batched::cuda {

template void llt_with<Pivoting::full>(const Context&, const FactorJob<double>&);

}  // namespace tessera::batched::cuda
