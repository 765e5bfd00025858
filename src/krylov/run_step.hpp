#pragma once

#include "base/runtime_cuda.hpp"
#include "tessera/context.hpp"

namespace tessera {

// A step is a small functor, `void operator()() const`, that does the scalar arithmetic between two
// vector operations of a method: it reads and writes a state in the memory of a Context, so that
// the host need not wait for a dot before it can enqueue the update that uses it.

namespace cuda {
/// Launches `step` in one thread of the GPU; instantiated in run_step_cuda.cu for every step.
template <class Step>
void run_step(const Context& context, const Step& step);
}  // namespace cuda

/// Runs `step` in the order of the work given to `context`; does not wait.
template <class Step>
void run_step(const Context& context, const Step& step) {
    if constexpr (cuda::with_cuda) {
        if (context.on_gpu()) return cuda::run_step(context, step);
    }
    step();
}

}  // namespace tessera
