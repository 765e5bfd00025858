#include "sparse/spmv_sliced/spmv_sliced_offsets.cuh"

namespace tessera::cuda {

template void multiply_offsets<double, double>(const Context&, const SlicedTask<double, double>&,
                                               int);

}  // namespace tessera::cuda
