#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "precond/incomplete/numeric/numeric_cpu.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "precond/incomplete/block_sizes.hpp"
#include "precond/incomplete/numeric/kernels.hpp"
#include "simd/dispatch.hpp"

HWY_BEFORE_NAMESPACE();
namespace tessera::incomplete::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// C -= sum of V W^T over a list of pairs of blocks. Register tiles: two vectors of rows by four
/// columns of C stay in registers over the whole list.
template <Index k, class T>
HWY_INLINE void subtract_products(Offset count, const Index* left, const Index* right, const T* v,
                                  const T* w, T* c) {
    const hn::CappedTag<T, std::size_t(k)> d;
    constexpr Index lanes = Index(hn::MaxLanes(d));
    constexpr Index vectors = k / lanes < 2 ? k / lanes : 2;  // Vectors per column of the tile.
    constexpr Index columns = k < 4 ? k : 4;
    constexpr Index square = k * k;
    for (Index column = 0; column < k; column += columns) {
        for (Index row = 0; row < k; row += vectors * lanes) {
            hn::Vec<decltype(d)> sums[columns][vectors];
#pragma GCC unroll 4
            for (Index j = 0; j < columns; ++j) {
#pragma GCC unroll 2
                for (Index i = 0; i < vectors; ++i) {
                    sums[j][i] = hn::LoadU(d, c + row + i * lanes + (column + j) * k);
                }
            }
            for (Offset e = 0; e < count; ++e) {
                const T* a = v + Offset(left[e]) * square + row;
                const T* b = w + Offset(right[e]) * square + column;
                for (Index p = 0; p < k; ++p) {
                    hn::Vec<decltype(d)> parts[vectors];
#pragma GCC unroll 2
                    for (Index i = 0; i < vectors; ++i) {
                        parts[i] = hn::LoadU(d, a + i * lanes + p * k);
                    }
#pragma GCC unroll 4
                    for (Index j = 0; j < columns; ++j) {
                        const auto factor = hn::Set(d, b[j + p * k]);
#pragma GCC unroll 2
                        for (Index i = 0; i < vectors; ++i) {
                            sums[j][i] = hn::NegMulAdd(parts[i], factor, sums[j][i]);
                        }
                    }
                }
            }
#pragma GCC unroll 4
            for (Index j = 0; j < columns; ++j) {
#pragma GCC unroll 2
                for (Index i = 0; i < vectors; ++i) {
                    hn::StoreU(sums[j][i], d, c + row + i * lanes + (column + j) * k);
                }
            }
        }
    }
}

template <class T>
void schur_diagonals_of(const PatternView<T>& a, Index first, Index last, const T* from, const T* v,
                        const T* w, T* b) {
    with_block_size(a.k, [&](auto size) HWY_ATTR {
        constexpr Index k = decltype(size)::value;
        for (Index i = first; i < last; ++i) {
            T* c = b + Offset(i) * k * k;
            std::copy_n(from + Offset(i) * k * k, k * k, c);
            for (Index column = 1; a.symmetric && column < k; ++column) {
                for (Index row = 0; row < column; ++row) c[row + column * k] = c[column + row * k];
            }
            const Index* list = a.row_blocks + a.row_offsets[i];
            subtract_products<k>(a.row_offsets[i + 1] - a.row_offsets[i], list, list, v, w, c);
            for (Index column = 1; a.symmetric && column < k; ++column) {
                for (Index row = 0; row < column; ++row) {
                    T& upper = c[row + column * k];
                    T& lower = c[column + row * k];
                    upper = lower = T(0.5) * upper + T(0.5) * lower;
                }
            }
        }
    });
}

template <class T>
void schur_blocks_of(const PatternView<T>& a, Offset first, Offset last,
                     const TriangleArrays<T>& arrays) {
    const T *const from = arrays.from, *const v = arrays.v, *const w = arrays.w;
    T *const v_out = arrays.v_out, *const w_out = arrays.w_out;
    with_block_size(a.k, [&](auto size) HWY_ATTR {
        constexpr Index k = decltype(size)::value;
        T block[k * k], product[k * k], transposed[k * k];
        const Index only = 0;
        for (Offset b = first; b < last; ++b) {
            std::copy_n(from + b * k * k, k * k, block);
            std::fill_n(product, k * k, T(0));
            const Offset triple = a.update_offsets[b];
            subtract_products<k>(a.update_offsets[b + 1] - triple, a.left + triple,
                                 a.right + triple, v, w, block);
            if (w_out != nullptr) std::copy(block, block + k * k, w_out + b * k * k);
            if (v_out == nullptr) continue;
            const T* const x = arrays.multipliers + Offset(a.columns[b]) * k * k;
            for (Index e = 0; e < k * k; ++e) transposed[e] = x[e / k + e % k * k];
            subtract_products<k>(1, &only, &only, block, transposed, product);
            for (Index e = 0; e < k * k; ++e) v_out[b * k * k + e] = -product[e];
        }
    });
}

template <class T>
void scale_blocks_of(const PatternView<T>& a, Offset first, Offset last, const T* multipliers,
                     T* blocks) {
    with_block_size(a.k, [&](auto size) HWY_ATTR {
        constexpr Index k = decltype(size)::value;
        T product[k * k];
        const Index only = 0;
        for (Offset b = first; b < last; ++b) {
            for (Index e = 0; e < k * k; ++e) product[e] = T(0);
            subtract_products<k>(1, &only, &only, blocks + b * k * k,
                                 multipliers + Offset(a.columns[b]) * k * k, product);
            for (Index e = 0; e < k * k; ++e) blocks[b * k * k + e] = -product[e];
        }
    });
}

}  // namespace tessera::incomplete::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "base/parallel.hpp"

namespace tessera::incomplete::cpu {

/// A block may have thousands of products.
constexpr Offset rows_between_looks = 16;

template <class T>
void schur_diagonals(const Context& context, const PatternView<T>& a, Index first, Index last,
                     const T* from, const T* v, const T* w, T* b) {
    const auto f = TESSERA_SIMD(context, schur_diagonals_of<T>);
    parallel_ranges(
        context.threads(), last - first,
        [&](Offset start, Offset stop) {
            in_pieces(start, stop, rows_between_looks, [&](Offset begin, Offset end) {
                f(a, first + Index(begin), first + Index(end), from, v, w, b);
            });
        },
        std::max<Offset>(1, parallel_grain / (a.row_values() * a.k)));
}

template <class T>
void schur_blocks(const Context& context, const PatternView<T>& a, Offset first, Offset last,
                  const TriangleArrays<T>& lower, const TriangleArrays<T>& upper) {
    const auto f = TESSERA_SIMD(context, schur_blocks_of<T>);
    parallel_ranges(
        context.threads(), last - first,
        [&](Offset start, Offset stop) {
            in_pieces(start, stop, rows_between_looks, [&](Offset begin, Offset end) {
                f(a, first + begin, first + end, lower);
                if (upper.from != nullptr) f(a, first + begin, first + end, upper);
            });
        },
        std::max<Offset>(1, parallel_grain / (Offset(a.k) * a.k * a.k)));
}

template <class T>
void scale_blocks(const Context& context, const PatternView<T>& a, const T* multipliers,
                  T* blocks) {
    const auto f = TESSERA_SIMD(context, scale_blocks_of<T>);
    parallel_ranges(
        context.threads(), a.blocks,
        [&](Offset from, Offset to) { f(a, from, to, multipliers, blocks); },
        std::max<Offset>(1, parallel_grain / (Offset(a.k) * a.k * a.k)));
}

#define TESSERA_INSTANTIATE(T)                                \
    template decltype(scale_blocks<T>) scale_blocks<T>;       \
    template decltype(schur_diagonals<T>) schur_diagonals<T>; \
    template decltype(schur_blocks<T>) schur_blocks<T>;
TESSERA_INSTANTIATE(float)
TESSERA_INSTANTIATE(double)

}  // namespace tessera::incomplete::cpu
#endif
