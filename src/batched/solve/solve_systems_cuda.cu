#include "batched/solve/kernels.hpp"
#include "gpu/launch.cuh"

namespace tessera::batched::cuda {

namespace {

/// The largest first: they take longest.
template <bool pivoting, class T>
void solve_as(const Context& context, const SystemJob<T>& job) {
    tessera::cuda::LaunchChain chain(context);
    solve_large<T, pivoting>(chain, job);
    solve_fixed_size<T, pivoting, 25, 32>(chain, job);
    solve_fixed_size<T, pivoting, 17, 24>(chain, job);
    solve_fixed_size<T, pivoting, 9, 16>(chain, job);
    solve_fixed_size<T, pivoting, 1, 8>(chain, job);
    solve_any_size<T, pivoting>(chain, job);
}

}  // namespace

template <class T>
void solve_systems(const Context& context, const SystemJob<T>& job) {
    if (job.pivoting()) return solve_as<true>(context, job);
    solve_as<false>(context, job);
}

template decltype(solve_systems<float>) solve_systems<float>;
template decltype(solve_systems<double>) solve_systems<double>;

}  // namespace tessera::batched::cuda
