#include "batched/solve/solve_tile.cuh"

namespace tessera::batched::cuda {

template void solve<float>(const Context&, Factorisation, Transpose, const BatchView<const float>&,
                           const PermutationsView<const Index>&, const VectorsView<const float>&,
                           const VectorsView<float>&, const Plan*);

}  // namespace tessera::batched::cuda
