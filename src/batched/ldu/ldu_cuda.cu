#include "batched/ldu/kernels.hpp"

#include "batched/factor_entries.hpp"
#include "batched/factor_lane_entries.hpp"

namespace tessera::batched::cuda {

template <class T>
void ldu(const Context& context, const FactorJob<T>& job) {
    switch (job.pivoting) {
        case Pivoting::fixed:
            if (ldu_by_lanes<Pivoting::fixed>(context, job)) return;
            if (ldu_by_groups<Pivoting::fixed>(context, job)) return;
            return ldu_with<Pivoting::fixed>(context, job);
        case Pivoting::partial:
            if (ldu_by_lanes<Pivoting::partial>(context, job)) return;
            if (ldu_by_groups<Pivoting::partial>(context, job)) return;
            return ldu_with<Pivoting::partial>(context, job);
        default:
            return ldu_with<Pivoting::full>(context, job);
    }
}

template void ldu<float>(const Context&, const FactorJob<float>&);
template void ldu<double>(const Context&, const FactorJob<double>&);

}  // namespace tessera::batched::cuda
