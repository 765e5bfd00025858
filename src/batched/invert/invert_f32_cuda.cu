#include "batched/invert/invert_small.cuh"

namespace tessera::batched::cuda {

template void invert_small<float, false>(const Context&, const InvertJob<float>&);

}  // namespace tessera::batched::cuda
