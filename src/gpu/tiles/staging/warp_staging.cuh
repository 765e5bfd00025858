#pragma once

#include <algorithm>
#include <array>
#include <type_traits>

#include "gpu/batch_view.cuh"
#include "gpu/pack.cuh"
#include "gpu/warp.cuh"

/// Copies of matrices of one size, at most 32 rows, between global memory and the shared memory of
/// a warp, where they are column-major, n x n, `stride` values apart.
namespace tessera::cuda {

/// Layout of matrices of one size in shared memory; `pad` values follow each matrix, or each pair,
/// so that groups of lanes reading different matrices have few bank conflicts.
struct StageShape {
    int values;               ///< n^2.
    int pad;                  ///< In values.
    int stride;               ///< values + pad.
    int matrices_per_pad;     ///< Matrices before a pad, 1 or 2.
    int bank_conflicts;       ///< Ways of the worst bank conflict.
    bool chunked;             ///< Whether contiguous matrices can be copied in chunks of 16 bytes.
    int pad_chunks;           ///< Chunks per pad.
    unsigned inverse_chunks;  ///< inverse_of(chunks of matrices_per_pad matrices).
    unsigned inverse_values;  ///< inverse_of(n^2).
    unsigned inverse_rows;    ///< inverse_of(n).

    /// Offset of matrix m.
    __host__ __device__ constexpr int offset(int m) const {
        return matrices_per_pad == 1 ? m * stride : m * values + m / 2 * pad;
    }
    /// The matrix that a group of lanes works on, among `groups` (a power of two). With one pad per
    /// pair of matrices, groups of one memory transaction take the first matrices of their pairs,
    /// whose banks differ.
    __host__ __device__ constexpr int matrix_of_group(int group, int groups) const {
        if (matrices_per_pad == 1 || groups < 2) return group;
        return 2 * (group % (groups / 2)) + group / (groups / 2);
    }
};

/// The shape with the fewest bank conflicts when groups of `lanes` lanes read rows of different
/// matrices (see matrix_of_group).
constexpr StageShape stage_shape(int n, int value_bytes, int lanes) {
    const int phase = 128 / value_bytes;  // Lanes of one transaction; banks of a value's width.
    const int matrices = 32 / lanes;
    const int chunk_values = 16 / value_bytes;
    const auto best_of = [&](int matrices_per_pad) {
        StageShape shape{};
        shape.values = n * n;
        shape.matrices_per_pad = matrices_per_pad;
        const auto chunked = [&](int pad) {
            return pad == 0 ||
                   (matrices_per_pad * n * n % chunk_values == 0 && pad % chunk_values == 0);
        };
        int best_pad = 0;
        double best_cost = 1e9;
        for (int pad = 0; pad <= 8 * chunk_values; ++pad) {
            shape.pad = pad;
            shape.stride = n * n + pad;
            int used[32] = {};
            int worst = 1;
            for (int l = 0; l < std::min(phase, 32); ++l) {
                if (l / lanes >= matrices || l % lanes >= n) continue;
                const int m = shape.matrix_of_group(l / lanes, matrices);
                worst = std::max(worst, ++used[(shape.offset(m) + l % lanes) % phase]);
            }
            // Copying value by value costs more than most conflicts.
            const double cost = worst + (chunked(pad) ? 0 : 6) + 0.01 * pad;
            if (cost < best_cost) {
                best_cost = cost;
                best_pad = pad;
                shape.bank_conflicts = worst;
            }
        }
        shape.pad = best_pad;
        shape.stride = n * n + best_pad;
        shape.chunked = chunked(best_pad);
        shape.pad_chunks = best_pad / chunk_values;
        shape.inverse_chunks = inverse_of(std::max(matrices_per_pad * n * n / chunk_values, 1));
        shape.inverse_values = inverse_of(n * n);
        shape.inverse_rows = inverse_of(n);
        return shape;
    };
    const StageShape each = best_of(1);
    // FP64, odd n: pairs of matrices, not single ones, are whole chunks. Pads per pair cost some
    // instructions.
    const bool by_two = matrices > 1 && n * n * value_bytes % 16 == 8;
    return by_two && each.bank_conflicts >= 4 ? best_of(2) : each;
}

/// Stage shapes for n = 1..32, computed at compile time; entry 0 is unused.
template <int value_bytes, int lanes>
constexpr std::array<StageShape, 33> stage_shapes = [] {
    std::array<StageShape, 33> shapes{};
    for (int n = 1; n <= 32; ++n) shapes[std::size_t(n)] = stage_shape(n, value_bytes, lanes);
    return shapes;
}();

/// The matrices of a warp: `count` of n rows, at first, first + 1 ... in the order.
struct WarpMatrices {
    int n;
    int count;
    Offset first;
    const Index* order;             ///< Null: 0, 1, 2 ...
    unsigned long long* addresses;  ///< Shared memory for `count` addresses.
};

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

/// visit(chunk, its offset in shared memory) for the chunks of this lane. Pads are whole chunks of
/// 16 bytes.
template <class Visit>
__device__ __forceinline__ void for_chunks(const StageShape& stage, int chunks, Visit&& visit) {
    if (stage.pad_chunks == 0) {
#pragma unroll 4
        for (int c = int(threadIdx.x) % 32; c < chunks; c += 32) visit(c, c);
    } else {
#pragma unroll 4
        for (int c = int(threadIdx.x) % 32; c < chunks; c += 32) {
            visit(c, c + quotient_of(c, stage.inverse_chunks) * stage.pad_chunks);
        }
    }
}

/// visit(address of a value in global memory, its offset in shared memory) for the values of this
/// lane, coalesced.
template <class T, class Visit>
__device__ __forceinline__ void for_values(const batched::BatchView<T>& batch,
                                           const WarpMatrices& w, const StageShape& stage,
                                           Visit&& visit) {
    const int lane = int(threadIdx.x) % 32;
    const int values = w.n * w.n;
    const bool packed = is_packed(batch, w.n);
    const bool transposed = batch.layout == batched::Layout::row_major;
    if (packed && values >= 64) {  // Enough for a warp to copy one matrix after the other.
        for (int m = 0; m < w.count; ++m) {
            T* const start = reinterpret_cast<T*>(w.addresses[m]);
#pragma unroll 4
            for (int e = lane; e < values; e += 32) visit(start + e, stage.offset(m) + e);
        }
        return;
    }
    const Offset line = leading_dimension_of(batch, w.n);
#pragma unroll 2
    for (int e = lane; e < w.count * values; e += 32) {
        const int m = quotient_of(e, stage.inverse_values);
        const int within = e - m * values;
        T* const start = reinterpret_cast<T*>(w.addresses[m]);
        if (packed) {
            visit(start + within, stage.offset(m) + within);
        } else {
            const int q = quotient_of(within, stage.inverse_rows);
            const int r = within - q * w.n;
            visit(start + q * line + r, stage.offset(m) + (transposed ? q + r * w.n : within));
        }
    }
}

/// Whether the matrices of this warp are contiguous and can be copied in chunks of `Bytes`.
template <int Bytes, class T>
__device__ __forceinline__ bool is_chunked_run(const batched::BatchView<T>& batch,
                                               const WarpMatrices& w, const StageShape& stage) {
    const T* start = batch.values + w.first * w.n * w.n;
    return w.order == nullptr && is_contiguous(batch) && stage.chunked &&
           w.count * w.n * w.n * int(sizeof(T)) % Bytes == 0 &&
           reinterpret_cast<unsigned long long>(start) % Bytes == 0;
}

/// Writes the addresses of the matrices, if needed, to shared memory. (Not in a branch: after a
/// __syncwarp in a branch, even a uniform one, the compiler no longer assumes converged lanes.)
template <class T>
__device__ __forceinline__ void list_addresses(const batched::BatchView<T>& batch,
                                               const WarpMatrices& w, bool needed) {
    __syncwarp();
    for (int m = int(threadIdx.x) % 32; needed && m < w.count; m += 32) {
        const Offset b = w.order == nullptr ? w.first + m : Offset(w.order[w.first + m]);
        w.addresses[m] = reinterpret_cast<unsigned long long>(start_of(batch, b));
    }
    __syncwarp();
}

/// copy(address in global memory, address in shared memory) for the chunks, or values, of the
/// matrices of a warp. Contiguous ones are copied in chunks of `Bytes`: 16, or 8 without pads.
template <int Bytes, class G, class T, class Copy>
__device__ __forceinline__ void copy_matrices(const batched::BatchView<G>& batch,
                                              const WarpMatrices& w, const StageShape& stage,
                                              T* staged, Copy&& copy) {
    using Chunk = Pack<int, Bytes / 4>;
    using GlobalChunk = std::conditional_t<std::is_const_v<G>, const Chunk, Chunk>;
    const bool chunked_run = is_chunked_run<Bytes>(batch, w, stage);
    list_addresses(batch, w, !chunked_run);
    if (chunked_run) {
        auto* const run = reinterpret_cast<GlobalChunk*>(batch.values + w.first * w.n * w.n);
        auto* const chunks = reinterpret_cast<Chunk*>(staged);
        for_chunks(stage, w.count * w.n * w.n * int(sizeof(T)) / Bytes,
                   [&](int c, int offset) { copy(run + c, chunks + offset); });
    } else {
        for_values(batch, w, stage, [&](G* value, int offset) { copy(value, staged + offset); });
    }
}

/// Starts asynchronous copies of the matrices of a warp to shared memory; see wait_for_copies.
template <int Bytes, class T>
__device__ __forceinline__ void load_matrices(const batched::BatchView<const T>& batch,
                                              const WarpMatrices& w, const StageShape& stage,
                                              T* staged) {
    copy_matrices<Bytes>(batch, w, stage, staged, [](const auto* from, auto* to) {
        copy_to_shared<int(sizeof(*to))>(to, from);
    });
}

/// Copies the matrices of a warp from shared memory, written before the last __syncwarp.
template <int Bytes, class T>
__device__ __forceinline__ void store_matrices(const batched::BatchView<T>& batch,
                                               const WarpMatrices& w, const StageShape& stage,
                                               T* staged) {
    copy_matrices<Bytes>(batch, w, stage, staged, [](auto* to, const auto* from) { *to = *from; });
}

}  // namespace tessera::cuda
