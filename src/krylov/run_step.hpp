#pragma once

#ifdef __CUDACC__
#include "gpu/launch.cuh"
#endif
#include "tessera/context.hpp"

namespace tessera {

// A step is a member function of a method's state: the scalar arithmetic between two vector
// operations. It runs in the memory of the Context, on a GPU as a kernel of one thread, so that the
// host need not wait for a dot before it enqueues the update that uses it. registry.cpp, which
// includes the methods, is compiled by nvcc if there is one.

#ifdef __CUDACC__
/// Calls one step of the scalar recurrence of each state; one thread each.
template <auto Step, class State, class... Arguments>
__global__ void step_kernel(State* states, Arguments... arguments) {
    (states[threadIdx.x].*Step)(arguments...);
}
#endif

/// Enqueues (states[c].*Step)(arguments...) for c < count on `context`; does not wait.
template <auto Step, class State, class... Arguments>
void run_steps([[maybe_unused]] const Context& context, State* states, int count,
               Arguments... arguments) {
#ifdef __CUDACC__
    if (context.on_gpu()) {
        step_kernel<Step>
            <<<1, unsigned(count), 0, cuda::stream_of(context)>>>(states, arguments...);
        TESSERA_CUDA(cudaGetLastError());
        return;
    }
#endif
    for (int c = 0; c < count; ++c) (states[c].*Step)(arguments...);
}

/// Runs the step for one state.
template <auto Step, class State, class... Arguments>
void run_step(const Context& context, State* state, Arguments... arguments) {
    run_steps<Step>(context, state, 1, arguments...);
}

}  // namespace tessera
