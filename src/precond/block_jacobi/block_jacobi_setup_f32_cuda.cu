#include "precond/block_jacobi/block_jacobi_setup.cuh"

namespace tessera::cuda {

template void setup<float>(const Context&, const CsrView<float>&, const PackedBlocks<float>&,
                           SingularPolicy, float*, Index*, std::int8_t*);

}  // namespace tessera::cuda
