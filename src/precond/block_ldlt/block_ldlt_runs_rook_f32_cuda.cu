#include "precond/block_ldlt/block_ldlt_runs.cuh"

namespace tessera::block_ldlt::cuda {

template void factor_run_with<Pivoting::rook>(const Context&, const PatternView<float>&,
                                              const LevelFactor<float>&, Index, Index);

}  // namespace tessera::block_ldlt::cuda
