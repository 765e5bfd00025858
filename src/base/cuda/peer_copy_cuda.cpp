#include <cuda_runtime.h>

#include "base/check_cuda.hpp"
#include "base/context_state.hpp"
#include "base/peer_copy.hpp"

namespace tessera::cuda {

/// Memory of the pool of another device is reached by copies between peers alone.
void copy_from_peer(const Context& context, const void* from, int from_device, void* to,
                    Offset bytes) {
    const int device = context.device();
    if (from_device < 0 || from_device == device) {
        return context.state().copy_bytes(from, to, bytes);
    }
    TESSERA_CUDA(cudaSetDevice(device));
    TESSERA_CUDA(cudaMemcpyPeerAsync(to, device, from, from_device, std::size_t(bytes),
                                     static_cast<cudaStream_t>(context.stream())));
}

}  // namespace tessera::cuda
