#include "batched/ldu/ldu_groups.cuh"

namespace tessera::batched::cuda {

template bool ldu_by_groups<Pivoting::fixed>(const Context&, const FactorJob<double>&);
template bool ldu_by_groups<Pivoting::partial>(const Context&, const FactorJob<double>&);

}  // namespace tessera::batched::cuda
