#include "batched/norm/norm_ring.cuh"

namespace tessera::batched::cuda {

template bool norm_of_run<double>(const Context&, const BatchView<const double>&, double*);

}  // namespace tessera::batched::cuda
