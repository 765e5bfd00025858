#pragma once

#include "base/context_state.hpp"
#include "gpu/launch.cuh"

/// Mailbox: words of page-locked host memory to which a kernel writes its results, values of 63
/// bits with the top bit set. The host reads them some microseconds before the kernel ends.
namespace tessera::cuda {

inline constexpr std::uint64_t word_written = std::uint64_t(1) << 63;

/// Writes one word; a store of 8 bytes, which the host sees as a whole.
__device__ __forceinline__ void write_mailbox(std::uint64_t* word, std::uint64_t value) {
    *static_cast<volatile std::uint64_t*>(word) = value | word_written;
}

/// The first `count` words (at most ContextState::mailbox_words), cleared before the kernel is
/// launched.
inline std::uint64_t* clear_mailbox(const Context& context, int count) {
    context.state().require_no_capture("the host cannot wait for a result");
    std::uint64_t* const words = context.state().mailbox;
    for (int k = 0; k < count; ++k) __atomic_store_n(words + k, 0, __ATOMIC_RELEASE);
    return words;
}

/// Waits until `count` words are written, or all work of the Context has ended.
inline void wait_for_mailbox(const Context& context, int count) {
    constexpr int reads_per_query = 20000;  // Reading a word is far faster than cudaStreamQuery.
    const std::uint64_t* const words = context.state().mailbox;
    int written = 0;
    for (bool ended = false; !ended;) {
        for (int read = 0; read < reads_per_query; ++read) {
            while (written < count &&
                   (__atomic_load_n(words + written, __ATOMIC_ACQUIRE) & word_written) != 0) {
                ++written;
            }
            if (written == count) return;
        }
        const cudaError_t error = cudaStreamQuery(stream_of(context));
        ended = error != cudaErrorNotReady;
        if (ended) {
            check(error, "cudaStreamQuery", __FILE__, __LINE__);
        } else {
            cudaGetLastError();
        }
    }
}

/// The value of word `k`, after wait_for_mailbox.
inline std::uint64_t read_mailbox(const Context& context, int k) {
    return __atomic_load_n(context.state().mailbox + k, __ATOMIC_ACQUIRE) & ~word_written;
}

}  // namespace tessera::cuda
