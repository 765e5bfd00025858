#pragma once

#include "gpu/shared_memory.cuh"
#include "gpu/warp.cuh"

/// Gauss-Jordan inversion of small matrices in registers; one matrix per group of `Lanes` lanes.
/// Lane l of a group has the rows l + Lanes i, i < Rows, each in `Tile` registers.
namespace tessera::cuda {

/// Record of an elimination step in shared memory. Entry k of a matrix's table holds the reciprocal
/// of the pivot of step k and its row; `step` of entry r is the step in which row r was the pivot
/// row (written by invert_permutation).
template <class T>
struct PivotStep;
template <>
struct alignas(16) PivotStep<double> {
    double reciprocal;
    int row;
    int step;
};
template <>
struct alignas(8) PivotStep<float> {
    float reciprocal;
    short row;
    short step;
};

/// table[k] = {reciprocal, row} if `condition`, in one predicated store: the compiler would branch.
__device__ __forceinline__ void store_step(bool condition, unsigned table, double reciprocal,
                                           unsigned row) {
    asm volatile(
        "{ .reg .pred p; setp.ne.s32 p, %3, 0; @p st.shared.v2.b64 [%0], {%1, %2}; }" ::"r"(table),
        "l"(__double_as_longlong(reciprocal)), "l"((unsigned long long)row), "r"(int(condition))
        : "memory");
}
__device__ __forceinline__ void store_step(bool condition, unsigned table, float reciprocal,
                                           unsigned row) {
    asm volatile(
        "{ .reg .pred p; setp.ne.s32 p, %3, 0; @p st.shared.v2.b32 [%0], {%1, %2}; }" ::"r"(table),
        "r"(__float_as_uint(reciprocal)), "r"(row), "r"(int(condition))
        : "memory");
}

/// The high word of x; without the sign its bits order magnitudes.
__device__ __forceinline__ unsigned high_word(double x) { return unsigned(__double2hiint(x)); }
__device__ __forceinline__ unsigned high_word(float x) { return __float_as_uint(x); }

/// Bits of a magnitude used in the pivot search; the five others hold the row. Two normal
/// magnitudes with equal bits differ by less than 2^-15 of the larger. All bits are zero only for
/// magnitudes whose reciprocal overflows, which are not valid pivots; infinity and NaN are largest.
inline constexpr unsigned magnitude_bits = 0x7fffffe0u;

/// The magnitudes for which fast_reciprocal is valid: lowest high word, and number of high words.
template <class T>
inline constexpr unsigned fast_range_low = sizeof(T) == 8 ? 0x00300000u : 0x01800000u;
template <class T>
inline constexpr unsigned fast_range_span =
    (sizeof(T) == 8 ? 0x7fb00000u : 0x7d800000u) - fast_range_low<T>;

/// 1 / d by Newton iteration from the hardware approximation, for d and 1 / d away from the limits
/// of the range.
__device__ __forceinline__ double fast_reciprocal(double d) {
    double r;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(r) : "d"(d));
    double e = fma(-d, r, 1.0);
    e = fma(e, e, e);
    r = fma(r, e, r);
    e = fma(-d, r, 1.0);
    return fma(r, e, r);
}
__device__ __forceinline__ float fast_reciprocal(float d) {
    float r;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(d));
    const float e = fmaf(-d, r, 1.0F);
    return fmaf(r, e, r);
}

/// -a / d from -1 / d, correctly rounded (Markstein) unless it over- or underflows. Equal rows then
/// cancel to exact zeros, so that a singular matrix is detected.
template <class T>
__device__ __forceinline__ T minus_quotient(T a, T d, T minus_reciprocal) {
    const T rough = a * minus_reciprocal;
    return fma(fma(rough, d, a), minus_reciprocal, rough);
}

/// x, or 1 if `one`, where x must be zero: only the high word is then selected.
__device__ __forceinline__ double one_or_value(bool one, double x) {
    return __hiloint2double(one ? 0x3ff00000 : __double2hiint(x), __double2loint(x));
}
__device__ __forceinline__ float one_or_value(bool one, float x) { return one ? 1.0F : x; }

/// Inverts n x n matrices by Gauss-Jordan elimination with implicit partial pivoting among their
/// rows (Anzt et al., Fig. 2). Columns 0..n-1 are in registers 0..n-1; other registers, and rows
/// from n on, are arbitrary. n is in 1..Tile and equal to `steps` in all groups of the warp; with
/// MixedSizes `steps` is the largest n of the warp, and all other registers and rows are +0.
///   table   shared address of this group's `steps` entries of PivotStep.
/// Returns 0, or k where the k-th pivot (1-based), or its reciprocal, is zero or not finite; the
/// registers are then undefined, and rows of the table may repeat. Unless Checked, returns 0 if all
/// pivots are in the fast range of T, with the same bits as the checked path, else 1 with undefined
/// results: without a branch in a step, pivot search and division overlap the previous update.
///
/// The registers rotate: each step writes column j to register j - 1, so that the pivot column is
/// always register 0 and one rolled loop serves every n. On return register Tile - steps + k holds
/// column k of the array D of Fig. 2 with unscaled rows; the inverse is
///     X(step of row r, row of step k) = D(r, k) / (pivot of row r).
/// Pivot rows stay unscaled until the end (multiplier 0, own entry 1): scaling them in each step by
/// r += (1/d - 1) r would lose digits. A group that has finished its n steps executes null steps,
/// which multiply a zero row by -0 and so change no bit: results do not depend on neighbours. The
/// left residual ||X A - I|| is below n eps ||A|| ||X|| max(1, growth).
template <int Lanes, bool Checked, bool MixedSizes, class T, int Rows, int Tile>
__device__ __forceinline__ int gauss_jordan(T (&a)[Rows][Tile], int n, int steps, int lane,
                                            unsigned table) {
    static_assert((Lanes & (Lanes - 1)) == 0 && Lanes * Rows <= 32 && Lanes * Rows >= Tile);
    constexpr unsigned register_bits = 31u & ~unsigned(Lanes - 1);
    unsigned candidates[Rows];  // magnitude_bits until the row is chosen, then 0.
    int info = 0;
#pragma unroll
    for (int i = 0; i < Rows; ++i) candidates[i] = lane + Lanes * i < n ? magnitude_bits : 0u;
    // The largest magnitude of the pivot column, with its row in the last five bits. The search is
    // at the end of a step: at the beginning the compiler would copy all registers in each step.
    const auto find_pivot = [&] {
        unsigned largest = 0;
#pragma unroll
        for (int i = 0; i < Rows; ++i) {
            largest = max(largest, (high_word(a[i][0]) & candidates[i]) | unsigned(Lanes * i));
        }
        return lanes_max<Lanes>(largest | unsigned(lane));
    };
    unsigned key = find_pivot();
#pragma unroll 1
    for (int k = 0; k < steps; ++k) {
        const bool idle = MixedSizes && k >= n;
        if (idle) key = unsigned(n);  // A row of zeros.
        const auto from_pivot_row = [&](int j) {
            T value = a[0][j];
#pragma unroll
            for (int i = 1; i < Rows; ++i) {
                value = (key & register_bits) == unsigned(Lanes * i) ? a[i][j] : value;
            }
            // The last bits of the key are the lane.
            return Lanes == 1 ? value : __shfl_sync(full_warp, value, int(key), Lanes);
        };
        const T pivot = from_pivot_row(0);
        T reciprocal = fast_reciprocal(pivot);
        const bool fast = key - fast_range_low<T> < fast_range_span<T>;
        if constexpr (!Checked) {
            if (!fast) info = 1;
        } else if (!fast) {
            reciprocal = T(1) / pivot;
            const bool usable = key >= 32u && isfinite(pivot) && isfinite(reciprocal);
            if (info == 0 && !usable && !idle) info = k + 1;
        }
        T multiplier[Rows];
        bool chosen[Rows];
#pragma unroll
        for (int i = 0; i < Rows; ++i) {
            chosen[i] = (key & 31u) == unsigned(lane + Lanes * i);
            multiplier[i] = minus_quotient(a[i][0], pivot, -reciprocal);
            if (chosen[i]) {
                multiplier[i] = T(0);
                candidates[i] = 0;
            }
            if (MixedSizes && lane + Lanes * i >= n) multiplier[i] = T(0);
            if (idle) multiplier[i] = -T(0);
        }
        store_step(lane == 0, table + unsigned(k * int(sizeof(PivotStep<T>))), reciprocal,
                   key & 31u);
#pragma unroll
        for (int j = 1; j < Tile; ++j) {
            const T pivot_entry = from_pivot_row(j);
#pragma unroll
            for (int i = 0; i < Rows; ++i) a[i][j - 1] = fma(multiplier[i], pivot_entry, a[i][j]);
        }
#pragma unroll
        for (int i = 0; i < Rows; ++i) {
            a[i][Tile - 1] = idle ? T(0) : one_or_value(chosen[i], multiplier[i]);
        }
        key = find_pivot();
    }
    return info;
}

/// Sets `step` of the n entries of each group's table, whose rows are a permutation; n is 0 if they
/// are not. Called by all lanes of the warp.
template <int Lanes, class T>
__device__ __forceinline__ void invert_permutation(PivotStep<T>* table, int n, int lane) {
    __syncwarp();
    for (int k = lane; k < n; k += Lanes) table[table[k].row].step = k;
    __syncwarp();
}

}  // namespace tessera::cuda
