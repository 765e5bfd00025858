#include "batched/invert/invert_small.cuh"

namespace tessera::batched::cuda {

template void invert_bounded<double>(tessera::cuda::LaunchChain&, const InvertJob<double>&);

}  // namespace tessera::batched::cuda
