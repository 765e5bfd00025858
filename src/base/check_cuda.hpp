#pragma once

#include <cuda_runtime.h>

#include "tessera/types.hpp"

/// Turns a CUDA error into a DeviceError (OutOfMemory for memory) that names the call and the
/// source line.
#define TESSERA_CUDA(call) ::tessera::cuda::check((call), #call, __FILE__, __LINE__)

namespace tessera::cuda {

[[noreturn]] void throw_device_error(cudaError_t error, const char* call, const char* file,
                                     int line);

inline void check(cudaError_t error, const char* call, const char* file, int line) {
    if (error != cudaSuccess) throw_device_error(error, call, file, line);
}

}  // namespace tessera::cuda
