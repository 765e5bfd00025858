#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sparse/bsr/products_cpu.cpp"
#include "hwy/cache_control.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "simd/dispatch.hpp"
#include "tessera/detail/bsr.hpp"

#ifndef TESSERA_SPARSE_BSR_PRODUCTS_CPU_ONCE
#define TESSERA_SPARSE_BSR_PRODUCTS_CPU_ONCE
namespace tessera::cpu {

/// A row of C = A B.
template <class T>
struct ProductRow {
    const BsrView<T>&a, &b;
    Index row;
    const Offset* position;  ///< For each column the block of C in this row, below `first`: none.
    Offset first;
    Index least;  ///< Columns before it are left out.
    T* sums;      ///< The blocks of C in this row, each row of a block in `row_length` numbers.
};

}  // namespace tessera::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace tessera::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Whether rows of `width` numbers are whole vectors in sums. Parts of vectors are loaded by masks,
/// but not stored: what a mask stores is slow to load again. AVX2 and AVX-512 alone have loads by
/// masks that read nothing else.
constexpr bool has_vectors(int width) {
    return HWY_TARGET <= HWY_AVX2 && (width == 3 || width == 6);
}
/// Numbers that a row of a block of C takes in sums.
static int row_length(int width) { return has_vectors(width) ? (width == 3 ? 4 : 8) : width; }

/// c += a b; a constant 0 stands for a size that is only known when the program runs.
template <int Height, int Inner, int Width, class T>
static HWY_INLINE void add_block_product(int height, int inner, int width, const T* HWY_RESTRICT a,
                                         const T* HWY_RESTRICT b, T* HWY_RESTRICT c) {
    const int h = Height > 0 ? Height : height, n = Inner > 0 ? Inner : inner,
              w = Width > 0 ? Width : width, length = row_length(w);
#pragma GCC unroll 8
    for (int r = 0; r < h; ++r) {
#pragma GCC unroll 8
        for (int k = 0; k < n; ++k) {
            const T factor = a[r * n + k];
#pragma GCC unroll 8
            for (int j = 0; j < w; ++j) c[r * length + j] += factor * b[k * w + j];
        }
    }
}

/// The sum for rows of 3 or 6 numbers, which are 4 or 8 in c.
template <int Height, int Inner, int Width, class T>
static HWY_INLINE void add_vector_product(const T* HWY_RESTRICT a, const T* HWY_RESTRICT b,
                                          T* HWY_RESTRICT c) {
    constexpr int length = Width == 3 ? 4 : 8;
    const hn::CappedTag<T, length> d;
    constexpr int lanes = int(hn::MaxLanes(d)), vectors = length / lanes;
    using Vector = hn::Vec<decltype(d)>;
    const auto used = hn::FirstN(d, std::size_t(Width - (vectors - 1) * lanes));
    Vector right[Inner][vectors];
#pragma GCC unroll 8
    for (int k = 0; k < Inner; ++k) {
#pragma GCC unroll 4
        for (int v = 0; v < vectors; ++v) {
            const T* const from = b + k * Width + v * lanes;
            right[k][v] = v + 1 < vectors ? hn::LoadU(d, from) : hn::MaskedLoad(used, d, from);
        }
    }
#pragma GCC unroll 3
    for (int r = 0; r < Height; ++r) {
#pragma GCC unroll 4
        for (int v = 0; v < vectors; ++v) {
            T* const to = c + r * length + v * lanes;
            Vector sum = hn::LoadU(d, to);
#pragma GCC unroll 8
            for (int k = 0; k < Inner; ++k) {
                sum = hn::MulAdd(hn::Set(d, a[r * Inner + k]), right[k][v], sum);
            }
            hn::StoreU(sum, d, to);
        }
    }
}

/// Fetches what the next blocks of A meet in B: without it, each of them would wait for memory
/// where the order of the unknowns has little structure.
template <class T>
static HWY_INLINE void prefetch_rows(const ProductRow<T>& row, Offset k) {
    constexpr Offset values_ahead = 3, columns_ahead = 6, offsets_ahead = 12, line = 64;
    const BsrView<T>&a = row.a, &b = row.b;
    if (k + offsets_ahead >= a.blocks) return;
    const Index* const rows = a.column_indices + k;
    hwy::Prefetch(b.row_offsets + rows[offsets_ahead]);
    hwy::Prefetch(b.column_indices + b.row_offsets[rows[columns_ahead]]);
    const Offset last = b.row_offsets[rows[values_ahead] + 1], size = b.height * b.width;
    Offset first = b.row_offsets[rows[values_ahead]];
    while (first < last && b.column_indices[first] < row.least) ++first;
    for (Offset e = first * size; e < last * size; e += line / Offset(sizeof(T))) {
        hwy::Prefetch(b.values + e);
    }
}

/// Adds the terms of a row.
template <int Height, int Inner, int Width, class T>
static void add_terms(const ProductRow<T>& row) {
    const BsrView<T>&a = row.a, &b = row.b;
    const int left_size = a.height * a.width, right_size = b.height * b.width,
              size = a.height * row_length(b.width);
    for (Offset k = a.row_offsets[row.row]; k < a.row_offsets[row.row + 1]; ++k) {
        prefetch_rows(row, k);
        const T* const left = a.values + k * left_size;
        const Index inner = a.column_indices[k];
        for (Offset t = b.row_offsets[inner]; t < b.row_offsets[inner + 1]; ++t) {
            const Index column = b.column_indices[t];
            const Offset to = row.position[column] - row.first;
            if (to < 0 || column < row.least) continue;
            const T* const right = b.values + t * right_size;
            if constexpr (Height > 0 && Inner > 0 && has_vectors(Width)) {
                add_vector_product<Height, Inner, Width>(left, right, row.sums + to * size);
            } else {
                add_block_product<Height, Inner, Width>(a.height, a.width, b.width, left, right,
                                                        row.sums + to * size);
            }
        }
    }
}

/// f(Constant<N>()) for the block sizes 1, 2, 3 and 6; 0 for others.
template <int N>
struct Constant {
    static constexpr int value = N;
};
template <class F>
static void with_size(int size, F&& f) {
    if (size == 1) return f(Constant<1>());
    if (size == 2) return f(Constant<2>());
    if (size == 3) return f(Constant<3>());
    if (size == 6) return f(Constant<6>());
    f(Constant<0>());
}

template <class T>
static void (*choose_terms(int height, int inner, int width))(const ProductRow<T>&) {
    void (*chosen)(const ProductRow<T>&) = nullptr;
    with_size(height, [&](auto h) {
        with_size(inner, [&](auto n) {
            with_size(width, [&](auto w) { chosen = &add_terms<h.value, n.value, w.value, T>; });
        });
    });
    return chosen;
}

}  // namespace tessera::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>
#include <vector>

#include "base/parallel.hpp"
#include "sparse/bsr/kernels.hpp"

namespace tessera::cpu {

template <class T>
void sum_products(const Context& context, const BsrView<T>& a, const BsrView<T>& b,
                  const BsrView<T>& c, T* values, bool upper) {
    constexpr std::size_t numbers_of_line = 64 / sizeof(T);
    struct alignas(64) Line {  // Vectors of sums never cross cache lines.
        T numbers[numbers_of_line];
    };
    const auto choose = TESSERA_SIMD(context, choose_terms<T>);
    const auto add = choose(a.height, a.width, b.width);
    const int width = c.width, length = TESSERA_SIMD(context, row_length)(width);
    const Offset parts = std::clamp<Offset>(a.block_rows / 64, 1, 16 * context.threads());
    parallel_tasks(context.threads(), parts, [&](Offset part) {
        std::vector<Offset> position(std::size_t(b.block_columns), -1);
        std::vector<Line> lines;
        const Offset last = a.block_rows * (part + 1) / parts;
        for (Offset i = a.block_rows * part / parts; i < last; ++i) {
            if (i % 64 == 0) check_time();
            const Offset first = c.row_offsets[i], rows = (c.row_offsets[i + 1] - first) * c.height;
            for (Offset k = first; k < c.row_offsets[i + 1]; ++k) {
                position[std::size_t(c.column_indices[k])] = k;
            }
            lines.assign(std::size_t(rows * length) / numbers_of_line + 1, Line{});
            T* const sums = lines[0].numbers;
            add({a, b, Index(i), position.data(), first, upper ? Index(i) : 0, sums});
            T* const to = values + first * c.block_size();
            for (Offset r = 0; r < rows; ++r) std::copy_n(sums + r * length, width, to + r * width);
        }
    });
}

template decltype(sum_products<float>) sum_products<float>;
template decltype(sum_products<double>) sum_products<double>;

}  // namespace tessera::cpu
#endif  // HWY_ONCE
