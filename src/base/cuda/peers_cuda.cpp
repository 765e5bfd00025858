#include "base/peers.hpp"

#include <cstdint>
#include <cstring>

#include "base/context_state.hpp"
#include "base/cuda/event.hpp"
#include "base/cuda/word_copies.hpp"

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

namespace {

/// So few bytes come sooner by a kernel that reads them from the other device than by copies, of
/// which each takes as long to begin as the kernel.
constexpr Offset max_bytes_of_kernel = 1 << 20;

bool fits_kernel(const PeerCopy& copy) {
    const auto address = [](const void* p) { return reinterpret_cast<std::uintptr_t>(p); };
    return copy.is_shared &&
           (address(copy.from) | address(copy.to) | std::size_t(copy.bytes)) % 4 == 0;
}

}  // namespace

/// Memory of the pool of another device is reached by copies between peers, and by kernels where
/// both devices are peers.
void copy_from_peers(const Context& context, std::span<const PeerCopy> copies, void* other_stream) {
    const int device = context.device();
    cudaStream_t stream = stream_of(context, other_stream);
    Offset bytes = 0;
    bool fit = copies.size() <= std::size_t(WordCopies::capacity);
    for (const PeerCopy& each : copies) {
        bytes += each.bytes;
        fit = fit && fits_kernel(each);
    }
    if (fit && bytes <= max_bytes_of_kernel) {
        WordCopies words;
        for (const PeerCopy& each : copies) words.add(each.from, each.to, each.bytes / 4);
        return copy_words(stream, words);
    }
    for (const PeerCopy& each : copies) {
        if (each.from_device == device) {
            TESSERA_CUDA(cudaMemcpyAsync(each.to, each.from, std::size_t(each.bytes),
                                         cudaMemcpyDeviceToDevice, stream));
        } else {
            TESSERA_CUDA(cudaMemcpyPeerAsync(each.to, device, each.from, each.from_device,
                                             std::size_t(each.bytes), stream));
        }
    }
}

void write_device_id(const Context& context, std::byte* id) {
    cudaDeviceProp properties{};
    TESSERA_CUDA(cudaGetDeviceProperties(&properties, context.device()));
    std::memcpy(id, &properties.uuid, sizeof properties.uuid);
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

std::shared_ptr<std::byte> page_locked_memory(const Context& context, Offset bytes) {
    TESSERA_CUDA(cudaSetDevice(context.device()));
    void* memory = nullptr;
    TESSERA_CUDA(cudaHostAlloc(&memory, std::size_t(bytes), cudaHostAllocPortable));
    return {static_cast<std::byte*>(memory), [](std::byte* made) { cudaFreeHost(made); }};
}

}  // namespace tessera::cuda
