#include "batched/invert/invert_small.cuh"

namespace tessera::batched::cuda {

template void invert_exact<float, 1, 10>(tessera::cuda::LaunchChain&, const InvertJob<float>&);

}  // namespace tessera::batched::cuda
