#pragma once

#include "base/for_each.hpp"
#include "gpu/launch.cuh"
#include "gpu/tuning/primitives_h200.hpp"

namespace tessera::cuda {

/// Element-wise loop; for_each_items<F::work> elements per thread, at distance for_each_threads.
template <class F>
__global__ void __launch_bounds__(for_each_threads)
    for_each_kernel(Offset count, const __grid_constant__ F f) {
    begin_dependent();
    for_elements<for_each_items<F::work>>(count, [&](Offset i) { f(i); });
}

template <class F>
void for_each_index(const Context& context, Offset count, const F& f) {
    if (count == 0) return;
    const unsigned blocks = blocks_for(count, for_each_items<F::work> * for_each_threads);
    launch_dependent(&for_each_kernel<F>, blocks, for_each_threads, 0, stream_of(context), count,
                     f);
}

/// Instantiates for_each_index for F<float> and F<double>.
#define TESSERA_FOR_EACH_REAL(F)                                           \
    template void for_each_index(const Context&, Offset, const F<float>&); \
    template void for_each_index(const Context&, Offset, const F<double>&);

}  // namespace tessera::cuda
