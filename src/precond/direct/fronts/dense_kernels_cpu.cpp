#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "precond/direct/fronts/dense_kernels_cpu.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "precond/direct/fronts/dense_kernels.hpp"
#include "simd/dispatch.hpp"

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class T>
struct Product {
    Offset k;
    const T* a;
    Offset lda;
    const T* b;
    Offset ldb;
    T* c;
    Offset ldc;
};

/// `vectors` vectors of rows from row i on, times `columns` columns from column j on, of C -= A B,
/// in registers.
template <int vectors, int columns, class D, class T>
static HWY_INLINE void subtract_tile(D d, const Product<T>& p, Offset i, Offset j) {
    const Offset lanes = Offset(hn::Lanes(d));
    hn::Vec<D> sums[columns][vectors];
    T* const c = p.c + j * p.ldc + i;
#pragma GCC unroll 8
    for (int q = 0; q < columns; ++q) {
#pragma GCC unroll 8
        for (int w = 0; w < vectors; ++w) sums[q][w] = hn::LoadU(d, c + q * p.ldc + w * lanes);
    }
    const T* a = p.a + i;
    const T* b = p.b + j * p.ldb;
    for (Offset l = 0; l < p.k; ++l, a += p.lda, ++b) {
        hn::Vec<D> factor[vectors];
#pragma GCC unroll 8
        for (int w = 0; w < vectors; ++w) factor[w] = hn::LoadU(d, a + w * lanes);
#pragma GCC unroll 8
        for (int q = 0; q < columns; ++q) {
            const auto scale = hn::Set(d, b[q * p.ldb]);
#pragma GCC unroll 8
            for (int w = 0; w < vectors; ++w) {
                sums[q][w] = hn::NegMulAdd(factor[w], scale, sums[q][w]);
            }
        }
    }
#pragma GCC unroll 8
    for (int q = 0; q < columns; ++q) {
#pragma GCC unroll 8
        for (int w = 0; w < vectors; ++w) hn::StoreU(sums[q][w], d, c + q * p.ldc + w * lanes);
    }
}

/// Fewer rows than `lanes`, from row i on: by vectors of half the lanes, a quarter and so on.
template <int lanes, int columns, class T>
static HWY_INLINE void subtract_last_rows(const Product<T>& p, Offset i, Offset last, Offset j) {
    if constexpr (lanes > 1) {
        constexpr int half = lanes / 2;
        if (i + half <= last) {
            subtract_tile<1, columns>(hn::CappedTag<T, half>(), p, i, j);
            i += half;
        }
        subtract_last_rows<half, columns>(p, i, last, j);
    }
}

/// Rows first .. last - 1 of `columns` columns from column j on.
template <int vectors, int columns, class T>
static HWY_INLINE void subtract_strip(const Product<T>& p, Offset first, Offset last, Offset j) {
    const hn::ScalableTag<T> d;
    constexpr int lanes = int(hn::MaxLanes(hn::ScalableTag<T>()));
    Offset i = first;
    for (; i + vectors * lanes <= last; i += vectors * lanes) {
        subtract_tile<vectors, columns>(d, p, i, j);
    }
    for (; i + lanes <= last; i += lanes) subtract_tile<1, columns>(d, p, i, j);
    subtract_last_rows<lanes, columns>(p, i, last, j);
}

template <class T>
static void subtract_product(Offset m, Offset n, Offset k, const T* a, Offset lda, const T* b,
                             Offset ldb, T* c, Offset ldc) {
    constexpr int columns = HWY_TARGET <= HWY_AVX3 ? 8 : 4;  // Sums in 24 or 12 registers.
    constexpr Offset rows_in_cache = 384;
    const Product<T> p{k, a, lda, b, ldb, c, ldc};
    for (Offset first = 0; first < m; first += rows_in_cache) {
        const Offset last = first + rows_in_cache < m ? first + rows_in_cache : m;
        Offset j = 0;
        for (; j + columns <= n; j += columns) subtract_strip<3, columns>(p, first, last, j);
        for (; j + 2 <= n; j += 2) subtract_strip<4, 2>(p, first, last, j);
        if (j < n) subtract_strip<8, 1>(p, first, last, j);
    }
}

/// Columns j .. j + columns - 1 of y -= A^T x.
template <int columns, class T>
static HWY_INLINE void subtract_dots(Offset m, const T* a, Offset lda, const T* x, T* y) {
    const hn::ScalableTag<T> d;
    const Offset lanes = Offset(hn::Lanes(d));
    hn::Vec<decltype(d)> sums[columns];
#pragma GCC unroll 8
    for (int q = 0; q < columns; ++q) sums[q] = hn::Zero(d);
    Offset i = 0;
    for (; i + lanes <= m; i += lanes) {
        const auto factor = hn::LoadU(d, x + i);
#pragma GCC unroll 8
        for (int q = 0; q < columns; ++q) {
            sums[q] = hn::MulAdd(hn::LoadU(d, a + q * lda + i), factor, sums[q]);
        }
    }
#pragma GCC unroll 8
    for (int q = 0; q < columns; ++q) {
        T sum = hn::GetLane(hn::SumOfLanes(d, sums[q]));
        for (Offset rest = i; rest < m; ++rest) sum += a[q * lda + rest] * x[rest];
        y[q] -= sum;
    }
}

template <class T>
static void subtract_transposed(Offset m, Offset n, const T* a, Offset lda, const T* x, T* y) {
    Offset j = 0;
    for (; j + 4 <= n; j += 4) subtract_dots<4>(m, a + j * lda, lda, x, y + j);
    for (; j < n; ++j) subtract_dots<1>(m, a + j * lda, lda, x, y + j);
}

template <class T>
static T max_abs(Offset n, const T* x) {
    const hn::ScalableTag<T> d;
    const Offset lanes = Offset(hn::Lanes(d));
    auto largest = hn::Zero(d);
    Offset i = 0;
    for (; i + lanes <= n; i += lanes) largest = hn::Max(largest, hn::Abs(hn::LoadU(d, x + i)));
    T result = hn::GetLane(hn::MaxOfLanes(d, largest));
    for (; i < n; ++i) {
        const T size = x[i] < T(0) ? -x[i] : x[i];
        if (size > result) result = size;
    }
    return result;
}

template <class T>
static void divide(Offset n, T divisor, T* x) {
    const hn::ScalableTag<T> d;
    const Offset lanes = Offset(hn::Lanes(d));
    const auto by = hn::Set(d, divisor);
    Offset i = 0;
    for (; i + lanes <= n; i += lanes) hn::StoreU(hn::Div(hn::LoadU(d, x + i), by), d, x + i);
    for (; i < n; ++i) x[i] /= divisor;
}

}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::direct {

template <class T>
DenseKernels<T> dense_kernels([[maybe_unused]] const Context& context) {
    using namespace cpu;
    return {TESSERA_SIMD(context, subtract_product<T>),
            TESSERA_SIMD(context, subtract_transposed<T>), TESSERA_SIMD(context, max_abs<T>),
            TESSERA_SIMD(context, divide<T>)};
}

template DenseKernels<float> dense_kernels(const Context&);
template DenseKernels<double> dense_kernels(const Context&);

}  // namespace tessera::direct
#endif
