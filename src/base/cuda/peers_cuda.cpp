#include "base/peers.hpp"

#include "base/context_state.hpp"
#include "base/cuda/event.hpp"

namespace tessera::cuda {

namespace {

cudaStream_t stream_of(const Context& context, void* other) {
    TESSERA_CUDA(cudaSetDevice(context.device()));
    return static_cast<cudaStream_t>(other == nullptr ? context.stream() : other);
}

}  // namespace

std::shared_ptr<void> make_copy_stream(const Context& context) {
    TESSERA_CUDA(cudaSetDevice(context.device()));
    cudaStream_t stream = nullptr;
    TESSERA_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    return {stream, [](cudaStream_t made) { cudaStreamDestroy(made); }};
}

/// Memory of the pool of another device is reached by copies between peers alone.
void copy_from_peer(const Context& context, const void* from, int from_device, void* to,
                    Offset bytes, void* other_stream) {
    const int device = context.device();
    cudaStream_t stream = stream_of(context, other_stream);
    if (from_device == device) {
        TESSERA_CUDA(
            cudaMemcpyAsync(to, from, std::size_t(bytes), cudaMemcpyDeviceToDevice, stream));
    } else {
        TESSERA_CUDA(
            cudaMemcpyPeerAsync(to, device, from, from_device, std::size_t(bytes), stream));
    }
}

void record_event(const Context& context, std::shared_ptr<void>& event, void* other_stream) {
    cudaStream_t stream = stream_of(context, other_stream);
    if (!event) event = make_event(cudaEventDisableTiming);
    TESSERA_CUDA(cudaEventRecord(static_cast<cudaEvent_t>(event.get()), stream));
}

void wait_for_event(const Context& context, const std::shared_ptr<void>& event,
                    void* other_stream) {
    TESSERA_CUDA(cudaStreamWaitEvent(stream_of(context, other_stream),
                                     static_cast<cudaEvent_t>(event.get()), 0));
}

}  // namespace tessera::cuda
