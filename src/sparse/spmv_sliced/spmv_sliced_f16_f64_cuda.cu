#include "sparse/spmv_sliced/spmv_sliced.cuh"

namespace tessera::cuda {

template void multiply_stored<f16, double>(const Context&, const SlicedTask<f16, double>&,
                                           const FormatOptions&);

}  // namespace tessera::cuda
