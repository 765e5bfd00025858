#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "precond/block_ldlt/numeric/numeric_cpu.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "precond/block_ldlt/numeric/kernels.hpp"
#include "simd/dispatch.hpp"

HWY_BEFORE_NAMESPACE();
namespace tessera::block_ldlt::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// C -= sum over the pairs of V W^T (or, with `transposed` false, V W), a tile of rows and columns
/// of C at a time in registers over all pairs.
template <Index k, bool transposed, class T>
HWY_INLINE void subtract_products(Offset count, const Index* left, const Index* right, const T* v,
                                  const T* w, T* c) {
    const hn::CappedTag<T, std::size_t(k)> d;
    constexpr Index lanes = Index(hn::MaxLanes(d));
    constexpr Index vectors = k / lanes < 2 ? k / lanes : 2;  // Of a column of the tile.
    constexpr Index columns = k < 4 ? k : 4;
    constexpr Index square = k * k;
    for (Index column = 0; column < k; column += columns) {
        for (Index row = 0; row < k; row += vectors * lanes) {
            hn::Vec<decltype(d)> sums[columns][vectors];
            for (Index j = 0; j < columns; ++j) {
                for (Index i = 0; i < vectors; ++i) {
                    sums[j][i] = hn::LoadU(d, c + row + i * lanes + (column + j) * k);
                }
            }
            for (Offset e = 0; e < count; ++e) {
                const T* a = v + Offset(left[e]) * square + row;
                const T* b = w + Offset(right[e]) * square + (transposed ? column : column * k);
                for (Index p = 0; p < k; ++p) {
                    hn::Vec<decltype(d)> parts[vectors];
                    for (Index i = 0; i < vectors; ++i) {
                        parts[i] = hn::LoadU(d, a + i * lanes + p * k);
                    }
                    for (Index j = 0; j < columns; ++j) {
                        const auto factor = hn::Set(d, transposed ? b[j + p * k] : b[p + j * k]);
                        for (Index i = 0; i < vectors; ++i) {
                            sums[j][i] = hn::NegMulAdd(parts[i], factor, sums[j][i]);
                        }
                    }
                }
            }
            for (Index j = 0; j < columns; ++j) {
                for (Index i = 0; i < vectors; ++i) {
                    hn::StoreU(sums[j][i], d, c + row + i * lanes + (column + j) * k);
                }
            }
        }
    }
}

template <class T>
HWY_INLINE void add_entries(const PatternView<T>& a, Offset item, T* c) {
    for (Offset e = a.entry_offsets[item]; e < a.entry_offsets[item + 1]; ++e) {
        c[a.places[e]] += a.values[e];
    }
}

template <Index k, class T>
void schur_diagonals(const PatternView<T>& a, Index first, Index last, const T* v, const T* w,
                     T* b) {
    for (Index i = first; i < last; ++i) {
        T* c = b + Offset(i) * k * k;
        for (Index e = 0; e < k * k; ++e) c[e] = T(0);
        add_entries(a, a.blocks + i, c);
        for (Index column = 1; column < k; ++column) {
            for (Index row = 0; row < column; ++row) c[row + column * k] = c[column + row * k];
        }
        const Index* list = a.row_blocks + a.row_offsets[i];
        subtract_products<k, true>(a.row_offsets[i + 1] - a.row_offsets[i], list, list, v, w, c);
        for (Index column = 1; column < k; ++column) {
            for (Index row = 0; row < column; ++row) {
                T& upper = c[row + column * k];
                T& lower = c[column + row * k];
                upper = lower = T(0.5) * upper + T(0.5) * lower;
            }
        }
    }
}

template <Index k, class T>
void schur_blocks(const PatternView<T>& a, Offset first, Offset last, const T* v, const T* w,
                  const T* inverses, T* v_out, T* w_out) {
    T block[k * k], product[k * k];
    const Index only = 0;
    for (Offset b = first; b < last; ++b) {
        for (Index e = 0; e < k * k; ++e) block[e] = T(0);
        add_entries(a, b, block);
        const Offset triple = a.triple_offsets[b];
        subtract_products<k, true>(a.triple_offsets[b + 1] - triple, a.left + triple,
                                   a.right + triple, v, w, block);
        for (Index e = 0; e < k * k; ++e) product[e] = T(0);
        subtract_products<k, false>(1, &only, &only, block, inverses + Offset(a.columns[b]) * k * k,
                                    product);
        T* to_v = v_out + b * k * k;
        T* to_w = w_out + b * k * k;
        for (Index e = 0; e < k * k; ++e) to_w[e] = block[e];
        for (Index e = 0; e < k * k; ++e) to_v[e] = -product[e];
    }
}

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
            for (Index p = 0; p < k; ++p) {
                const auto factor = hn::Set(d, alpha * from[p]);
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
    for (Index j = first; j < last; ++j) {
        T sums[k];
        for (Index c = 0; c < k; ++c) sums[c] = T(0);
        for (Offset block = a.column_offsets[j]; block < a.column_offsets[j + 1]; ++block) {
            const T* values = v + block * k * k;
            const T* from = x + Offset(a.rows[block]) * k;
            for (Index c = 0; c < k; ++c) {
                auto sum = hn::Zero(d);
                for (Index r = 0; r < k; r += lanes) {
                    sum = hn::MulAdd(hn::LoadU(d, values + r + c * k), hn::LoadU(d, from + r), sum);
                }
                sums[c] += hn::GetLane(hn::SumOfLanes(d, sum));
            }
        }
        for (Index c = 0; c < k; ++c) y[j * k + c] = b[j * k + c] + alpha * sums[c];
    }
}

template <Index k>
struct Size {
    static constexpr Index value = k;
};

/// f(Size<k>()) for the block sizes that there are kernels for.
template <class F>
HWY_INLINE void with_size(Index k, F&& f) {
    if (k == 1) f(Size<1>());
    if (k == 4) f(Size<4>());
    if (k == 8) f(Size<8>());
    if (k == 16) f(Size<16>());
    if (k == 32) f(Size<32>());
}

template <class T>
void schur_diagonals_of(const PatternView<T>& a, Index first, Index last, const T* v, const T* w,
                        T* b) {
    with_size(a.k, [&](auto size) HWY_ATTR {
        schur_diagonals<decltype(size)::value>(a, first, last, v, w, b);
    });
}

template <class T>
void schur_blocks_of(const PatternView<T>& a, Offset first, Offset last, const T* v, const T* w,
                     const T* inverses, T* v_out, T* w_out) {
    with_size(a.k, [&](auto size) HWY_ATTR {
        schur_blocks<decltype(size)::value>(a, first, last, v, w, inverses, v_out, w_out);
    });
}

template <class T>
void lower_product_of(const PatternView<T>& a, Index first, Index last, const T* v, T alpha,
                      const T* x, const T* b, T* y) {
    with_size(a.k, [&](auto size) HWY_ATTR {
        lower_product<decltype(size)::value>(a, first, last, v, alpha, x, b, y);
    });
}

template <class T>
void upper_product_of(const PatternView<T>& a, Index first, Index last, const T* v, T alpha,
                      const T* x, const T* b, T* y) {
    with_size(a.k, [&](auto size) HWY_ATTR {
        upper_product<decltype(size)::value>(a, first, last, v, alpha, x, b, y);
    });
}

}  // namespace tessera::block_ldlt::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "base/parallel.hpp"

namespace tessera::block_ldlt::cpu {

namespace {

/// f(first, last) over first .. last-1, each of which touches about `values` numbers.
template <class F>
void in_parallel(const Context& context, Offset first, Offset last, Offset values, F&& f) {
    parallel_ranges(
        context.threads(), last - first,
        [&](Offset begin, Offset end) { f(first + begin, first + end); },
        std::max<Offset>(1, parallel_grain / values));
}

/// Numbers in the blocks of a row, on average.
template <class T>
Offset row_values(const PatternView<T>& a) {
    return (1 + a.blocks / std::max<Offset>(1, a.block_rows)) * a.k * a.k;
}

}  // namespace

template <class T>
void schur_diagonals(const Context& context, const PatternView<T>& a, Index first, Index last,
                     const T* v, const T* w, T* b) {
    const auto f = TESSERA_SIMD(context, schur_diagonals_of<T>);
    in_parallel(context, first, last, row_values(a) * a.k,
                [&](Offset begin, Offset end) { f(a, Index(begin), Index(end), v, w, b); });
}

template <class T>
void schur_blocks(const Context& context, const PatternView<T>& a, Offset first, Offset last,
                  const T* v, const T* w, const T* inverses, T* v_out, T* w_out) {
    const auto f = TESSERA_SIMD(context, schur_blocks_of<T>);
    in_parallel(context, first, last, Offset(a.k) * a.k * a.k,
                [&](Offset begin, Offset end) { f(a, begin, end, v, w, inverses, v_out, w_out); });
}

template <class T>
void lower_product(const Context& context, const PatternView<T>& a, Index first, Index last,
                   const T* v, T alpha, const T* x, const T* b, T* y) {
    const auto f = TESSERA_SIMD(context, lower_product_of<T>);
    in_parallel(context, first, last, row_values(a), [&](Offset begin, Offset end) {
        f(a, Index(begin), Index(end), v, alpha, x, b, y);
    });
}

template <class T>
void upper_product(const Context& context, const PatternView<T>& a, Index first, Index last,
                   const T* v, T alpha, const T* x, const T* b, T* y) {
    const auto f = TESSERA_SIMD(context, upper_product_of<T>);
    in_parallel(context, first, last, row_values(a), [&](Offset begin, Offset end) {
        f(a, Index(begin), Index(end), v, alpha, x, b, y);
    });
}

#define TESSERA_INSTANTIATE(T)                                                                     \
    template void schur_diagonals<T>(const Context&, const PatternView<T>&, Index, Index,          \
                                     const T*, const T*, T*);                                      \
    template void schur_blocks<T>(const Context&, const PatternView<T>&, Offset, Offset, const T*, \
                                  const T*, const T*, T*, T*);                                     \
    template void lower_product<T>(const Context&, const PatternView<T>&, Index, Index, const T*,  \
                                   T, const T*, const T*, T*);                                     \
    template void upper_product<T>(const Context&, const PatternView<T>&, Index, Index, const T*,  \
                                   T, const T*, const T*, T*);
TESSERA_INSTANTIATE(float)
TESSERA_INSTANTIATE(double)
#undef TESSERA_INSTANTIATE

}  // namespace tessera::block_ldlt::cpu
#endif
