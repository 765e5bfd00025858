#include "precond/block_ldlt/block_ldlt_solve.cuh"

namespace tessera::block_ldlt::cuda {

template void lower_product<float>(const Context&, const PatternView<float>&, Index, Index,
                                   const float*, float, const float*, const float*, float*);
template void upper_product<float>(const Context&, const PatternView<float>&, Index, Index,
                                   const float*, float, const float*, const float*, float*);
template void solve_by_levels<float>(const Context&, const PatternView<float>&,
                                     std::span<const Index>, const SolveTasks<float>&, const float*,
                                     const float*, float*, float*, float*, unsigned*);
template void diagonal_product<float>(const Context&, const PatternView<float>&, const float*,
                                      const float*, float*);

}  // namespace tessera::block_ldlt::cuda
