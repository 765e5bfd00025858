#include "batched/invert/invert_small.cuh"

namespace tessera::batched::cuda {

template void invert_exact<float, 25, 32>(tessera::cuda::LaunchChain&, const InvertJob<float>&);

}  // namespace tessera::batched::cuda
