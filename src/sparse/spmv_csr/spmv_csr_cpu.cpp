#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sparse/spmv_csr/spmv_csr_cpu.cpp"
#include <cmath>

#include "hwy/cache_control.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "tessera/types.hpp"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {

template <class T>
static HWY_INLINE T multiply_add(T a, T b, T c) {
    return HWY_NATIVE_FMA ? std::fma(a, b, c) : a * b + c;
}

/// Software prefetch of values and columns 4 KB ahead of the next n; the hardware prefetcher alone
/// does not saturate memory.
template <class T>
static HWY_INLINE void prefetch_ahead(const T* values, const Index* columns, Offset n) {
    constexpr Offset ahead = 4096 / sizeof(T);
    for (Offset k = 0; k < n; k += Offset(64 / sizeof(T))) hwy::Prefetch(values + ahead + k);
    for (Offset k = 0; k < n; k += Offset(64 / sizeof(Index))) hwy::Prefetch(columns + ahead + k);
}

/// Sum of values[k] x[columns[k]] over k < n, in an order that depends on n only.
template <class T>
static HWY_INLINE T row_product(const T* values, const Index* columns, Offset n, const T* x) {
    prefetch_ahead(values, columns, n);
    T s0 = T(0), s1 = T(0), s2 = T(0), s3 = T(0);
    Offset k = 0;
    for (; k + 4 <= n; k += 4) {
        s0 = multiply_add(values[k], x[columns[k]], s0);
        s1 = multiply_add(values[k + 1], x[columns[k + 1]], s1);
        s2 = multiply_add(values[k + 2], x[columns[k + 2]], s2);
        s3 = multiply_add(values[k + 3], x[columns[k + 3]], s3);
    }
    for (; k < n; ++k) s0 = multiply_add(values[k], x[columns[k]], s0);
    return (s0 + s1) + (s2 + s3);
}

/// Rows first .. last-1, except those longer than `longest`.
template <class T>
static void multiply_rows(const Offset* row_offsets, const Index* columns, const T* values,
                          Index first, Index last, Index longest, T alpha, const T* x, T beta,
                          T* y) {
    for (Index i = first; i < last; ++i) {
        const Offset begin = row_offsets[i];
        const Offset length = row_offsets[i + 1] - begin;
        if (length > longest) continue;
        const T product = alpha * row_product(values + begin, columns + begin, length, x);
        y[i] = beta == T(0) ? product : product + beta * y[i];
    }
}

template <class T>
static T product_of_part(const T* values, const Index* columns, Offset n, const T* x) {
    return row_product(values, columns, n, x);
}

}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "base/context_state.hpp"
#include "base/parallel.hpp"
#include "simd/dispatch.hpp"
#include "sparse/spmv_csr/kernels.hpp"

namespace tessera::cpu {

template <class T>
void multiply(const Context& context, const CsrView<T>& matrix, const SpmvPlan& plan, T alpha,
              const T* x, T beta, T* y) {
    const auto multiply_rows = TESSERA_SIMD(context, multiply_rows<T>);
    const auto product_of_part = TESSERA_SIMD(context, product_of_part<T>);
    const Offset parts = Offset(plan.row_starts.size()) - 1;
    const int threads = matrix.nonzeros + matrix.rows < parallel_grain ? 1 : context.threads();
    parallel_parts(threads, parts, parts, [&](Offset part, Offset, Offset) {
        multiply_rows(matrix.row_offsets, matrix.column_indices, matrix.values,
                      plan.row_starts[std::size_t(part)], plan.row_starts[std::size_t(part) + 1],
                      plan.long_row_threshold, alpha, x, beta, y);
    });
    for (const Index row : plan.long_rows) {
        const Offset begin = matrix.row_offsets[row];
        const Offset length = matrix.row_offsets[row + 1] - begin;
        const Offset chunks = (length + long_row_chunk - 1) / long_row_chunk;
        T* partial = static_cast<T*>(reduction_scratch(context, chunks * Offset(sizeof(T))));
        parallel_ranges(
            context.threads(), chunks,
            [&](Offset first, Offset last) {
                for (Offset c = first; c < last; ++c) {
                    const Offset offset = c * long_row_chunk;
                    partial[c] = product_of_part(matrix.values + begin + offset,
                                                 matrix.column_indices + begin + offset,
                                                 std::min(long_row_chunk, length - offset), x);
                }
            },
            4);
        T sum = T(0);
        for (Offset c = 0; c < chunks; ++c) sum += partial[c];
        y[row] = beta == T(0) ? alpha * sum : alpha * sum + beta * y[row];
    }
}

template decltype(multiply<float>) multiply<float>;
template decltype(multiply<double>) multiply<double>;

}  // namespace tessera::cpu
#endif  // HWY_ONCE
