#include "batched/invert/invert_small.cuh"

namespace tessera::batched::cuda {

template void invert_bounded<float>(tessera::cuda::LaunchChain&, const InvertJob<float>&);

}  // namespace tessera::batched::cuda
