#include "batched/invert/invert_panels.cuh"

namespace tessera::batched::cuda {

template void invert_panels<true>(tessera::cuda::LaunchChain&, const InvertJob<double>&);

}  // namespace tessera::batched::cuda
