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
    static constexpr int chunk = 16 / value_bytes;  ///< In values.
    static constexpr int most_chunks = bytes / 16;  ///< Whole ones.
    static constexpr int least_chunks = (bytes - (16 - value_bytes)) / 16;
    static constexpr int most_ragged = std::min(chunk - 1, values);  ///< Values at either end.

    /// From slot to slot, in values; with the fewest bank conflicts between matrices with equal
    /// shifts.
    static constexpr int stride = [] {
        constexpr int phase = 128 / value_bytes;  // Lanes served together, and their banks.
        constexpr int least = (values + 2 * chunk - 2) / chunk * chunk;
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

    /// Lanes that copy a matrix together: the fewest instructions, by about 12 a matrix and 3 a
    /// chunk, where lines of 128 bytes are copied at once.
    static constexpr int team = [] {
        int best = 32;
        int best_cost = 1 << 30;
        for (int team = 32; team >= 1 && (team >= 8 || team >= most_chunks); team /= 2) {
            const int rounds = (matrices * team + 31) / 32;
            const int cost = rounds * (12 + 3 * ((most_chunks + team - 1) / team));
            if (cost < best_cost) {
                best_cost = cost;
                best = team;
            }
        }
        return best;
    }();

    /// Where in its slot a matrix begins.
    __device__ static __forceinline__ int shift(unsigned long long address) {
        return int(unsigned(address) % 16 / unsigned(value_bytes));
    }
};

/// visit(a whole chunk in global memory, its place in the slots) for the chunks of this lane.
template <class Slots, class Visit>
__device__ __forceinline__ void for_whole_chunks(const WarpMatrices& w, Visit&& visit) {
    const int lane = int(threadIdx.x) % 32;
    const int member = lane % Slots::team;
#pragma unroll
    for (int first = 0; first < Slots::matrices; first += 32 / Slots::team) {
        const int m = first + lane / Slots::team;
        if (m >= w.here) continue;
        const unsigned long long address = w.addresses[m];
        const unsigned head = unsigned(-address) % 16;
        const int left = int(Slots::bytes - head) / 16 - member;
        char* const global = reinterpret_cast<char*>(address + head) + 16 * member;
        const int place =
            m * Slots::stride * Slots::value_bytes + (head > 0 ? 16 : 0) + 16 * member;
#pragma unroll 16
        for (int c = 0; c < Slots::most_chunks; c += Slots::team) {
            if (c + Slots::team <= Slots::least_chunks || c < left) {
                visit(global + 16 * c, place + 16 * c);
            }
        }
    }
}

/// visit(a value in global memory, its place in the slots) for those in front of and behind the
/// whole chunks.
template <class Slots, class T, class Visit>
__device__ __forceinline__ void for_ragged_ends(const WarpMatrices& w, Visit&& visit) {
    constexpr int lanes = 32 / Slots::matrices;
    const int m = int(threadIdx.x) % 32 / lanes;
    if (m >= w.here) return;
    const unsigned long long address = w.addresses[m];
    const int shift = Slots::shift(address);
    const int head = min((Slots::chunk - shift) % Slots::chunk, Slots::values);
    const int tail = (Slots::values - head) % Slots::chunk;
#pragma unroll
    for (int first = 0; first < 2 * Slots::most_ragged; first += lanes) {
        const int k = first + int(threadIdx.x) % lanes;
        const bool in_head = k < Slots::most_ragged;
        const int within = in_head ? k : Slots::values - 1 - (k - Slots::most_ragged);
        if (in_head ? k < head : k - Slots::most_ragged < tail) {
            visit(reinterpret_cast<T*>(address) + within, m * Slots::stride + shift + within);
        }
    }
}

/// Starts to copy the matrices at w.addresses into the slots of this warp; see wait_for_copies.
template <class Slots, class T>
__device__ __forceinline__ void load_slots(const WarpMatrices& w, T* slots) {
    for_whole_chunks<Slots>(w, [&](const char* from, int place) {
        copy_to_shared<16>(reinterpret_cast<char*>(slots) + place, from);
    });
    for_ragged_ends<Slots, const T>(
        w, [&](const T* from, int place) { copy_to_shared<int(sizeof(T))>(slots + place, from); });
}

/// Copies the slots of this warp, written before the last __syncwarp, to w.addresses.
template <class Slots, class T>
__device__ __forceinline__ void store_slots(const WarpMatrices& w, const T* slots) {
    for_whole_chunks<Slots>(w, [&](char* to, int place) {
        *reinterpret_cast<int4*>(to) =
            *reinterpret_cast<const int4*>(reinterpret_cast<const char*>(slots) + place);
    });
    for_ragged_ends<Slots, T>(w, [&](T* to, int place) { *to = slots[place]; });
}

}  // namespace tessera::cuda
