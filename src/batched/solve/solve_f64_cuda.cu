#include "batched/solve/solve_tile.cuh"

namespace tessera::batched::cuda {

template void solve<double>(const Context&, Factorisation, Transpose,
                            const BatchView<const double>&, const PermutationsView<const Index>&,
                            const VectorsView<const double>&, const VectorsView<double>&,
                            const Plan*);

}  // namespace tessera::batched::cuda
