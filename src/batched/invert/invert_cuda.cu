#include "batched/invert/kernels.hpp"

namespace tessera::batched::cuda {

template <class T>
void invert(const Context& context, const InvertJob<T>& job) {
    invert_small(context, job);
    const Index largest = job.plan != nullptr ? job.plan->largest() : job.a.size;
    if (largest > 32) invert_large(context, job);
}

template void invert<float>(const Context&, const InvertJob<float>&);
template void invert<double>(const Context&, const InvertJob<double>&);

}  // namespace tessera::batched::cuda
