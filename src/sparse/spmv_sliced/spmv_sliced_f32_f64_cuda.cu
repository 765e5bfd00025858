#include "sparse/spmv_sliced/spmv_sliced.cuh"

namespace tessera::cuda {

template void multiply_stored<float, double>(const Context&, const SlicedTask<float, double>&,
                                             const FormatOptions&);

}  // namespace tessera::cuda
