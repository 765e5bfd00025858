#include "batched/invert/invert_lanes.cuh"

namespace tessera::batched::cuda {

template bool invert_lanes<float>(const Context&, const InvertJob<float>&);

}  // namespace tessera::batched::cuda
