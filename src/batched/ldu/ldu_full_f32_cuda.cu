#include "batched/ldu/ldu_compact.cuh"

namespace tessera::batched::cuda {

template <>
void ldu_with<Pivoting::full>(const Context& context, const FactorJob<float>& job) {
    if (job.plan == nullptr && job.a.size > 16 && job.a.size <= 32 &&
        ldu_by_compact<float, 8, 0, 5>(context, job)) {
        return;
    }
    factorise_batch<Ldu<Pivoting::full>>(context, job);
}

}  // namespace tessera::batched::cuda
