#include "batched/invert/invert_small.cuh"

namespace tessera::batched::cuda {

template void invert_small<double, true>(const Context&, const InvertJob<double>&);

}  // namespace tessera::batched::cuda
