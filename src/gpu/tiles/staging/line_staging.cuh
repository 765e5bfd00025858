#pragma once

#include <algorithm>

#include "gpu/tiles/staging/warp_staging.cuh"

/// Copies of matrices of one size, of either layout, to the shared memory of a warp, line by line.
namespace tessera::cuda {

/// Lines (rows or columns) of the matrices of a warp in shared memory: `pitch` values from one to
/// the next, `stride` from one matrix to the next.
struct LineStage {
    int pitch;
    int stride;
    int line_chunks;  ///< Chunks of 16 bytes in a line, if whole; else 0.

    /// The stride with the fewest bank conflicts when `lanes` lanes read a column or a row.
    static constexpr LineStage of(int n, int value_bytes, int lanes) {
        const int each = 16 / value_bytes, banks = 128 / value_bytes;
        const bool whole = n * value_bytes % 16 == 0;
        LineStage best{};
        int best_cost = 1 << 30;
        for (int line_pad = 0; line_pad <= (whole ? each : 0); line_pad += each) {
            for (int pad = 0; pad <= (n * n * value_bytes % 16 == 0 ? 8 * each : 0); pad += each) {
                const LineStage stage{n + line_pad, n * (n + line_pad) + pad,
                                      whole ? n * value_bytes / 16 : 0};
                int cost = pad + line_pad * n;
                for (const int step : {1, stage.pitch}) {
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

/// Whether all matrices are of one size, and lines and matrices follow each other without gaps.
template <class T>
TESSERA_HOST_DEVICE bool is_run(const batched::BatchView<T>& a) {
    return a.sizes == nullptr && a.starts == nullptr && a.offsets == nullptr &&
           a.leading_dimension == a.size && a.stride == Offset(a.size) * a.size;
}

/// Starts the copies of `count` matrices from `position` on in the order.
template <class T>
__device__ __forceinline__ void stage_lines(const batched::BatchView<const T>& batch,
                                            const Index* order, Offset position, int count, int n,
                                            const LineStage& stage, T* staged) {
    const int lane = int(threadIdx.x) % 32;
    const bool packed = stage.pitch == n && stage.stride == n * n;
    const T* const run = batch.values + position * (n * n);
    const bool whole = stage.line_chunks > 0 || packed;
    if (order == nullptr && is_run(batch) && whole &&
        reinterpret_cast<unsigned long long>(run) % 16 == 0) {
        constexpr int each = 16 / int(sizeof(T));
        const int chunks = count * n * n / each;
#pragma unroll 4
        for (int c = lane; c < chunks; c += 32) {
            int to = c * each;
            if (!packed) {
                const int line = c / stage.line_chunks;
                to += line * (stage.pitch - n) + line / n * (stage.stride - n * stage.pitch);
            }
            copy_to_shared<16>(staged + to, run + c * each);
        }
        const int e = chunks * each + lane;
        if (e < count * n * n) copy_to_shared<int(sizeof(T))>(staged + e, run + e);
        return;
    }
    const Offset line = leading_dimension_of(batch, n);
    for (int m = 0; m < count; ++m) {
        const T* const from =
            start_of(batch, order == nullptr ? position + m : Offset(order[position + m]));
        for (int e = lane; e < n * n; e += 32) {
            const int q = e / n, r = e - q * n;
            copy_to_shared<int(sizeof(T))>(staged + m * stage.stride + q * stage.pitch + r,
                                           from + q * line + r);
        }
    }
}

}  // namespace tessera::cuda
