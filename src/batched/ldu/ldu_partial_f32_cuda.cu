#include "batched/ldu/ldu_tile.cuh"

namespace tessera::batched::cuda {

template void ldu_with<Pivoting::partial>(const Context&, const FactorJob<float>&);

}  // namespace tessera::batched::cuda
