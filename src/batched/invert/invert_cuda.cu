#include "batched/invert/kernels.hpp"

namespace tessera::batched::cuda {

template <class T>
void invert(const Context& context, const InvertJob<T>& job) {
    const Index largest = job.plan != nullptr ? job.plan->largest() : job.a.size;
    const bool one_size = job.plan == nullptr && job.results.pivot_growth == nullptr;
    const bool done = one_size && (invert_exact<T, 1, 16>(context, job) ||
                                   invert_exact<T, 17, 24>(context, job) ||
                                   invert_exact<T, 25, 32>(context, job));
    if (!done) invert_small(context, job);
    if (largest > 32) invert_large(context, job);
}

template void invert<float>(const Context&, const InvertJob<float>&);
template void invert<double>(const Context&, const InvertJob<double>&);

}  // namespace tessera::batched::cuda
