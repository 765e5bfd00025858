#include "batched/invert/invert_small.cuh"

namespace tessera::batched::cuda {

template void invert_bounded<float>(tessera::cuda::SideStreams&, const InvertJob<float>&);

}  // namespace tessera::batched::cuda
