#pragma once

#include "gpu/tiles/gauss_jordan.cuh"

/// gauss_jordan for matrices of 32 rows of floats, two a warp: four columns are eliminated at a
/// time, and the rows of their pivots come to all lanes through shared memory. All bits are those
/// of gauss_jordan. What it is bound by is told in docs/decisions/block-jacobi-setup.md.
namespace tessera::cuda {

/// Four values to and from shared memory, 16 bytes; the store where `wanted`, without a branch.
__device__ __forceinline__ void store_four(bool wanted, unsigned to, float a, float b, float c,
                                           float d) {
    asm volatile(
        "{ .reg .pred p; setp.ne.s32 p, %5, 0; @p st.shared.v4.f32 [%0], {%1, %2, %3, %4}; }" ::"r"(
            to),
        "f"(a), "f"(b), "f"(c), "f"(d), "r"(int(wanted))
        : "memory");
}
__device__ __forceinline__ void load_four(unsigned from, float (&p)[4]) {
    asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(p[0]), "=f"(p[1]), "=f"(p[2]), "=f"(p[3])
                 : "r"(from));
}
/// The same for two.
__device__ __forceinline__ void store_two(bool wanted, unsigned to, float a, float b) {
    asm volatile(
        "{ .reg .pred p; setp.ne.s32 p, %3, 0; @p st.shared.v2.f32 [%0], {%1, %2}; }" ::"r"(to),
        "f"(a), "f"(b), "r"(int(wanted))
        : "memory");
}
__device__ __forceinline__ void load_two(unsigned from, float& a, float& b) {
    asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(a), "=f"(b) : "r"(from));
}

/// The largest value of each half of the warp, in all of its lanes: two reductions, which do not
/// wait for each other, where lanes_max has four shuffles that do.
__device__ __forceinline__ unsigned half_max(unsigned value) {
    const bool lower = threadIdx.x % 32 < 16;
    const unsigned of_lower = __reduce_max_sync(full_warp, lower ? value : 0u);
    const unsigned of_upper = __reduce_max_sync(full_warp, lower ? 0u : value);
    return lower ? of_lower : of_upper;
}

/// The elimination of the matrix of each half of a warp, lane l of a half with the rows l, l + 16.
template <bool Careful>
class PanelElimination {
    static constexpr int lanes = 16;
    static constexpr int rows = 2;
    static constexpr int n = lanes * rows;
    static constexpr int width = 4;
    static constexpr int units = n / width;
    static constexpr int pitch = (n + width) * int(sizeof(float));  ///< Of the rows of pivots.

    int lane_;
    unsigned table_;
    unsigned pivots_;
    /// magnitude_bits for rows that are not chosen, 1 + q for the pivot of the panel's column q:
    /// all magnitudes that can be pivots are larger than its bits; 0 for others.
    unsigned candidates_[rows];
    unsigned best_ = 0;  ///< The key of the better one of this lane's rows.
    unsigned key_ = 0;   ///< The key of the pivot.
    int info_ = 0;
    float multiplier_[width][rows];  ///< Of the steps of the panel.
    PivotStep<float> even_;          ///< Step of the panel's columns 0 and 2, stored with the next.

  public:
    /// Shared memory for the rows of the pivots of a matrix; matrices meet different banks.
    static constexpr int bytes = width * pitch + 16;

    /// table: shared address of this half's n steps, in 16 bytes; pivots: of its `bytes`.
    __device__ __forceinline__ PanelElimination(unsigned table, unsigned pivots)
        : lane_(int(threadIdx.x % lanes)), table_(table), pivots_(pivots) {
#pragma unroll
        for (int i = 0; i < rows; ++i) candidates_[i] = magnitude_bits;
    }

    /// As gauss_jordan: returns its info, leaves the same registers and the same table.
    __device__ __forceinline__ int invert(float (&a)[rows][n]) {
        find_pivot(a, 0);
#pragma unroll 1
        for (int k = 0; k < n; k += width) {
#pragma unroll
            for (int q = 0; q < width; ++q) step(a, q, k);
            share_rows(a);
            __syncwarp();
            update_rows();
            __syncwarp();
            update(a);
            __syncwarp();
        }
        return info_;
    }

  private:
    __device__ __forceinline__ void find_pivot(const float (&a)[rows][n], int c) {
        best_ = 0;
#pragma unroll
        for (int i = 0; i < rows; ++i) {
            best_ = max(best_, (high_word(a[i][c]) & candidates_[i]) | unsigned(lane_ + lanes * i));
        }
        key_ = half_max(best_);
    }

    /// Step k + q of the matrix, for the panel, whose column q has the pivot. Each lane has the
    /// better one of its rows, and the reciprocal of what may be the pivot, before it is known
    /// which lane has the pivot.
    __device__ __forceinline__ void step(float (&a)[rows][n], int q, int k) {
        float entry[width];
        float reciprocal = 0.0F;
#pragma unroll
        for (int d = 0; d < width; ++d) {
            const int c = (q + d) % width;
            const float value = (best_ & unsigned(lanes)) != 0 ? a[1][c] : a[0][c];
            if (d == 0) {
                reciprocal = __shfl_sync(full_warp, fast_reciprocal(value), int(key_), lanes);
            }
            entry[c] = __shfl_sync(full_warp, value, int(key_), lanes);
        }
        const float pivot = entry[q];
        const bool plain = key_ - plain_low<float> < plain_span<float>;
        if constexpr (!Careful) {
            if (!plain) info_ = 1;
        } else if (!plain) {
            reciprocal = 1.0F / pivot;
            const bool usable = key_ >= 32u && isfinite(pivot) && isfinite(reciprocal);
            if (info_ == 0 && !usable) info_ = k + q + 1;
        }
        bool chosen[rows];
#pragma unroll
        for (int i = 0; i < rows; ++i) {
            chosen[i] = ((key_ ^ unsigned(lane_)) & 31u) == unsigned(lanes * i);
            multiplier_[q][i] = minus_quotient(a[i][q], pivot, -reciprocal);
            if (chosen[i]) {
                multiplier_[q][i] = 0.0F;
                candidates_[i] = unsigned(q + 1);
            }
        }
        tell_step(q, k, reciprocal);
#pragma unroll
        for (int d = 1; d < width; ++d) {
            const int c = (q + d) % width;
#pragma unroll
            for (int i = 0; i < rows; ++i) a[i][c] = fma(multiplier_[q][i], entry[c], a[i][c]);
            if (d == 1 && q + 1 < width) find_pivot(a, c);
        }
#pragma unroll
        for (int i = 0; i < rows; ++i) a[i][q] = one_or(chosen[i], multiplier_[q][i]);
    }

    /// Two steps go to the table together.
    __device__ __forceinline__ void tell_step(int q, int k, float reciprocal) {
        const unsigned row = key_ & 31u;
        if (q % 2 == 0) {
            even_ = {reciprocal, short(row), 0};
        } else {
            store_four(lane_ == 0, table_ + unsigned((k + q - 1) * int(sizeof(PivotStep<float>))),
                       even_.reciprocal, __int_as_float(even_.row), reciprocal,
                       __uint_as_float(row));
        }
    }

    /// The rows of the panel's pivots to shared memory as they were before the panel, with the
    /// multipliers in place of the panel. Most lanes have at most one of them, so that one store of
    /// the row that is wanted mostly does: stores take their time however few lanes have some.
    __device__ __forceinline__ void share_rows(const float (&a)[rows][n]) {
        const bool first = candidates_[0] - 1 < unsigned(width);
        const bool second = candidates_[1] - 1 < unsigned(width);
        const auto share = [&](bool wanted, unsigned candidate, auto&& of) {
            const unsigned to = pivots_ - pitch + candidate * unsigned(pitch);
            store_four(wanted, to, of(multiplier_[0]), of(multiplier_[1]), of(multiplier_[2]),
                       0.0F);
#pragma unroll
            for (int u = 1; u < units; ++u) {
                float part[width];
#pragma unroll
                for (int t = 0; t < width; ++t) {
                    const float both[rows] = {a[0][4 * u + t], a[1][4 * u + t]};
                    part[t] = of(both);
                }
                store_four(wanted, to + unsigned(16 * u), part[0], part[1], part[2], part[3]);
            }
        };
        share(first || second, second ? candidates_[1] : candidates_[0],
              [&](const float(&x)[rows]) { return second ? x[1] : x[0]; });
        if (__any_sync(full_warp, first && second)) {
            share(first && second, candidates_[0], [](const float(&x)[rows]) { return x[0]; });
        }
#pragma unroll
        for (int i = 0; i < rows; ++i) candidates_[i] &= magnitude_bits;
    }

    /// The same rows as they were when they were chosen; each lane does two columns.
    __device__ __forceinline__ void update_rows() const {
        float m[width][width];
        float part[width][rows];
        load_two(pivots_ + unsigned(pitch), m[1][0], m[1][1]);
        load_two(pivots_ + unsigned(2 * pitch), m[2][0], m[2][1]);
        load_four(pivots_ + unsigned(3 * pitch), m[3]);
        const unsigned own = pivots_ + unsigned(lane_ * rows * int(sizeof(float)));
#pragma unroll
        for (int q = 0; q < width; ++q) load_two(own + unsigned(q * pitch), part[q][0], part[q][1]);
#pragma unroll
        for (int q = 1; q < width; ++q) {
#pragma unroll
            for (int s = 0; s < q; ++s) {
#pragma unroll
                for (int t = 0; t < rows; ++t) part[q][t] = fma(m[q][s], part[s][t], part[q][t]);
            }
        }
#pragma unroll
        for (int q = 1; q < width; ++q) {
            store_two(lane_ * rows >= width, own + unsigned(q * pitch), part[q][0], part[q][1]);
        }
    }

    /// The steps of the panel for all other columns; rotates by four columns, and finds the first
    /// pivot of the next panel.
    __device__ __forceinline__ void update(float (&a)[rows][n]) {
        float done[rows][width];
#pragma unroll
        for (int i = 0; i < rows; ++i) {
#pragma unroll
            for (int c = 0; c < width; ++c) done[i][c] = a[i][c];
        }
#pragma unroll
        for (int u = 1; u < units; ++u) {
#pragma unroll
            for (int q = 0; q < width; ++q) {
                const int to = q + 1 < width ? u : u - 1;
                float p[4];
                load_four(pivots_ + unsigned(q * pitch + u * 16), p);
#pragma unroll
                for (int t = 0; t < width; ++t) {
#pragma unroll
                    for (int i = 0; i < rows; ++i) {
                        a[i][4 * to + t] = fma(multiplier_[q][i], p[t], a[i][4 * u + t]);
                    }
                }
            }
            if (u == 1) find_pivot(a, 0);
        }
#pragma unroll
        for (int i = 0; i < rows; ++i) {
#pragma unroll
            for (int c = 0; c < width; ++c) a[i][n - width + c] = done[i][c];
        }
    }
};

}  // namespace tessera::cuda
