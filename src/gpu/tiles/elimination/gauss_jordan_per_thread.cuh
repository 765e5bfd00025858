#pragma once

#include "gpu/tiles/elimination/gauss_jordan.cuh"

/// Gauss-Jordan inversion of the smallest matrices; one matrix per thread, in registers.
namespace tessera::cuda {

/// Computes the same bits as gauss_jordan for the column-major matrix `a` of this thread. The pivot
/// row is swapped with row k, so that all register indices are compile-time constants:
///     X(i, row[k]) = a(i, k) reciprocal[i].
/// Returns info as gauss_jordan does; unless Checked, a nonzero value means that a pivot was
/// outside the fast range and the result is undefined.
template <bool Checked, int n, class T>
__device__ __forceinline__ int gauss_jordan_per_thread(T (&a)[n * n], unsigned (&row)[n],
                                                       T (&reciprocal)[n]) {
    int info = 0;
#pragma unroll
    for (int i = 0; i < n; ++i) row[i] = unsigned(i);
#pragma unroll
    for (int k = 0; k < n; ++k) {
        unsigned keys[n];
        unsigned key = 0;
#pragma unroll
        for (int i = k; i < n; ++i) {
            keys[i] = (high_word(a[i + n * k]) & magnitude_bits) | row[i];
            key = max(key, keys[i]);
        }
        const auto swap_rows = [&](auto&& entry) {
            const auto given = entry(k);
            auto chosen = given;
#pragma unroll
            for (int i = k + 1; i < n; ++i) {
                chosen = keys[i] == key ? entry(i) : chosen;
                entry(i) = keys[i] == key ? given : entry(i);
            }
            entry(k) = chosen;
        };
        swap_rows([&](int i) -> unsigned& { return row[i]; });
#pragma unroll
        for (int j = 0; j < n; ++j) swap_rows([&](int i) -> T& { return a[i + n * j]; });

        const T pivot = a[k + n * k];
        reciprocal[k] = fast_reciprocal(pivot);
        const bool fast = key - fast_range_low<T> < fast_range_span<T>;
        if constexpr (!Checked) {
            if (!fast) info = 1;
        } else if (!fast) {
            reciprocal[k] = T(1) / pivot;
            const bool usable = key >= 32u && isfinite(pivot) && isfinite(reciprocal[k]);
            if (info == 0 && !usable) info = k + 1;
        }
#pragma unroll
        for (int i = 0; i < n; ++i) {
            if (i == k) continue;
            const T multiplier = minus_quotient(a[i + n * k], pivot, -reciprocal[k]);
#pragma unroll
            for (int j = 0; j < n; ++j) {
                if (j != k) a[i + n * j] = fma(multiplier, a[k + n * j], a[i + n * j]);
            }
            a[i + n * k] = multiplier;
        }
        a[k + n * k] = T(1);
    }
    return info;
}

}  // namespace tessera::cuda
