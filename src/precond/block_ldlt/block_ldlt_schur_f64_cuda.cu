#include "precond/block_ldlt/block_ldlt_schur.cuh"

namespace tessera::block_ldlt::cuda {

template void schur_diagonals<double>(const Context&, const PatternView<double>&, Index, Index,
                                      const double*, const double*, double*);
template void schur_blocks<double>(const Context&, const PatternView<double>&, Offset, Offset,
                                   const double*, const double*, const double*, double*, double*);

}  // namespace tessera::block_ldlt::cuda
