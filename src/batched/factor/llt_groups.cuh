#pragma once

#include "batched/factor/factor_groups.cuh"
#include "batched/factor/llt_tile.cuh"

namespace tessera::batched::cuda {

namespace {

/// A = L L^T with static pivoting of a 16 x 16 matrix by a group of lanes. A column of L goes to
/// its place in shared memory, from where all lanes read it. Returns false where a pivot is not
/// well inside the range; nothing then means anything.
struct LltOfGroup {
    using General = Llt<Pivoting::fixed>;

    /// A = L L^T of an 8 x 8 matrix by one lane.
    template <class T>
    static __device__ __forceinline__ bool eliminate(LaneMatrix<T>& matrix, T tau) {
        constexpr int n = LaneMatrix<T>::n;
        auto& a = matrix.a;
        auto& row = matrix.row;
        bool plain = true;
#pragma unroll
        for (int k = 0; k < n; ++k) {
            row[k] = k;
            const T raw = a[k + n * k];
            const T d = raw < tau ? tau : raw;
            plain =
                plain && d > T(0) && (high_word(d) & 0x7fffffffu) - plain_low<T> < plain_span<T>;
            const PlainDivisor<T> divisor(sqrt(d), plain);
            a[k + n * k] = divisor.d;
#pragma unroll
            for (int i = k + 1; i < n; ++i) a[i + n * k] = divisor.quotient(a[i + n * k]);
#pragma unroll
            for (int j = k + 1; j < n; ++j) {
#pragma unroll
                for (int i = j; i < n; ++i) {
                    a[i + n * j] = fma(-a[i + n * k], a[j + n * k], a[i + n * j]);
                }
                a[k + n * j] = T(0);
            }
        }
        return plain;
    }
    template <class T, int Lanes>
    static __device__ __forceinline__ bool eliminate(GroupMatrix<T, Lanes>& matrix, T tau) {
        using Shape = GroupMatrix<T, Lanes>;
        using Chunk = Pack16<T>;
        constexpr int n = Shape::n, w = Shape::width;
        auto& a = matrix.a;
        const int lane = matrix.lane;
        Chunk* const chunks = reinterpret_cast<Chunk*>(matrix.staged);
        bool plain = true;
        matrix.order = 0xfedcba9876543210ull >> 4 * Shape::rows * lane;
#pragma unroll
        for (int s = 0; s < n; ++s) {
            // Rows of L whose columns end before this one's diagonal are gone.
            const auto end = [](int i) { return Shape::turn * (i / w + 1); };
            const T raw =
                __shfl_sync(full_warp, a[Shape::index(s)][s], Shape::owner(unsigned(s)), Lanes);
            const T d = raw < tau ? tau : raw;
            plain =
                plain && d > T(0) && (high_word(d) & 0x7fffffffu) - plain_low<T> < plain_span<T>;
            const PlainDivisor<T> divisor(sqrt(d), plain);
#pragma unroll
            for (int i0 = 0; i0 < Shape::rows; i0 += w) {
                Chunk chunk;
#pragma unroll
                for (int e = 0; e < w; ++e) {
                    const int i = i0 + e;
                    const int row = Shape::row_of(lane, i);
                    if (end(i) > s) a[i][s] = divisor.quotient(a[i][s]);
                    T value = end(i) > s ? a[i][s] : T(0);
                    if (end(i) > s && end(i) - Shape::turn <= s) {
                        value = select_register(row > s, value,
                                                select_register(row == s, divisor.d, T(0)));
                    }
                    chunk.value[e] = value;
                }
                const int c = (lane + i0 / w * Lanes) ^ Shape::swap(s);
                chunks[s * Shape::column_chunks + c] = chunk;
            }
            __syncwarp();
#pragma unroll
            for (int j0 = (s + 1) / w * w; j0 < n; j0 += w) {
                const Chunk chunk = chunks[s * Shape::column_chunks + (j0 / w ^ Shape::swap(s))];
#pragma unroll
                for (int e = 0; e < w; ++e) {
                    const int j = j0 + e;
                    if (j <= s) continue;
                    const T entry = chunk.value[e];
#pragma unroll
                    for (int i = 0; i < Shape::rows; ++i) {
                        if (end(i) > j) a[i][j] = fma(-a[i][s], entry, a[i][j]);
                    }
                }
            }
        }
        return plain;
    }
};

}  // namespace

template <class T>
bool llt_by_groups(const Context& context, const FactorJob<T>& job) {
    using Method = LltOfGroup;
    constexpr GroupTuning tuning = llt_groups<T>();
    using Groups = GroupMatrix<T, tuning.lanes>;
    return factorise_by_groups<Method, LaneMatrix<T>, tuning.blocks_of_8>(context, job) ||
           factorise_by_groups<Method, Groups, tuning.blocks_of_16>(context, job);
}

}  // namespace tessera::batched::cuda
