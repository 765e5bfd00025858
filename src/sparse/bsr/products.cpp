#include "tessera/products.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/zeros.hpp"
#include "sparse/bsr/checks.hpp"
#include "sparse/bsr/kernels.hpp"
#include "sparse/bsr/rows.hpp"
#include "tessera/detail/symmetric_product.hpp"

namespace tessera {

namespace {

template <class T>
BsrMatrix<T> pattern_of(const Context& context, const BsrView<T>& a, const BsrView<T>& b) {
    return TESSERA_RUN(product_pattern<T>, context, a, b);
}

/// Allocates the values of the product if there are none.
template <class T>
void sum(const Context& context, const BsrView<T>& a, const BsrView<T>& b, BsrMatrix<T>& product,
         bool upper = false) {
    if (product.blocks() == 0) return;
    if (product.entries() == 0) product.values() = Buffer<T>(context, product.view().entries());
    TESSERA_RUN(sum_products<T>, context, a, b, std::as_const(product).view(),
                product.values().data(), upper);
}

/// Copies the upper triangle to the lower one. Waits.
template <class T>
void mirror(const Context& context, const char* who, BsrMatrix<T>& matrix) {
    const Offset rows = matrix.view().block_rows;
    const int sharers = context.on_gpu() ? std::min(8, matrix.view().block_size()) : 1,
              lanes = sharers * sharing_threads(context, rows * sharers, 8);
    Buffer<int> fault = zeros<int>(context, 1);
    for_each_index(
        context, rows * lanes,
        bsr::MirrorBlocks<T>{lanes, sharers, matrix.view(), matrix.values().data(), fault.data()});
    require(copy_to_host(context, fault)[0] == 0, who,
            ": the pattern of the matrix is not symmetric: each stored entry, zeros too, needs a "
            "mirror image");
}

/// The values of A P.
template <class T>
void sum_first(const Context& context, const BsrView<T>& a, TripleProduct<T>& products,
               const std::function<void()>& release) {
    sum(context, a, std::as_const(products.p).view(), products.product);
    if (release) release();
}

/// The values of P^T and P^T (A P).
template <class T>
void sum_second(const Context& context, TripleProduct<T>& products) {
    transpose_values(context, std::as_const(products.p).view(), products.transposed);
    products.p.values() = {};
    sum(context, std::as_const(products.transposed.matrix).view(),
        std::as_const(products.product).view(), products.result, true);
    mirror(context, "symmetric_triple_product", products.result);
}

/// The multiplications of A B, estimated from a sample of the blocks of A where these are many.
/// Waits.
template <class T>
double operations(const Context& context, const BsrView<T>& a, const BsrView<T>& b) {
    constexpr Offset max_samples = 1 << 17, max_places = 4096;
    const Offset samples = std::min(a.blocks, max_samples);
    Buffer<Offset> counts(context, std::min(samples, max_places));
    for_each_index(context, counts.size(),
                   bsr::CountProducts{counts.size(), samples, a.blocks, a.column_indices,
                                      b.row_offsets, counts.data()});
    double products = 0;
    for (const Offset count : copy_to_host(context, counts)) products += double(count);
    return products * double(a.blocks) / double(std::max<Offset>(samples, 1)) * a.block_size() *
           b.width;
}

}  // namespace

template <class T>
BsrMatrix<T> multiply(const Context& context, const BsrView<T>& a, const BsrView<T>& b) {
    bsr::check_blocks(context, "multiply", a);
    bsr::check_blocks(context, "multiply", b);
    bsr::check_factors("multiply", "A", a, "B", b);
    BsrMatrix<T> product = pattern_of(context, a, b);
    sum(context, a, b, product);
    return product;
}

template <class T>
BsrMatrix<T> pattern_of_product(const Context& context, const BsrView<T>& a, const BsrView<T>& b) {
    bsr::check_blocks(context, "pattern_of_product", a);
    bsr::check_blocks(context, "pattern_of_product", b);
    bsr::check_factors("pattern_of_product", "A", a, "B", b);
    return pattern_of(context, a, b);
}

template <class T>
BsrMatrix<T> multiply_symmetric(const Context& context, const BsrView<T>& a, const BsrView<T>& b) {
    const char* const who = "multiply_symmetric";
    bsr::check_blocks(context, who, a);
    bsr::check_blocks(context, who, b);
    bsr::check_factors(who, "A", a, "B", b);
    require(a.height == b.width && a.block_rows <= b.block_columns, who,
            ": the product must have square blocks and no more rows than columns");
    BsrMatrix<T> product = pattern_of(context, a, b);
    sum(context, a, b, product, true);
    mirror(context, who, product);
    return product;
}

template <class T>
void update_symmetric_product(const Context& context, const BsrView<T>& a, const BsrView<T>& b,
                              BsrMatrix<T>& product) {
    const char* const who = "update_symmetric_product";
    const BsrView<T> result = std::as_const(product).view();
    bsr::check_blocks(context, who, a);
    bsr::check_blocks(context, who, b);
    bsr::check_factors(who, "A", a, "B", b);
    bsr::check_result(who, a, b, result);
    sum(context, a, b, product, true);
    mirror(context, who, product);
}

template <class T>
void update_product(const Context& context, const BsrView<T>& a, const BsrView<T>& b,
                    BsrMatrix<T>& product) {
    const char* const who = "update_product";
    const BsrView<T> result = std::as_const(product).view();
    for (const BsrView<T>* matrix : {&a, &b, &result}) bsr::check_blocks(context, who, *matrix);
    bsr::check_factors(who, "A", a, "B", b);
    bsr::check_result(who, a, b, result);
    sum(context, a, b, product);
}

template <class T>
BsrMatrix<T> triple_product(const Context& context, const BsrView<T>& p, const BsrView<T>& a) {
    bsr::check_blocks(context, "triple_product", p);
    bsr::check_blocks(context, "triple_product", a);
    bsr::check_triple("triple_product", p, a);
    const BsrMatrix<T> transposed = transpose(context, p), product = multiply(context, a, p);
    return multiply(context, transposed.view(), product.view());
}

template <class T>
std::optional<TripleProduct<T>> bounded_triple_product(const Context& context, BsrMatrix<T> given_p,
                                                       const BsrView<T>& a, double max_operations,
                                                       const std::function<void()>& release) {
    TripleProduct<T> products;
    products.p = std::move(given_p);
    const BsrView<T> p = std::as_const(products.p).view();
    bsr::check_triple("symmetric_triple_product", p, a);
    const auto exceeds = [&](const BsrView<T>& left, const BsrView<T>& right) {
        return operations(context, left, right) > max_operations;
    };
    const bool is_bounded = std::isfinite(max_operations);
    if (is_bounded && exceeds(a, p)) return std::nullopt;
    products.product = pattern_of(context, a, p);
    sum_first(context, a, products, release);
    products.transposed = transposed_pattern(context, p);
    const BsrView<T> left = std::as_const(products.transposed.matrix).view(),
                     right = std::as_const(products.product).view();
    if (is_bounded && exceeds(left, right)) return std::nullopt;
    products.result = pattern_of(context, left, right);
    sum_second(context, products);
    return products;
}

template <class T>
TripleProduct<T> symmetric_triple_product(const Context& context, BsrMatrix<T> p,
                                          const BsrView<T>& a) {
    return *bounded_triple_product(context, std::move(p), a,
                                   std::numeric_limits<double>::infinity());
}

template <class T>
void update(const Context& context, const BsrView<T>& a, TripleProduct<T>& products,
            const std::function<void()>& release) {
    bsr::check_triple("update", std::as_const(products.p).view(), a);
    sum_first(context, a, products, release);
    sum_second(context, products);
}

#define TESSERA_INSTANTIATE(T)                                                                   \
    template BsrMatrix<T> multiply(const Context&, const BsrView<T>&, const BsrView<T>&);        \
    template BsrMatrix<T> pattern_of_product(const Context&, const BsrView<T>&,                  \
                                             const BsrView<T>&);                                 \
    template BsrMatrix<T> multiply_symmetric(const Context&, const BsrView<T>&,                  \
                                             const BsrView<T>&);                                 \
    template void update_symmetric_product(const Context&, const BsrView<T>&, const BsrView<T>&, \
                                           BsrMatrix<T>&);                                       \
    template void update_product(const Context&, const BsrView<T>&, const BsrView<T>&,           \
                                 BsrMatrix<T>&);                                                 \
    template BsrMatrix<T> triple_product(const Context&, const BsrView<T>&, const BsrView<T>&);  \
    template TripleProduct<T> symmetric_triple_product(const Context&, BsrMatrix<T>,             \
                                                       const BsrView<T>&);                       \
    template std::optional<TripleProduct<T>> bounded_triple_product(                             \
        const Context&, BsrMatrix<T>, const BsrView<T>&, double, const std::function<void()>&);  \
    template void update(const Context&, const BsrView<T>&, TripleProduct<T>&,                   \
                         const std::function<void()>&);
TESSERA_INSTANTIATE(float)
TESSERA_INSTANTIATE(double)

}  // namespace tessera
