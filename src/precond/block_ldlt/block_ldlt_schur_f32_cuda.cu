#include "precond/block_ldlt/block_ldlt_schur.cuh"

namespace tessera::block_ldlt::cuda {

template void schur_diagonals<float>(const Context&, const PatternView<float>&, Index, Index,
                                     const float*, const float*, float*);
template void schur_blocks<float>(const Context&, const PatternView<float>&, Offset, Offset,
                                  const float*, const float*, const float*, float*, float*);

}  // namespace tessera::block_ldlt::cuda
