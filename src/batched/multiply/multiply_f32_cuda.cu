#include "batched/multiply/multiply_ring.cuh"

namespace tessera::batched::cuda {

template bool multiply_runs<float>(const Context&, float, const BatchView<const float>&,
                                   const VectorsView<const float>&, float,
                                   const VectorsView<float>&);

}  // namespace tessera::batched::cuda
