#pragma once

#include <cstdint>

#include "base/host_device.hpp"

/// The counter-based generator Philox 4x32-10 (Salmon, Moraes, Dror, Shaw, "Parallel random
/// numbers: as easy as 1, 2, 3", SC 2011): a bijection of 128-bit counters for each 64-bit key. The
/// number at a counter needs no state, so it is the same on every backend and for every thread.
namespace tessera::philox {

/// Four random words, or a counter; words[0] is the least significant.
struct Words {
    std::uint32_t words[4];
};

/// The ten rounds on `counter` under the key (key0, key1).
TESSERA_HOST_DEVICE inline Words words(Words counter, std::uint32_t key0, std::uint32_t key1) {
    std::uint32_t* c = counter.words;
    for (int round = 0; round < 10; ++round) {
        const std::uint64_t product0 = std::uint64_t(0xD2511F53u) * c[0];
        const std::uint64_t product2 = std::uint64_t(0xCD9E8D57u) * c[2];
        c[0] = std::uint32_t(product2 >> 32) ^ c[1] ^ key0;
        c[1] = std::uint32_t(product2);
        c[2] = std::uint32_t(product0 >> 32) ^ c[3] ^ key1;
        c[3] = std::uint32_t(product0);
        key0 += 0x9E3779B9u;
        key1 += 0xBB67AE85u;
    }
    return counter;
}

/// Element `index` of stream `stream` for `seed`: key = seed, counter = (index, stream).
TESSERA_HOST_DEVICE inline Words words(std::uint64_t seed, std::uint64_t stream,
                                       std::uint64_t index) {
    const Words counter{{std::uint32_t(index), std::uint32_t(index >> 32), std::uint32_t(stream),
                         std::uint32_t(stream >> 32)}};
    return words(counter, std::uint32_t(seed), std::uint32_t(seed >> 32));
}

/// Uniform in [0, 1), a multiple of 2^-53 (double, from both words) or 2^-24 (float, from `high`).
template <class T>
TESSERA_HOST_DEVICE inline T unit_interval(std::uint32_t high, std::uint32_t low) {
    if constexpr (sizeof(T) == 4) {
        return T(high >> 8) * T(0x1p-24);
    } else {
        return T((std::uint64_t(high) << 32 | low) >> 11) * T(0x1p-53);
    }
}

}  // namespace tessera::philox
