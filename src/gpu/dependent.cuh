#pragma once

/// The two halves of begin_dependent (gpu/launch.cuh), for kernels that read something in between:
/// it must have been written before the host launched any of the kernels that still run then, and
/// the host must have waited for that.
namespace tessera::cuda {

/// Lets the next launch_dependent start.
__device__ __forceinline__ void let_dependents_start() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;");
#endif
}

/// Waits for all kernels before this one.
__device__ __forceinline__ void wait_for_kernels_before() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

}  // namespace tessera::cuda
