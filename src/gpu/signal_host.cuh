#pragma once

#include <cstdint>

#include "base/host_signal.hpp"

namespace tessera::cuda {

/// Tells the host a value of 63 bits.
__device__ __forceinline__ void tell_host(std::uint64_t* word, std::uint64_t value) {
    // One store of 8 bytes, which the host sees as a whole.
    *static_cast<volatile std::uint64_t*>(word) = value | host_word_told;
}

}  // namespace tessera::cuda
