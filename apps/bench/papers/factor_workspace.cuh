#pragma once

#include "batched/factor/factor_any_size.cuh"
#include "harness/cuda_kernels.hpp"

namespace tessera::bench::paper {

/// The matrices of Width / 2 + 1 .. Width rows (4: of 1 .. 4) in the given workspace; false if the
/// library's own kernels use it.
template <class Method, int Width, class T>
bool factor_width(const Context& context, Workspace workspace, const batched::FactorJob<T>& job) {
    using batched::cuda::factor_small;
    constexpr bool usual = batched::cuda::prefers_shared_memory<Method, T>(Width);
    const bool shared = workspace == Workspace::shared_memory;
    if (shared == usual) return false;
    shared ? factor_small<Method, T, Width, true>(context, job, 0)
           : factor_small<Method, T, Width, false>(context, job, 0);
    return true;
}

template <class Method, class T>
bool factor_in(const Context& context, Workspace workspace, const batched::FactorJob<T>& job) {
    const Index n = job.a.size;
    return n <= 4    ? factor_width<Method, 4>(context, workspace, job)
           : n <= 8  ? factor_width<Method, 8>(context, workspace, job)
           : n <= 16 ? factor_width<Method, 16>(context, workspace, job)
                     : factor_width<Method, 32>(context, workspace, job);
}

template <batched::Pivoting pivoting, class T>
bool ldu_in(const Context& context, Workspace workspace, const FactorArguments<T>& arguments) {
    return factor_in<batched::cuda::Ldu<pivoting>, T>(
        context, workspace,
        {arguments.a, arguments.f, arguments.permutations, arguments.results, {}, pivoting});
}
template <batched::Pivoting pivoting, class T>
bool llt_in(const Context& context, Workspace workspace, const FactorArguments<T>& arguments) {
    return factor_in<batched::cuda::Llt<pivoting>, T>(
        context, workspace,
        {arguments.a, arguments.f, arguments.permutations, arguments.results, {}, pivoting});
}

}  // namespace tessera::bench::paper
