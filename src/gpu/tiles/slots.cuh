#pragma once

#include "gpu/tiles/staging.cuh"

/// Packed matrices of n rows wherever they lie in global memory, in the shared memory of a warp:
/// each in a slot of whole chunks of 16 bytes, shifted within its first chunk as in global memory,
/// so that chunks are copied as they are.
namespace tessera::cuda {

/// The slots of matrices of n rows, 32 / lanes a warp, whose rows are read by groups of `lanes`
/// lanes.
template <class T, int n, int lanes>
struct Slots {
    static constexpr int matrices = 32 / lanes;
    static constexpr int value_bytes = int(sizeof(T));
    static constexpr int values = n * n;
    static constexpr int bytes = values * value_bytes;
    static constexpr int chunk = 16 / value_bytes;   ///< In values.
    static constexpr int whole_chunks = bytes / 16;  ///< At most; and at least:
    static constexpr int sure_chunks = (bytes - (16 - value_bytes)) / 16;
    static constexpr int slot_chunks = (bytes + 31 - value_bytes) / 16;  ///< Touched at most.

    /// From slot to slot, in values; with the fewest bank conflicts between matrices with equal
    /// shifts.
    static constexpr int stride = [] {
        constexpr int phase = 128 / value_bytes;  // Lanes served together, and their banks.
        constexpr int least = slot_chunks * chunk;
        int best = 0;
        double best_cost = 1e9;
        for (int stride = least; stride < least + phase; stride += chunk) {
            int used[phase] = {};
            int worst = 0;
            for (int l = 0; l < std::min(phase, 32); ++l) {
                if (l % lanes >= n) continue;
                worst = std::max(worst, ++used[(l / lanes * stride + l % lanes) % phase]);
            }
            const double cost = worst + 0.01 * (stride - least);
            if (cost < best_cost) {
                best_cost = cost;
                best = stride;
            }
        }
        return best;
    }();

    /// Lanes that copy a matrix of `chunks` together: the fewest instructions, by about 12 a matrix
    /// and 3 a chunk, where lines of 128 bytes are copied at once.
    static constexpr int team(int chunks) {
        int best = 32;
        int best_cost = 1 << 30;
        for (int team = 32; team >= 1 && (team >= 8 || team >= chunks); team /= 2) {
            const int rounds = (matrices * team + 31) / 32;
            const int cost = rounds * (12 + 3 * ((chunks + team - 1) / team));
            if (cost < best_cost) {
                best_cost = cost;
                best = team;
            }
        }
        return best;
    }

    /// Where in its slot a matrix begins.
    __device__ static __forceinline__ int shift(unsigned long long address) {
        return int(unsigned(address) % 16 / unsigned(value_bytes));
    }
};

/// Starts to copy the matrices at w.addresses into the slots of this warp; see wait_for_copies.
/// Chunks are read from their beginning, even if the matrix starts within: what lies there belongs
/// to the same allocation, whose start is aligned to 16 bytes. The last values may end it, so they
/// are read one by one.
template <class Slots, class T>
__device__ __forceinline__ void load_slots(const WarpMatrices& w, T* slots) {
    constexpr int chunks = (Slots::bytes + 16 - Slots::value_bytes) / 16;  // At most.
    constexpr int chunk = Slots::chunk;
    constexpr int team = Slots::team(chunks);
    const int lane = int(threadIdx.x) % 32;
    const int member = lane % team;
#pragma unroll
    for (int first = 0; first < Slots::matrices; first += 32 / team) {
        const int m = first + lane / team;
        if (m >= w.here) continue;
        const unsigned long long address = w.addresses[m];
        const int left = (Slots::shift(address) + Slots::values) / chunk - member;
        const char* const from = reinterpret_cast<const char*>(address & ~15ull) + 16 * member;
        char* const to = reinterpret_cast<char*>(slots + m * Slots::stride) + 16 * member;
#pragma unroll 16
        for (int c = 0; c < chunks; c += team) {
            if (c + team <= Slots::whole_chunks || c < left) {
                copy_to_shared<16>(to + 16 * c, from + 16 * c);
            }
        }
    }
#pragma unroll
    for (int first = 0; first < Slots::matrices; first += 32 / chunk) {
        const int m = first + lane / chunk;
        if (m >= w.here) continue;
        const unsigned long long address = w.addresses[m];
        const int shift = Slots::shift(address);
        const int last = (shift + Slots::values) % chunk;
        const int within = Slots::values - last + lane % chunk;
        if (lane % chunk < last && within >= 0) {
            copy_to_shared<int(sizeof(T))>(slots + m * Slots::stride + shift + within,
                                           reinterpret_cast<const T*>(address) + within);
        }
    }
}

/// Copies the whole chunks of the slots of this warp to w.addresses.
template <class Slots, class T>
__device__ __forceinline__ void store_whole_chunks(const WarpMatrices& w, const T* slots) {
    constexpr int chunks = Slots::whole_chunks;
    constexpr int team = Slots::team(chunks);
    const int lane = int(threadIdx.x) % 32;
    const int member = lane % team;
#pragma unroll
    for (int first = 0; first < Slots::matrices; first += 32 / team) {
        const int m = first + lane / team;
        if (m >= w.here) continue;
        const unsigned long long address = w.addresses[m];
        const unsigned head = unsigned(-address) % 16;
        const int left = int(Slots::bytes - head) / 16 - member;
        char* const to = reinterpret_cast<char*>(address + head) + 16 * member;
        const char* const from = reinterpret_cast<const char*>(slots + m * Slots::stride) +
                                 (head > 0 ? 16 : 0) + 16 * member;
#pragma unroll 16
        for (int c = 0; c < chunks; c += team) {
            if (c + team <= Slots::sure_chunks || c < left) {
                *reinterpret_cast<int4*>(to + 16 * c) =
                    *reinterpret_cast<const int4*>(from + 16 * c);
            }
        }
    }
}

/// Copies the values in front of and behind them, those of one end by adjacent lanes.
template <class Slots, class T>
__device__ __forceinline__ void store_ragged_ends(const WarpMatrices& w, const T* slots) {
    constexpr int chunk = Slots::chunk;
#pragma unroll
    for (int first = 0; first < Slots::matrices; first += 16 / chunk) {
        const int e = int(threadIdx.x) % 32;
        const int m = first + e / (2 * chunk);
        if (m >= w.here) continue;
        const unsigned long long address = w.addresses[m];
        const int shift = Slots::shift(address);
        const int head = min((chunk - shift) % chunk, Slots::values);
        const int tail = (Slots::values - head) % chunk;
        const int k = e % chunk;
        const bool behind = e / chunk % 2 != 0;
        const int within = behind ? Slots::values - tail + k : k;
        if (k < (behind ? tail : head)) {
            reinterpret_cast<T*>(address)[within] = slots[m * Slots::stride + shift + within];
        }
    }
}

/// Copies the slots of this warp, written before the last __syncwarp, to w.addresses.
template <class Slots, class T>
__device__ __forceinline__ void store_slots(const WarpMatrices& w, const T* slots) {
    if constexpr (Slots::bytes > 72) {
        store_whole_chunks<Slots>(w, slots);
        store_ragged_ends<Slots>(w, slots);
    } else {  // Hardly more than ends.
#pragma unroll 4
        for (int e = int(threadIdx.x) % 32; e < w.here * Slots::values; e += 32) {
            const int m = e / Slots::values;
            const int within = e - m * Slots::values;
            const unsigned long long address = w.addresses[m];
            reinterpret_cast<T*>(address)[within] =
                slots[m * Slots::stride + Slots::shift(address) + within];
        }
    }
}

}  // namespace tessera::cuda
