#include "batched/invert/invert_small.cuh"

namespace tessera::batched::cuda {

template void invert_exact<double, 1, 10>(tessera::cuda::LaunchChain&, const InvertJob<double>&);

}  // namespace tessera::batched::cuda
