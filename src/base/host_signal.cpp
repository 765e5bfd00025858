#include "base/host_signal.hpp"

#include <cstddef>

#include "base/runtime_cuda.hpp"

namespace tessera {

namespace {
unsigned* signal_of(const Context& context) {
    return reinterpret_cast<unsigned*>(static_cast<std::byte*>(host_scratch(context)) +
                                       host_result_bytes);
}
}  // namespace

unsigned* expect_signal(const Context& context) {
    unsigned* const signal = signal_of(context);
    __atomic_store_n(signal, 0U, __ATOMIC_RELEASE);
    return signal;
}

void wait_for_signal(const Context& context) {
    if constexpr (cuda::with_cuda) {
        // The word can be looked at far more often than the stream can be asked.
        constexpr int looks = 20000;
        const unsigned* const signal = signal_of(context);
        for (bool ended = false; !ended; ended = cuda::has_ended(context.stream())) {
            for (int look = 0; look < looks; ++look) {
                if (__atomic_load_n(signal, __ATOMIC_ACQUIRE) != 0) return;
            }
        }
    }
}

}  // namespace tessera
