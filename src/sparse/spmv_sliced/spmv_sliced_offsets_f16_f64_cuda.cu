#include "sparse/spmv_sliced/spmv_sliced_offsets.cuh"

namespace tessera::cuda {

template void multiply_offsets<f16, double>(const Context&, const SlicedTask<f16, double>&, int);

}  // namespace tessera::cuda
