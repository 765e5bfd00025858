#include "sparse/spmv_sliced/spmv_sliced_offsets.cuh"

namespace tessera::cuda {

template void multiply_offsets<float, float>(const Context&, const SlicedTask<float, float>&, int);

}  // namespace tessera::cuda
