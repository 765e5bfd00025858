#include "batched/invert/kernels.hpp"

namespace tessera::batched::cuda {

namespace {

/// By the kernel made for the size of all matrices; false where there is none.
template <class T>
bool invert_one_size(const Context& context, const InvertJob<T>& job) {
    return invert_lanes(context, job) || invert_exact<T, 1, 16>(context, job) ||
           invert_exact<T, 17, 24>(context, job) || invert_exact<T, 25, 32>(context, job);
}

}  // namespace

template <class T>
void invert(const Context& context, const InvertJob<T>& job) {
    if (job.results.pivot_growth != nullptr) {
        invert_small<T, true>(context, job);
    } else if (job.plan != nullptr || !invert_one_size(context, job)) {
        invert_small<T, false>(context, job);
    }
    const Index largest = job.plan != nullptr ? job.plan->largest() : job.a.size;
    if (largest > 32) invert_large(context, job);
}

template void invert<float>(const Context&, const InvertJob<float>&);
template void invert<double>(const Context&, const InvertJob<double>&);

}  // namespace tessera::batched::cuda
