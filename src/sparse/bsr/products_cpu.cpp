#include <algorithm>
#include <type_traits>

#include "base/gather_rows.hpp"
#include "sparse/bsr/kernels.hpp"

namespace tessera::cpu {

namespace {

/// c += a b for blocks of height x inner and inner x width, row-major; a constant 0 stands for a
/// size that is only known when the program runs.
template <int Height, int Inner, int Width, class T>
void add_block_product(int height, int inner, int width, const T* __restrict a,
                       const T* __restrict b, T* __restrict c) {
    const int h = Height > 0 ? Height : height, n = Inner > 0 ? Inner : inner,
              w = Width > 0 ? Width : width;
#pragma GCC unroll 8
    for (int r = 0; r < h; ++r) {
#pragma GCC unroll 8
        for (int k = 0; k < n; ++k) {
            const T factor = a[r * n + k];
#pragma GCC unroll 8
            for (int j = 0; j < w; ++j) c[r * w + j] += factor * b[k * w + j];
        }
    }
}

/// f(std::integral_constant<int, N>()) for the block sizes 1, 2, 3 and 6; 0 for others.
template <class F>
void with_size(int size, F&& f) {
    if (size == 1) return f(std::integral_constant<int, 1>());
    if (size == 2) return f(std::integral_constant<int, 2>());
    if (size == 3) return f(std::integral_constant<int, 3>());
    if (size == 6) return f(std::integral_constant<int, 6>());
    f(std::integral_constant<int, 0>());
}

template <class T>
using AddBlockProduct = void (*)(int, int, int, const T*, const T*, T*);

template <class T>
AddBlockProduct<T> choose_block_product(int height, int inner, int width) {
    AddBlockProduct<T> chosen = nullptr;
    with_size(height, [&](auto h) {
        with_size(inner, [&](auto n) {
            with_size(width, [&](auto w) { chosen = &add_block_product<h(), n(), w(), T>; });
        });
    });
    return chosen;
}

}  // namespace

template <class T>
BsrMatrix<T> product_pattern(const Context& context, const BsrView<T>& a, const BsrView<T>& b) {
    // Each column once per row: marks of a part of the rows.
    const Offset parts = std::clamp<Offset>(a.block_rows / 256, 1, 4 * context.threads());
    std::vector<Offset> offsets(std::size_t(a.block_rows) + 1, 0);
    std::vector<std::vector<Index>> lists(static_cast<std::size_t>(parts));
    parallel_parts(
        context.threads(), a.block_rows, parts, [&](Offset part, Offset first, Offset last) {
            std::vector<Index> latest(std::size_t(b.block_columns), -1);
            std::vector<Index>& list = lists[std::size_t(part)];
            for (Offset i = first; i < last; ++i) {
                const std::size_t before = list.size();
                for (Offset k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) {
                    const Index row = a.column_indices[k];
                    for (Offset t = b.row_offsets[row]; t < b.row_offsets[row + 1]; ++t) {
                        const Index column = b.column_indices[t];
                        if (latest[std::size_t(column)] == Index(i)) continue;
                        latest[std::size_t(column)] = Index(i);
                        list.push_back(column);
                    }
                }
                std::sort(list.begin() + std::ptrdiff_t(before), list.end());
                offsets[std::size_t(i) + 1] = Offset(list.size() - before);
            }
        });
    std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());
    BsrMatrix<T> product(context, a.block_rows, b.block_columns, a.height, b.width, offsets.back());
    std::ranges::copy(offsets, product.row_offsets().data());
    parallel_parts(context.threads(), a.block_rows, parts, [&](Offset part, Offset first, Offset) {
        std::ranges::copy(lists[std::size_t(part)],
                          product.column_indices().data() + offsets[std::size_t(first)]);
    });
    return product;
}

template <class T>
void sum_products(const Context& context, const BsrView<T>& a, const BsrView<T>& b,
                  const BsrView<T>& c, T* values, bool upper) {
    const int size = c.block_size();
    const Offset parts = std::clamp<Offset>(a.block_rows / 64, 1, 16 * context.threads());
    const auto run = [&](auto add) {
        parallel_tasks(context.threads(), parts, [&](Offset part) {
            std::vector<Offset> position(std::size_t(b.block_columns), -1);
            const Offset last = a.block_rows * (part + 1) / parts;
            for (Offset i = a.block_rows * part / parts; i < last; ++i) {
                for (Offset k = c.row_offsets[i]; k < c.row_offsets[i + 1]; ++k) {
                    position[std::size_t(c.column_indices[k])] = k;
                    std::fill_n(values + k * size, size, T(0));
                }
                for (Offset k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) {
                    const Index row = a.column_indices[k];
                    const T* const left = a.values + k * a.block_size();
                    for (Offset t = b.row_offsets[row]; t < b.row_offsets[row + 1]; ++t) {
                        const Index column = b.column_indices[t];
                        const Offset to = position[std::size_t(column)];
                        if (to < c.row_offsets[i] || (upper && column < i)) continue;
                        add(left, b.values + t * b.block_size(), values + to * size);
                    }
                }
            }
        });
    };
    if (a.block_size() * b.block_size() == 1) {
        return run([](const T* left, const T* right, T* to) { *to += *left * *right; });
    }
    const auto add = choose_block_product<T>(a.height, a.width, b.width);
    run([&](const T* left, const T* right, T* to) {
        add(a.height, a.width, b.width, left, right, to);
    });
}

#define TESSERA_INSTANTIATE(T)                                                                   \
    template BsrMatrix<T> product_pattern(const Context&, const BsrView<T>&, const BsrView<T>&); \
    template void sum_products(const Context&, const BsrView<T>&, const BsrView<T>&,             \
                               const BsrView<T>&, T*, bool);
TESSERA_INSTANTIATE(float)
TESSERA_INSTANTIATE(double)

}  // namespace tessera::cpu
