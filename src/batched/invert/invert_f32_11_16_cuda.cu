#include "batched/invert/invert_small.cuh"

namespace tessera::batched::cuda {

template void invert_exact<float, 11, 16>(tessera::cuda::LaunchChain&, const InvertJob<float>&);

}  // namespace tessera::batched::cuda
