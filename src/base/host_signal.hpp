#pragma once

#include <cstdint>

#include "base/context_state.hpp"

/// Words of host_scratch in which a kernel gives its result: values of 63 bits, each with the top
/// bit set once it is there. The host sees them some microseconds before the end of the kernel, and
/// the kernel need not wait between a result and a word that tells of it.
namespace tessera {

inline constexpr int host_words = int(host_scratch_bytes / 8);
inline constexpr std::uint64_t host_word_told = std::uint64_t(1) << 63;

/// The first of `count` words, cleared, before the kernel is launched; at most host_words.
std::uint64_t* expect_words(const Context& context, int count);

/// Until `count` words are told, or all work of the Context has ended.
void wait_for_words(const Context& context, int count);

/// The value of word `k`, waited for before.
std::uint64_t told_word(const Context& context, int k);

#ifdef __CUDACC__
/// Tells the host a value of 63 bits, by one store of 8 bytes, which it sees as a whole.
__device__ __forceinline__ void tell_host(std::uint64_t* word, std::uint64_t value) {
    *static_cast<volatile std::uint64_t*>(word) = value | host_word_told;
}
#endif

}  // namespace tessera
