#pragma once

#include <atomic>

#include "base/dispatch.hpp"
#include "base/host_device.hpp"
#ifndef __CUDACC__
#include "base/parallel.hpp"
#endif

namespace tessera {

namespace cuda {
/// Defined in gpu/for_each.cuh; a .cu file instantiates it for every F.
template <class F>
void for_each_index(const Context& context, Offset count, const F& f);
}  // namespace cuda

#ifndef __CUDACC__
namespace cpu {
template <class F>
void for_each_index(const Context& context, Offset count, const F& f) {
    parallel_ranges(
        context.threads(), count,
        [&](Offset first, Offset last) {
            for (Offset i = first; i < last; ++i) f(i);
        },
        std::max<Offset>(1, parallel_grain / F::work));
}
}  // namespace cpu

/// f(i) for i = 0 .. count - 1 in any order on the backend of the Context: one function for both. F
/// is a trivially copyable struct with F::work, about how many numbers one i reads. Does not wait.
template <class F>
void for_each_index(const Context& context, Offset count, const F& f) {
    select(context, &cpu::for_each_index<F>, TESSERA_IF_CUDA(cuda::for_each_index<F>))(context,
                                                                                       count, f);
}

#endif

/// Sets a flag; several i may do so at once.
TESSERA_HOST_DEVICE inline void raise_flag(int* flag) {
#ifdef __CUDA_ARCH__
    *flag = 1;
#else
    std::atomic_ref<int>(*flag).store(1, std::memory_order_relaxed);
#endif
}

}  // namespace tessera
