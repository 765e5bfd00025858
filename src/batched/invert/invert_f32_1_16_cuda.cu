#include "batched/invert/invert_small.cuh"

namespace tessera::batched::cuda {

template bool invert_exact<float, 1, 16>(const Context&, const InvertJob<float>&);

}  // namespace tessera::batched::cuda
