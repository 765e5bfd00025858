#include <type_traits>

#include "batched/invert/kernels.hpp"
#include "gpu/launch.cuh"

namespace tessera::batched::cuda {

/// Launches the largest matrices first: they take longest.
template <class T>
void invert(const Context& context, const InvertJob<T>& job) {
    tessera::cuda::LaunchChain chain(context);
    invert_large(chain, job);
    if constexpr (std::is_same_v<T, double>) {
        invert_panels(chain, job);
    } else {
        invert_fixed_size<T, 25, 32>(chain, job);
    }
    invert_fixed_size<T, 17, 24>(chain, job);
    invert_fixed_size<T, 11, 16>(chain, job);
    invert_fixed_size<T, 1, 10>(chain, job);
    invert_any_size(chain, job);
}

template decltype(invert<float>) invert<float>;
template decltype(invert<double>) invert<double>;

}  // namespace tessera::batched::cuda
