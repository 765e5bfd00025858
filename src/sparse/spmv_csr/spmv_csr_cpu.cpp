#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sparse/spmv_csr/spmv_csr_cpu.cpp"
#include <cmath>

#include "hwy/cache_control.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "tessera/context.hpp"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

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

/// y = alpha sum + beta y
template <class T>
static HWY_INLINE void store_row(T alpha, T sum, T beta, T* y) {
    const T product = alpha * sum;
    *y = beta == T(0) ? product : product + beta * *y;
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
        store_row(alpha, row_product(values + begin, columns + begin, length, x), beta, y + i);
    }
}

/// Products with y.count <= W vectors: x holds element i of vector j at i * W + j. Each sum is that
/// of row_product to the last bit.
template <int W, class T>
static void multiply_rows_together(const Offset* row_offsets, const Index* columns, const T* values,
                                   Index first, Index last, Index longest, T alpha, const T* x,
                                   T beta, const Vectors<T>& y) {
    const hn::CappedTag<T, std::size_t(W)> d;
    using Vector = hn::Vec<decltype(d)>;
    constexpr int lanes = int(hn::MaxLanes(d));
    constexpr int vectors = W / lanes;
    for (Index i = first; i < last; ++i) {
        const Offset begin = row_offsets[i], length = row_offsets[i + 1] - begin;
        if (length > longest) continue;
        prefetch_ahead(values + begin, columns + begin, length);
        Vector sums[4][vectors];
#pragma GCC unroll 4
        for (int u = 0; u < 4; ++u) {
#pragma GCC unroll 4
            for (int v = 0; v < vectors; ++v) sums[u][v] = hn::Zero(d);
        }
        const T* const entries = values + begin;
        const Index* const places = columns + begin;
        Offset k = 0;
        for (; k + 4 <= length; k += 4) {
#pragma GCC unroll 4
            for (int u = 0; u < 4; ++u) {
                const Vector value = hn::Set(d, entries[k + u]);
                const T* const from = x + Offset(places[k + u]) * W;
#pragma GCC unroll 4
                for (int v = 0; v < vectors; ++v) {
                    sums[u][v] = hn::MulAdd(value, hn::LoadU(d, from + v * lanes), sums[u][v]);
                }
            }
        }
        for (; k < length; ++k) {
            const Vector value = hn::Set(d, entries[k]);
            const T* const from = x + Offset(places[k]) * W;
#pragma GCC unroll 4
            for (int v = 0; v < vectors; ++v) {
                sums[0][v] = hn::MulAdd(value, hn::LoadU(d, from + v * lanes), sums[0][v]);
            }
        }
        HWY_ALIGN T row[W];
#pragma GCC unroll 4
        for (int v = 0; v < vectors; ++v) {
            hn::Store(hn::Add(hn::Add(sums[0][v], sums[1][v]), hn::Add(sums[2][v], sums[3][v])), d,
                      row + v * lanes);
        }
        for (int j = 0; j < y.count; ++j)
            store_row(alpha, row[j], beta, y.data + j * y.leading + i);
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
#include "sparse/interleaved.hpp"
#include "sparse/spmv_csr/kernels.hpp"

namespace tessera::cpu {

namespace {

/// A row that is split over all threads.
template <class T, class F>
void multiply_long_row(const Context& context, const CsrView<T>& matrix, Index row, T alpha,
                       const T* x, T beta, T* y, F product_of_part) {
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

/// f(first row, last row) for the parts of the plan.
template <class T, class F>
void for_parts(const Context& context, const CsrView<T>& matrix, const SpmvPlan& plan, int vectors,
               F&& f) {
    const Offset parts = Offset(plan.row_starts.size()) - 1;
    const Offset work = (matrix.nonzeros + matrix.rows) * vectors;
    parallel_parts(work < parallel_grain ? 1 : context.threads(), parts, parts,
                   [&](Offset part, Offset, Offset) {
                       f(plan.row_starts[std::size_t(part)],
                         plan.row_starts[std::size_t(part) + 1]);
                   });
}

}  // namespace

template <class T>
void multiply(const Context& context, const CsrView<T>& matrix, const SpmvPlan& plan, T alpha,
              const Vectors<const T>& x, T beta, const Vectors<T>& y) {
    const auto multiply_rows = TESSERA_SIMD(context, multiply_rows<T>);
    const auto product_of_part = TESSERA_SIMD(context, product_of_part<T>);
    for_vectors_together(
        x.count,
        [&](int j) {
            for_parts(context, matrix, plan, 1, [&](Index first, Index last) {
                multiply_rows(matrix.row_offsets, matrix.column_indices, matrix.values, first, last,
                              plan.long_row_threshold, alpha, x[j].data(), beta, y[j].data());
            });
        },
        [&](auto width, int j, int count) {
            constexpr int w = decltype(width)::value;
            const auto multiply_together = TESSERA_SIMD(context, multiply_rows_together<w, T>);
            const Interleaved<T, w> vectors(context, x.part(j, count));
            for_parts(context, matrix, plan, count, [&](Index first, Index last) {
                multiply_together(matrix.row_offsets, matrix.column_indices, matrix.values, first,
                                  last, plan.long_row_threshold, alpha, vectors.data(), beta,
                                  y.part(j, count));
            });
        });
    for (const Index row : plan.long_rows) {
        for (int j = 0; j < x.count; ++j) {
            multiply_long_row(context, matrix, row, alpha, x[j].data(), beta, y[j].data(),
                              product_of_part);
        }
    }
}

template decltype(multiply<float>) multiply<float>;
template decltype(multiply<double>) multiply<double>;

}  // namespace tessera::cpu
#endif  // HWY_ONCE
