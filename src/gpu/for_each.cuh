#pragma once

#include "base/for_each.hpp"
#include "gpu/launch.cuh"

namespace tessera::cuda {

constexpr int for_each_threads = 128;

/// Numbers i of a thread, for_each_threads apart: one where it has much work.
template <class F>
inline constexpr int for_each_items = F::work > 100 ? 1 : 4;

template <class F>
__global__ void __launch_bounds__(for_each_threads)
    for_each_kernel(Offset count, const __grid_constant__ F f) {
    begin_dependent();
    for_elements<for_each_items<F>>(count, [&](Offset i) { f(i); });
}

template <class F>
void for_each_index(const Context& context, Offset count, const F& f) {
    if (count == 0) return;
    launch_dependent(&for_each_kernel<F>, blocks_for(count, for_each_items<F> * for_each_threads),
                     for_each_threads, 0, stream_of(context), count, f);
}

}  // namespace tessera::cuda
