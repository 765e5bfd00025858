#include "sparse/spmv_sliced/spmv_sliced_offsets.cuh"

namespace tessera::cuda {

template void multiply_offsets<float, double>(const Context&, const SlicedTask<float, double>&,
                                              int);

}  // namespace tessera::cuda
