#include "batched/ldu/ldu_compact.cuh"

namespace tessera::batched::cuda {

template <>
void ldu_with<Pivoting::full>(const Context& context, const FactorJob<float>& job) {
    factorise_batch<Ldu<Pivoting::full>>(
        context, job, [&] { return ldu_by_compact(context, job); });
}

}  // namespace tessera::batched::cuda
