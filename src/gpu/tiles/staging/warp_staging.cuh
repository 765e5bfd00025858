#pragma once

#include <algorithm>
#include <type_traits>

#include "gpu/batch_view.cuh"
#include "gpu/pack.cuh"
#include "gpu/warp.cuh"

/// Copies of matrices of one size, at most 32 rows, of either layout, between global memory and the
/// shared memory of a warp.
namespace tessera::cuda {

/// Copies `Bytes` to shared memory, or to a shared address, without waiting.
template <int Bytes>
__device__ __forceinline__ void copy_to_shared(unsigned address, const void* from) {
    if constexpr (Bytes == 16) {
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address), "l"(from));
    } else {
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(address), "l"(from),
                     "n"(Bytes));
    }
}
template <int Bytes>
__device__ __forceinline__ void copy_to_shared(void* to, const void* from) {
    copy_to_shared<Bytes>(unsigned(__cvta_generic_to_shared(to)), from);
}
/// Waits until all copies of this warp have arrived, for all its lanes.
__device__ __forceinline__ void wait_for_copies() {
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncwarp();
}

/// Lines (columns, or rows) of the matrices of a warp in shared memory: `pitch` values from one to
/// the next, `stride` from one matrix to the next.
struct LineStage {
    int pitch;
    int stride;
    int line_chunks;  ///< Chunks of 16 bytes in a line, if whole; else 0.

    /// Bytes of `matrices` matrices, a multiple of 16.
    constexpr int bytes(int matrices, int value_bytes) const {
        return (matrices * stride * value_bytes + 15) / 16 * 16;
    }
    /// The stage with the fewest bank conflicts when `lanes` lanes read a line or, if `across`, one
    /// value of each line.
    static constexpr LineStage of(int n, int value_bytes, int lanes, bool across) {
        const int each = 16 / value_bytes, banks = 128 / value_bytes;
        const bool whole = n * value_bytes % 16 == 0;
        LineStage best{};
        int best_cost = 1 << 30;
        for (int line_pad = 0; line_pad <= (whole && across ? each : 0); line_pad += each) {
            for (int pad = 0; pad <= (n * n * value_bytes % 16 == 0 ? 8 * each : 0); pad += each) {
                const LineStage stage{n + line_pad, n * (n + line_pad) + pad,
                                      whole ? n * value_bytes / 16 : 0};
                int cost = pad + line_pad * n;
                for (const int step : {1, across ? stage.pitch : 1}) {
                    int used[32] = {}, worst = 0;
                    for (int l = 0; l < std::min(banks, 32); ++l) {
                        if (l % lanes >= n) continue;
                        const int bank = (l / lanes * stage.stride + l % lanes * step) % banks;
                        worst = std::max(worst, ++used[bank]);
                    }
                    cost += 1000 * worst;
                }
                if (cost < best_cost) best = stage, best_cost = cost;
            }
        }
        return best;
    }
};

/// Shared memory of a matrix for one thread: padded so that threads access their own matrices
/// without bank conflicts.
template <class T, int n>
inline constexpr LineStage thread_stage{
    n, n* n + (n * n * int(sizeof(T)) % 32 == 0 ? 16 / int(sizeof(T)) : 0),
    n* int(sizeof(T)) % 16 == 0 ? n* int(sizeof(T)) / 16 : 0};

/// The matrices of a warp: `count` of n rows, at positions first, first + 1 ... of the order.
struct WarpMatrices {
    int n;
    int count;
    Offset first;
    const Index* order;             ///< Null: 0, 1, 2 ...
    unsigned long long* addresses;  ///< Shared memory for `count` addresses.

    __device__ __forceinline__ Offset member(int m) const {
        return order == nullptr ? first + m : Offset(order[first + m]);
    }
};

/// The matrices of this warp, `each` to a warp, among the `all` ones of n rows from `first` on in
/// the order; `addresses`: shared memory. Computed again at each call (volatile asm), so that no
/// registers hold them in between.
template <int each, int warps>
__device__ __forceinline__ WarpMatrices matrices_of_warp(const Index* order, Index first, Index all,
                                                         int n, void* addresses) {
    unsigned block;
    asm volatile("mov.u32 %0, %%ctaid.x;" : "=r"(block));
    const Offset position = (Offset(block) * warps + threadIdx.x / 32) * each;
    const int count = int(max(Offset(0), min(Offset(each), all - position)));
    return {n, count, first + position, order, static_cast<unsigned long long*>(addresses)};
}

/// copy(address in global memory, offset in shared memory) for the values of the matrices of a
/// warp, those of one instruction coalesced: chunks of 16 bytes where lines and matrices follow
/// each other without gaps, else single values. transposed: lines in shared memory are the other
/// lines.
template <class V, class Copy>
__device__ __forceinline__ void for_values(const batched::BatchView<V>& batch,
                                           const WarpMatrices& w, const LineStage& stage,
                                           bool transposed, Copy&& copy) {
    using T = std::remove_const_t<V>;
    using Chunk = std::conditional_t<std::is_const_v<V>, const Pack16<T>, Pack16<T>>;
    constexpr int each = pack_width<T>;
    const int lane = int(threadIdx.x) % 32;
    const int n = w.n, values = n * n;
    const bool by_lines = stage.pitch != n;
    const bool whole =
        by_lines ? stage.line_chunks > 0 : stage.stride == values || values % each == 0;
    V* const run = batch.values + w.first * values;
    const bool chunked = w.order == nullptr && !transposed && is_run(batch) && whole &&
                         reinterpret_cast<unsigned long long>(run) % 16 == 0;
    // Not in a branch: after a __syncwarp in a branch, even a uniform one, the compiler no longer
    // assumes converged lanes.
    __syncwarp();
    if (!chunked && lane < w.count) {
        w.addresses[lane] = reinterpret_cast<unsigned long long>(start_of(batch, w.member(lane)));
    }
    __syncwarp();
    if (chunked) {
        const int chunks = w.count * values / each;
#pragma unroll 4
        for (int c = lane; c < chunks; c += 32) {
            int place = c * each;
            if (by_lines) {
                const int line = c / stage.line_chunks;
                place += line * (stage.pitch - n) + line / n * (stage.stride - n * stage.pitch);
            } else {
                place += place / values * (stage.stride - values);
            }
            copy(reinterpret_cast<Chunk*>(run) + c, place);
        }
        const int e = chunks * each + lane;
        if (e < w.count * values) copy(run + e, e);  // Without pads, as values are odd.
        return;
    }
    const Offset line = leading_dimension_of(batch, n);
    if (values >= 64 && line == n && stage.pitch == n && !transposed) {
        for (int m = 0; m < w.count; ++m) {
            V* const start = reinterpret_cast<V*>(w.addresses[m]);
#pragma unroll 4
            for (int e = lane; e < values; e += 32) copy(start + e, m * stage.stride + e);
        }
        return;
    }
#pragma unroll 2
    for (int e = lane; e < w.count * values; e += 32) {
        const int m = e / values, within = e - m * values;
        const int q = within / n, r = within - q * n;
        copy(reinterpret_cast<V*>(w.addresses[m]) + q * line + r,
             m * stage.stride + (transposed ? q + r * stage.pitch : r + q * stage.pitch));
    }
}

/// Starts copies of the matrices of a warp to shared memory; see wait_for_copies.
template <class T>
__device__ __forceinline__ void load_matrices(const batched::BatchView<const T>& batch,
                                              const WarpMatrices& w, const LineStage& stage,
                                              T* staged, bool transposed = false) {
    for_values(batch, w, stage, transposed, [&](const auto* from, int place) {
        copy_to_shared<int(sizeof(*from))>(staged + place, from);
    });
}

/// Copies the matrices of a warp from shared memory, written before.
template <class T>
__device__ __forceinline__ void store_matrices(const batched::BatchView<T>& batch,
                                               const WarpMatrices& w, const LineStage& stage,
                                               const T* staged, bool transposed = false) {
    for_values(batch, w, stage, transposed, [&]<class C>(C* to, int place) {
        *to = *reinterpret_cast<const C*>(staged + place);
    });
}

}  // namespace tessera::cuda
