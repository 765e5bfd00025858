#include "sparse/spmv_sliced/spmv_sliced_offsets.cuh"

namespace tessera::cuda {

template void multiply_offsets<bf16, float>(const Context&, const SlicedTask<bf16, float>&, int);

}  // namespace tessera::cuda
