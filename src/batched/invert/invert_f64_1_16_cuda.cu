#include "batched/invert/invert_small.cuh"

namespace tessera::batched::cuda {

template bool invert_exact<double, 1, 16>(const Context&, const InvertJob<double>&);

}  // namespace tessera::batched::cuda
