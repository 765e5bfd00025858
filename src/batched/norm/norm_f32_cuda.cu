#include "batched/norm/norm_ring.cuh"

namespace tessera::batched::cuda {

template bool norm_of_run<float>(const Context&, const BatchView<const float>&, float*);

}  // namespace tessera::batched::cuda
