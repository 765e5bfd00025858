#include "batched/solve/solve_tile.cuh"

namespace tessera::batched::cuda {

template void inverse_from_factors<float>(const Context&, Factorisation,
                                          const BatchView<const float>&,
                                          const PermutationsView<const Index>&,
                                          const BatchView<float>&, const Plan*);

}  // namespace tessera::batched::cuda
