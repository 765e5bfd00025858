#pragma once

namespace tessera::cuda {

/// Sets a word of host memory, behind all that this thread wrote before.
__device__ __forceinline__ void signal_host(unsigned* signal) {
    __threadfence_system();
    *static_cast<volatile unsigned*>(signal) = 1;
}

}  // namespace tessera::cuda
