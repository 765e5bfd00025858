#include "batched/llt/llt_groups.cuh"

namespace tessera::batched::cuda {

template bool llt_by_groups<float>(const Context&, const FactorJob<float>&);
template bool llt_by_groups<double>(const Context&, const FactorJob<double>&);

}  // namespace tessera::batched::cuda
