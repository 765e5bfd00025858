#include <algorithm>
#include <atomic>
#include <type_traits>

#include "base/dispatch.hpp"
#include "base/gather_rows.hpp"
#include "tessera/detail/bsr.hpp"

namespace tessera {

namespace {

/// c += a b for blocks of height x inner and inner x width, row-major; a constant 0 stands for a
/// size that is only known when the program runs.
template <int Height, int Inner, int Width, class T>
void add_block_product(int height, int inner, int width, const T* a, const T* b, T* c) {
    const int h = Height > 0 ? Height : height, n = Inner > 0 ? Inner : inner,
              w = Width > 0 ? Width : width;
    for (int r = 0; r < h; ++r) {
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

template <class T>
void check_product(const BsrView<T>& a, const BsrView<T>& b) {
    require(a.block_columns == b.block_rows && a.width == b.height,
            "multiply: the block columns of A are not the block rows of B");
}

/// The pattern of A B.
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

/// The values of A B; of an upper triangle only if `upper`.
template <class T>
void sum_products(const Context& context, const BsrView<T>& a, const BsrView<T>& b,
                  BsrMatrix<T>& product, bool upper) {
    const BsrView<T> c = product.view();
    T* const values = product.values().data();
    const int size = c.block_size();
    const auto add = choose_block_product<T>(a.height, a.width, b.width);
    const Offset parts = std::clamp<Offset>(a.block_rows / 64, 1, 16 * context.threads());
    parallel_tasks(context.threads(), parts, [&](Offset part) {
        std::vector<Offset> position(std::size_t(b.block_columns));
        const Offset first = a.block_rows * part / parts, last = a.block_rows * (part + 1) / parts;
        for (Offset i = first; i < last; ++i) {
            for (Offset k = c.row_offsets[i]; k < c.row_offsets[i + 1]; ++k) {
                position[std::size_t(c.column_indices[k])] = k;
                std::fill_n(values + k * size, size, T(0));
            }
            for (Offset k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) {
                const Index row = a.column_indices[k];
                const T* const left = a.values + k * a.block_size();
                for (Offset t = b.row_offsets[row]; t < b.row_offsets[row + 1]; ++t) {
                    const Index column = b.column_indices[t];
                    if (upper && column < i) continue;
                    add(a.height, a.width, b.width, left, b.values + t * b.block_size(),
                        values + position[std::size_t(column)] * size);
                }
            }
        }
    });
}

/// Copies the blocks above the diagonal, and the upper triangles of those on it, to below.
template <class T>
void mirror(const Context& context, BsrMatrix<T>& matrix) {
    const BsrView<T> c = matrix.view();
    T* const values = matrix.values().data();
    const int n = c.height;
    const auto copy_block = [&](Offset from, Offset to, bool diagonal) {
        for (int r = 0; r < n; ++r) {
            for (int j = 0; j < (diagonal ? r : n); ++j) {
                values[to * n * n + r * n + j] = values[from * n * n + j * n + r];
            }
        }
    };
    std::atomic<Offset> below{0}, above{0};
    parallel_ranges(
        context.threads(), c.block_rows,
        [&](Offset first, Offset last) {
            for (Offset i = first; i < last; ++i) {
                for (Offset k = c.row_offsets[i]; k < c.row_offsets[i + 1]; ++k) {
                    const Index j = c.column_indices[k];
                    if (j > i) {
                        above += c.row_offsets[i + 1] - k;
                        break;
                    }
                    below += j < i;
                    const Index* const row = c.column_indices + c.row_offsets[j];
                    const Index* const end = c.column_indices + c.row_offsets[j + 1];
                    const Index* const found = std::lower_bound(row, end, Index(i));
                    require(found != end && *found == i,
                            "triple_product: the matrix has no symmetric pattern");
                    copy_block(found - c.column_indices, k, j == i);
                }
            }
        },
        256);
    require(below == above, "triple_product: the matrix has no symmetric pattern");
}

}  // namespace

template <class T>
BsrMatrix<T> multiply(const Context& context, const BsrView<T>& a, const BsrView<T>& b) {
    check_product(a, b);
    BsrMatrix<T> product = product_pattern(context, a, b);
    sum_products(context, a, b, product, false);
    return product;
}

template <class T>
void update_product(const Context& context, const BsrView<T>& a, const BsrView<T>& b,
                    BsrMatrix<T>& product) {
    check_product(a, b);
    const BsrView<T> c = product.view();
    require(c.block_rows == a.block_rows && c.block_columns == b.block_columns &&
                c.height == a.height && c.width == b.width,
            "update_product: the product is that of matrices of other sizes");
    sum_products(context, a, b, product, false);
}

template <class T>
TripleProduct<T> triple_product(const Context& context, const BsrView<T>& p, const BsrView<T>& a) {
    check_product(a, p);
    TripleProduct<T> products;
    products.transposed = transpose(context, p);
    products.product = product_pattern(context, a, p);
    products.result = product_pattern(context, products.transposed.view(), products.product.view());
    update(context, p, a, products);
    return products;
}

template <class T>
void update(const Context& context, const BsrView<T>& p, const BsrView<T>& a,
            TripleProduct<T>& products) {
    check_product(a, p);
    sum_products(context, a, p, products.product, false);
    sum_products(context, products.transposed.view(), products.product.view(), products.result,
                 true);
    mirror(context, products.result);
}

#define TESSERA_INSTANTIATE(T)                                                            \
    template BsrMatrix<T> multiply(const Context&, const BsrView<T>&, const BsrView<T>&); \
    template void update_product(const Context&, const BsrView<T>&, const BsrView<T>&,    \
                                 BsrMatrix<T>&);                                          \
    template TripleProduct<T> triple_product(const Context&, const BsrView<T>&,           \
                                             const BsrView<T>&);                          \
    template void update(const Context&, const BsrView<T>&, const BsrView<T>&, TripleProduct<T>&);
TESSERA_INSTANTIATE(float)
TESSERA_INSTANTIATE(double)

}  // namespace tessera
