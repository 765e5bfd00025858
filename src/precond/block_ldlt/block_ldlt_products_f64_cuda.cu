#include "precond/block_ldlt/block_ldlt_solve.cuh"

namespace tessera::block_ldlt::cuda {

template void lower_product<double>(const Context&, const PatternView<double>&, Index, Index,
                                    const double*, double, const double*, const double*, double*);
template void upper_product<double>(const Context&, const PatternView<double>&, Index, Index,
                                    const double*, double, const double*, const double*, double*);
template void solve_by_levels<double>(const Context&, const PatternView<double>&,
                                      std::span<const Index>, const SolveTasks<double>&,
                                      const double*, const double*, double*, double*, double*,
                                      unsigned*);
template void diagonal_product<double>(const Context&, const PatternView<double>&, const double*,
                                       const double*, double*);

}  // namespace tessera::block_ldlt::cuda
