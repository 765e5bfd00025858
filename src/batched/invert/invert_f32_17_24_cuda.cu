#include "batched/invert/invert_small.cuh"

namespace tessera::batched::cuda {

template void invert_exact<float, 17, 24>(tessera::cuda::LaunchChain&, const InvertJob<float>&);

}  // namespace tessera::batched::cuda
