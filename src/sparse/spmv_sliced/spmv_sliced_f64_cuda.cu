#include "sparse/spmv_sliced/spmv_sliced.cuh"

namespace tessera::cuda {

template void multiply_stored<double, double>(const Context&, const SlicedTask<double, double>&,
                                              const FormatOptions&);

}  // namespace tessera::cuda
