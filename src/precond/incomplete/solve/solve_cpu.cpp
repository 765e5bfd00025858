#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "precond/incomplete/solve/solve_cpu.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "precond/incomplete/block_sizes.hpp"
#include "precond/incomplete/solve/kernels.hpp"
#include "simd/dispatch.hpp"

HWY_BEFORE_NAMESPACE();
namespace tessera::incomplete::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <Index k, class T>
void lower_product(const PatternView<T>& a, Index first, Index last, const T* v, T alpha,
                   const T* x, const T* b, T* y) {
    const hn::CappedTag<T, std::size_t(k)> d;
    constexpr Index lanes = Index(hn::MaxLanes(d));
    constexpr Index vectors = k / lanes;
    for (Index i = first; i < last; ++i) {
        hn::Vec<decltype(d)> sums[vectors];
        for (Index r = 0; r < vectors; ++r) sums[r] = hn::LoadU(d, b + i * k + r * lanes);
        for (Offset e = a.row_offsets[i]; e < a.row_offsets[i + 1]; ++e) {
            const Index block = a.row_blocks[e];
            const T* values = v + Offset(block) * k * k;
            const T* from = x + Offset(a.columns[block]) * k;
#pragma GCC unroll 8
            for (Index p = 0; p < k; ++p) {
                const auto factor = hn::Set(d, alpha * from[p]);
#pragma GCC unroll 8
                for (Index r = 0; r < vectors; ++r) {
                    sums[r] = hn::MulAdd(hn::LoadU(d, values + r * lanes + p * k), factor, sums[r]);
                }
            }
        }
        for (Index r = 0; r < vectors; ++r) hn::StoreU(sums[r], d, y + i * k + r * lanes);
    }
}

template <Index k, class T>
void upper_product(const PatternView<T>& a, Index first, Index last, const T* v, T alpha,
                   const T* x, const T* b, T* y) {
    const hn::CappedTag<T, std::size_t(k)> d;
    constexpr Index lanes = Index(hn::MaxLanes(d));
    constexpr Index group = k < 8 ? k : 8;  // Columns of the blocks whose sums are in registers.
    for (Index j = first; j < last; ++j) {
        for (Index c0 = 0; c0 < k; c0 += group) {
            hn::Vec<decltype(d)> sums[group];
            for (auto& sum : sums) sum = hn::Zero(d);
            for (Offset block = a.column_offsets[j]; block < a.column_offsets[j + 1]; ++block) {
                const T* values = v + block * k * k + c0 * k;
                const T* from = x + Offset(a.rows[block]) * k;
                for (Index r = 0; r < k; r += lanes) {
                    const auto factor = hn::LoadU(d, from + r);
#pragma GCC unroll 8
                    for (Index c = 0; c < group; ++c) {
                        sums[c] = hn::MulAdd(hn::LoadU(d, values + r + c * k), factor, sums[c]);
                    }
                }
            }
            for (Index c = 0; c < group; ++c) {
                const Index i = j * k + c0 + c;
                y[i] = b[i] + alpha * hn::GetLane(hn::SumOfLanes(d, sums[c]));
            }
        }
    }
}

template <class T>
void triangular_product_of(const PatternView<T>& a, bool upper, Index first, Index last, const T* v,
                           T alpha, const T* x, const T* b, T* y) {
    with_block_size(a.k, [&](auto size) HWY_ATTR {
        constexpr Index k = decltype(size)::value;
        if (upper) {
            upper_product<k>(a, first, last, v, alpha, x, b, y);
        } else {
            lower_product<k>(a, first, last, v, alpha, x, b, y);
        }
    });
}

}  // namespace tessera::incomplete::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <vector>

#include "base/parallel.hpp"

namespace tessera::incomplete::cpu {

template <class T>
void triangular_product(const Context& context, const PatternView<T>& a, bool upper, Index first,
                        Index last, const T* v, T alpha, const T* x, const T* b, T* y) {
    const auto f = TESSERA_SIMD(context, triangular_product_of<T>);
    parallel_ranges(
        context.threads(), last - first,
        [&](Offset begin, Offset end) {
            f(a, upper, first + Index(begin), first + Index(end), v, alpha, x, b, y);
        },
        std::max<Offset>(1, parallel_grain / a.row_values()));
}

template <class T>
void diagonal_product(const Context& context, const PatternView<T>& a, const Inverses<T>& inverses,
                      const T* x, T* y) {
    const Index k = a.k;
    parallel_ranges(
        context.threads(), a.block_rows,
        [&](Offset first, Offset last) {
            for (Offset i = first; i < last; ++i) {
                const T* block = inverses.plain + i * k * k;
                T* to = y + i * k;
                std::fill(to, to + k, T(0));
                for (Index column = 0; column < k; ++column) {
                    const T factor = x[i * k + column];
                    for (Index row = 0; row < k; ++row) to[row] += block[row + column * k] * factor;
                }
            }
        },
        std::max<Offset>(1, parallel_grain / (k * k)));
}

template <class T>
void factor_product(const Context& context, const PatternView<T>& a, const T* factors,
                    const Index* rows, const Index* columns, const T* x, T* y) {
    const Index k = a.k;
    parallel_ranges(
        context.threads(), a.block_rows,
        [&](Offset first, Offset last) {
            std::vector<T> upper(static_cast<std::size_t>(k)), middle(upper);
            for (Offset i = first; i < last; ++i) {
                const T* f = factors + i * k * k;
                const Index *p = rows + i * k, *q = columns + i * k;
                for (Index s = 0; s < k; ++s) {
                    T sum = x[i * k + q[s]];
                    for (Index r = s + 1; r < k; ++r) {
                        sum += f[a.symmetric ? r + s * k : s + r * k] * x[i * k + q[r]];
                    }
                    upper[std::size_t(s)] = sum;
                }
                for (Index s = 0; s < k; ++s)
                    middle[std::size_t(s)] = f[s + s * k] * upper[std::size_t(s)];
                for (Index s = 0; a.symmetric && s + 1 < k; ++s) {
                    const T off = f[s + (s + 1) * k];
                    middle[std::size_t(s)] += off * upper[std::size_t(s) + 1];
                    middle[std::size_t(s) + 1] += off * upper[std::size_t(s)];
                }
                for (Index s = 0; s < k; ++s) {
                    T sum = middle[std::size_t(s)];
                    for (Index r = 0; r < s; ++r) sum += f[s + r * k] * middle[std::size_t(r)];
                    y[i * k + p[s]] = sum;
                }
            }
        },
        std::max<Offset>(1, parallel_grain / (k * k)));
}

#define TESSERA_INSTANTIATE(T)                                      \
    template decltype(triangular_product<T>) triangular_product<T>; \
    template decltype(diagonal_product<T>) diagonal_product<T>;     \
    template decltype(factor_product<T>) factor_product<T>;
TESSERA_INSTANTIATE(float)
TESSERA_INSTANTIATE(double)

}  // namespace tessera::incomplete::cpu
#endif
