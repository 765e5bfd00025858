#include "sparse/spmv_sliced/spmv_sliced.cuh"

namespace tessera::cuda {

template void multiply_stored<f16, float>(const Context&, const SlicedTask<f16, float>&,
                                          const FormatOptions&);

}  // namespace tessera::cuda
