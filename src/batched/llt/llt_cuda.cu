#include "batched/llt/kernels.hpp"

#include "batched/factor_entries.hpp"
#include "batched/factor_lane_entries.hpp"

namespace tessera::batched::cuda {

template <class T>
void llt(const Context& context, const FactorJob<T>& job) {
    switch (job.pivoting) {
        case Pivoting::fixed:
            if (llt_by_lanes(context, job)) return;
            if (llt_by_groups(context, job)) return;
            return llt_with<Pivoting::fixed>(context, job);
        default:
            return llt_with<Pivoting::full>(context, job);
    }
}

template void llt<float>(const Context&, const FactorJob<float>&);
template void llt<double>(const Context&, const FactorJob<double>&);

}  // namespace tessera::batched::cuda
