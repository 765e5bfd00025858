#include "precond/block_jacobi/block_jacobi_setup.cuh"

namespace tessera::cuda {

template void setup<double>(const Context&, const CsrView<double>&, const PackedBlocks<double>&,
                            SingularPolicy, double*, Index*, std::int8_t*);

}  // namespace tessera::cuda
