#include "batched/invert/invert_lanes.cuh"

namespace tessera::batched::cuda {

template bool invert_lanes<double>(const Context&, const InvertJob<double>&);

}  // namespace tessera::batched::cuda
