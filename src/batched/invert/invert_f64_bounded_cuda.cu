#include "batched/invert/invert_small.cuh"

namespace tessera::batched::cuda {

template void invert_bounded<double>(tessera::cuda::SideStreams&, const InvertJob<double>&);

}  // namespace tessera::batched::cuda
