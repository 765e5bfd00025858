#include "precond/block_ldlt/block_ldlt_runs.cuh"

namespace tessera::block_ldlt::cuda {

template void factor_run_with<Pivoting::rook>(const Context&, const PatternView<double>&,
                                              const LevelFactor<double>&, Index, Index);

}  // namespace tessera::block_ldlt::cuda
