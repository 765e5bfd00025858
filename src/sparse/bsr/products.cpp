#include "tessera/products.hpp"

#include <algorithm>

#include "base/zeros.hpp"
#include "sparse/bsr/checks.hpp"
#include "sparse/bsr/kernels.hpp"
#include "sparse/bsr/rows.hpp"

namespace tessera {

namespace {

template <class T>
BsrMatrix<T> pattern_of(const Context& context, const BsrView<T>& a, const BsrView<T>& b) {
    return TESSERA_RUN(product_pattern<T>, context, a, b);
}

template <class T>
void sum(const Context& context, const BsrView<T>& a, const BsrView<T>& b, BsrMatrix<T>& product,
         bool upper = false) {
    if (product.blocks() == 0) return;
    TESSERA_RUN(sum_products<T>, context, a, b, std::as_const(product).view(),
                product.values().data(), upper);
}

/// Copies the upper triangle to the lower one. Waits.
template <class T>
void mirror(const Context& context, BsrMatrix<T>& matrix) {
    const Offset rows = matrix.view().block_rows;
    const int sharers = context.on_gpu() ? std::min(8, matrix.view().block_size()) : 1,
              lanes = sharers * sharing_threads(context, rows * sharers, 8);
    Buffer<int> fault = zeros<int>(context, 1);
    for_each_index(
        context, rows * lanes,
        bsr::MirrorBlocks<T>{lanes, sharers, matrix.view(), matrix.values().data(), fault.data()});
    require(copy_to_host(context, fault)[0] == 0,
            "symmetric_triple_product: the matrix has no symmetric pattern");
}

template <class T>
void sum_triple(const Context& context, const BsrView<T>& p, const BsrView<T>& a,
                TripleProduct<T>& products) {
    BsrMatrix<T>& product = products.product;
    if (product.entries() == 0) {
        product.values() = Buffer<T>(context, product.blocks() * product.view().block_size());
    }
    sum(context, a, p, product);
    transpose_values(context, p, products.transposed);
    sum(context, std::as_const(products.transposed.matrix).view(), std::as_const(product).view(),
        products.result, true);
    mirror(context, products.result);
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
TripleProduct<T> symmetric_triple_product(const Context& context, const BsrView<T>& p,
                                          const BsrView<T>& a) {
    bsr::check_triple("symmetric_triple_product", p, a);
    TripleProduct<T> products;
    products.product = pattern_of(context, a, p);
    products.transposed = transposed_pattern(context, p);
    products.result = pattern_of(context, std::as_const(products.transposed.matrix).view(),
                                 std::as_const(products.product).view());
    sum_triple(context, p, a, products);
    return products;
}

template <class T>
void update(const Context& context, const BsrView<T>& p, const BsrView<T>& a,
            TripleProduct<T>& products) {
    bsr::check_triple("update", p, a);
    sum_triple(context, p, a, products);
}

#define TESSERA_INSTANTIATE(T)                                                                  \
    template BsrMatrix<T> multiply(const Context&, const BsrView<T>&, const BsrView<T>&);       \
    template void update_product(const Context&, const BsrView<T>&, const BsrView<T>&,          \
                                 BsrMatrix<T>&);                                                \
    template BsrMatrix<T> triple_product(const Context&, const BsrView<T>&, const BsrView<T>&); \
    template TripleProduct<T> symmetric_triple_product(const Context&, const BsrView<T>&,       \
                                                       const BsrView<T>&);                      \
    template void update(const Context&, const BsrView<T>&, const BsrView<T>&, TripleProduct<T>&);
TESSERA_INSTANTIATE(float)
TESSERA_INSTANTIATE(double)

}  // namespace tessera
