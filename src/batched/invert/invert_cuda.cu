#include "batched/invert/kernels.hpp"
#include "gpu/side_streams.hpp"

namespace tessera::batched::cuda {

/// The largest matrices first: they take longest.
template <class T>
void invert(const Context& context, const InvertJob<T>& job) {
    const bool several = job.plan != nullptr && job.count(job.largest()) < job.a.count;
    tessera::cuda::SideStreams streams(context, several);
    invert_large(streams, job);
    if (job.results.pivot_growth == nullptr) {
        invert_exact<T, 25, 32>(streams, job);
        invert_exact<T, 17, 24>(streams, job);
        invert_exact<T, 1, 16>(streams, job);
    }
    invert_bounded(streams, job);
}

template void invert<float>(const Context&, const InvertJob<float>&);
template void invert<double>(const Context&, const InvertJob<double>&);

}  // namespace tessera::batched::cuda
