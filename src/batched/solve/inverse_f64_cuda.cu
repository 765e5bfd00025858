#include "batched/solve/solve_tile.cuh"

namespace tessera::batched::cuda {

template void inverse_from_factors<double>(const Context&, Factorisation,
                                           const BatchView<const double>&,
                                           const PermutationsView<const Index>&,
                                           const BatchView<double>&, const Plan*);

}  // namespace tessera::batched::cuda
