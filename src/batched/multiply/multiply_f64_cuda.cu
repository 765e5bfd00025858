#include "batched/multiply/multiply_ring.cuh"

namespace tessera::batched::cuda {

template bool multiply_runs<double>(const Context&, double, const BatchView<const double>&,
                                    const VectorsView<const double>&, double,
                                    const VectorsView<double>&);

}  // namespace tessera::batched::cuda
