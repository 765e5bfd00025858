#pragma once

#include <type_traits>

#include "gpu/tiles/gauss_jordan.cuh"

/// gauss_jordan for larger matrices of floats: four columns are eliminated at a time, and the rows
/// of their pivots come to all lanes through shared memory, in 16 bytes. All bits are those of
/// gauss_jordan.
namespace tessera::cuda {

/// The rows of four pivots of each of `Groups` matrices of n columns in shared memory; groups that
/// are served together meet different banks.
template <int n, int Groups>
struct PivotRows {
    static constexpr int width = 4;
    static constexpr int pitch = (n + 4) * int(sizeof(float));
    static constexpr int group_bytes = width * pitch + 16;
    static constexpr int bytes = Groups * group_bytes;
};

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
                 : "r"(from)
                 : "memory");
}

/// The elimination of a matrix by a group of `Lanes` lanes, lane l with the rows l + Lanes i.
template <int Lanes, bool Careful, int Rows, int n>
class PanelElimination {
    static constexpr int width = 4;
    static constexpr int units = n / width;
    static constexpr int pitch = PivotRows<n, 1>::pitch;
    static_assert(Lanes * Rows == n && Lanes * width == n);

    int lane_;
    unsigned table_;  ///< Shared address of the steps.
    unsigned rows_;   ///< Of PivotRows.
    /// magnitude_bits for rows that are not chosen, 1 + q for the pivot of the panel's column q:
    /// bits of the key that say nothing then; 0 for others.
    unsigned candidates_[Rows];
    unsigned key_;
    int info_ = 0;
    float panel_[Rows][width];
    float multiplier_[width][Rows];  ///< Of the panel's steps.

  public:
    __device__ __forceinline__ PanelElimination(int lane, unsigned table, unsigned rows)
        : lane_(lane), table_(table), rows_(rows) {
#pragma unroll
        for (int i = 0; i < Rows; ++i) candidates_[i] = magnitude_bits;
    }

    /// As gauss_jordan: returns its info, leaves the same registers and the same table. The panel
    /// behind the one whose rows are being updated is eliminated meanwhile.
    __device__ __forceinline__ int invert(float (&a)[Rows][n]) {
#pragma unroll
        for (int i = 0; i < Rows; ++i) {
#pragma unroll
            for (int c = 0; c < width; ++c) panel_[i][c] = a[i][c];
        }
        key_ = find_pivot(0);
#pragma unroll
        for (int q = 0; q < width; ++q) step(q, q);
#pragma unroll 1
        for (int k = width; k < n; k += width) update<false>(a, k);
        update<true>(a, n);
        return info_;
    }

  private:
    __device__ __forceinline__ unsigned find_pivot(int c) const {
        unsigned found = 0;
#pragma unroll
        for (int i = 0; i < Rows; ++i) {
            found = max(found, (high_word(panel_[i][c]) & candidates_[i]) | unsigned(Lanes * i));
        }
        return lanes_max<Lanes>(found | unsigned(lane_));
    }

    /// Step k of the matrix, whose pivot is in column q of the panel, for the panel.
    __device__ __forceinline__ void step(int q, int k) {
        constexpr unsigned slot_bits = 31u & ~unsigned(Lanes - 1);
        float entry[width];
#pragma unroll
        for (int d = 0; d < width; ++d) {
            const int c = (q + d) % width;
            float value = panel_[0][c];
#pragma unroll
            for (int i = 1; i < Rows; ++i) {
                value = (key_ & slot_bits) == unsigned(Lanes * i) ? panel_[i][c] : value;
            }
            entry[c] = __shfl_sync(full_warp, value, int(key_), Lanes);
        }
        const float pivot = entry[q];
        float reciprocal = fast_reciprocal(pivot);
        const bool plain = key_ - plain_low<float> < plain_span<float>;
        if constexpr (!Careful) {
            if (!plain) info_ = 1;
        } else if (!plain) {
            reciprocal = 1.0F / pivot;
            const bool usable = key_ >= 32u && isfinite(pivot) && isfinite(reciprocal);
            if (info_ == 0 && !usable) info_ = k + 1;
        }
        store_step(lane_ == 0, table_ + unsigned(k * int(sizeof(PivotStep<float>))), reciprocal,
                   key_ & 31u);
        bool chosen[Rows];
#pragma unroll
        for (int i = 0; i < Rows; ++i) {
            chosen[i] = ((key_ ^ unsigned(lane_)) & 31u) == unsigned(Lanes * i);
            multiplier_[q][i] = minus_quotient(panel_[i][q], pivot, -reciprocal);
            if (chosen[i]) {
                multiplier_[q][i] = 0.0F;
                candidates_[i] = unsigned(q + 1);
            }
        }
#pragma unroll
        for (int d = 1; d < width; ++d) {
            const int c = (q + d) % width;
#pragma unroll
            for (int i = 0; i < Rows; ++i) {
                panel_[i][c] = fma(multiplier_[q][i], entry[c], panel_[i][c]);
            }
            if (d == 1 && q + 1 < width) key_ = find_pivot(q + 1);
        }
#pragma unroll
        for (int i = 0; i < Rows; ++i) panel_[i][q] = one_or(chosen[i], multiplier_[q][i]);
    }

    /// The rows of the panel's pivots to shared memory, first as they were before the panel, with
    /// the multipliers in place of the panel, then as they were when they were chosen: lane l does
    /// unit l.
    __device__ __forceinline__ void share_rows(const float (&a)[Rows][n]) {
#pragma unroll
        for (int i = 0; i < Rows; ++i) {
            const bool wanted = candidates_[i] - 1 < unsigned(width);
            const unsigned to = rows_ - pitch + candidates_[i] * unsigned(pitch);
            candidates_[i] &= magnitude_bits;
            store_four(wanted, to, multiplier_[0][i], multiplier_[1][i], multiplier_[2][i], 0.0F);
#pragma unroll
            for (int u = 1; u < units; ++u) {
                store_four(wanted, to + unsigned(u * 16), a[i][4 * u], a[i][4 * u + 1],
                           a[i][4 * u + 2], a[i][4 * u + 3]);
            }
        }
        __syncwarp();
        float row[width][4];
#pragma unroll
        for (int q = 0; q < width; ++q) {
            const unsigned at = rows_ + unsigned(q * pitch);
            load_four(at + unsigned(lane_) * 16, row[q]);
            if (q == 0) continue;
            float m[4];
            load_four(at, m);
#pragma unroll
            for (int s = 0; s < q; ++s) {
#pragma unroll
                for (int t = 0; t < 4; ++t) row[q][t] = fma(m[s], row[s][t], row[q][t]);
            }
            store_four(lane_ > 0, at + unsigned(lane_) * 16, row[q][0], row[q][1], row[q][2],
                       row[q][3]);
        }
        __syncwarp();
    }

    /// The steps of the panel for the columns of unit u, which go to `to`.
    __device__ __forceinline__ void update_unit(const float (&m)[width][Rows],
                                                const float (&a)[Rows][n], int u,
                                                float (&to)[Rows][width]) const {
#pragma unroll
        for (int q = 0; q < width; ++q) {
            float p[4];
            load_four(rows_ + unsigned(q * pitch + u * 16), p);
#pragma unroll
            for (int t = 0; t < 4; ++t) {
#pragma unroll
                for (int i = 0; i < Rows; ++i) {
                    to[i][t] = fma(m[q][i], p[t], q == 0 ? a[i][4 * u + t] : to[i][t]);
                }
            }
        }
    }

    /// Updates all columns by the steps of the panel and rotates by four columns; eliminates the
    /// next panel, from step k on, unless Last.
    template <bool Last>
    __device__ __forceinline__ void update(float (&a)[Rows][n], int k) {
        share_rows(a);
        float done[Rows][width];
        float m[width][Rows];
#pragma unroll
        for (int i = 0; i < Rows; ++i) {
#pragma unroll
            for (int c = 0; c < width; ++c) {
                done[i][c] = panel_[i][c];
                m[c][i] = multiplier_[c][i];
            }
        }
        const auto keep = [&](int u, const float(&from)[Rows][width]) {
#pragma unroll
            for (int i = 0; i < Rows; ++i) {
#pragma unroll
                for (int c = 0; c < width; ++c) a[i][4 * u + c] = from[i][c];
            }
        };
        const auto update_to = [&](int u) {
            float to[Rows][width];
            update_unit(m, a, u, to);
            keep(u - 1, to);
        };
        update_unit(m, a, 1, panel_);
        if constexpr (Last) {
            keep(0, panel_);
#pragma unroll
            for (int u = 2; u < units; ++u) update_to(u);
        } else {
            key_ = find_pivot(0);
            static_assert(units == 8);
#pragma unroll
            for (int q = 0; q < width; ++q) {
                step(q, k + q);
                update_to(2 + q);
            }
            update_to(6);
            update_to(7);
        }
        keep(units - 1, done);
        __syncwarp();
    }
};

}  // namespace tessera::cuda
