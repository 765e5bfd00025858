#include "sparse/spmv_sliced/spmv_sliced.cuh"

namespace tessera::cuda {

template void multiply_stored<float, float>(const Context&, const SlicedTask<float, float>&,
                                            const FormatOptions&);

}  // namespace tessera::cuda
