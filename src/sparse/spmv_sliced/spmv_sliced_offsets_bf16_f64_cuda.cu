#include "sparse/spmv_sliced/spmv_sliced_offsets.cuh"

namespace tessera::cuda {

template void multiply_offsets<bf16, double>(const Context&, const SlicedTask<bf16, double>&, int);

}  // namespace tessera::cuda
