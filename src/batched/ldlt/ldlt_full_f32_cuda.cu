#include "batched/ldlt/ldlt_launch.cuh"

namespace tessera::batched::cuda {

template void ldlt_with<Pivoting::full>(const Context&, const FactorJob<float>&);

}  // namespace tessera::batched::cuda
