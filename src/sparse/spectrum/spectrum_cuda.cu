#include "gpu/for_each.cuh"
#include "sparse/spectrum/row_sum.hpp"

namespace tessera::cuda {

template void for_each_index(const Context&, Offset, const RowSum<float>&);
template void for_each_index(const Context&, Offset, const RowSum<double>&);

}  // namespace tessera::cuda
