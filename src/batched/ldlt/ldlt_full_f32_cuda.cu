#include "batched/ldlt/ldlt_tile.cuh"

namespace tessera::batched::cuda {

template void ldlt_with<Pivoting::full>(const Context&, const FactorJob<float>&);

}  // namespace tessera::batched::cuda
