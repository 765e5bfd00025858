#include "batched/solve/absolute_pivots.hpp"
#include "gpu/for_each.cuh"

namespace tessera::cuda {

template void for_each_index(const Context&, Offset, const batched::TakeAbsolutePivots<float>&);
template void for_each_index(const Context&, Offset, const batched::TakeAbsolutePivots<double>&);

}  // namespace tessera::cuda
