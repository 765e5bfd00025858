#include "batched/ldu/ldu_tile.cuh"

namespace tessera::batched::cuda {

template void ldu_with<Pivoting::fixed>(const Context&, const FactorJob<double>&);

}  // namespace tessera::batched::cuda
