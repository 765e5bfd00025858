#include "sparse/bsr/kernels.hpp"
#include "sparse/bsr/rows.hpp"

namespace tessera {

namespace {

template <class T>
void check_product(const BsrView<T>& a, const BsrView<T>& b) {
    require(a.block_columns == b.block_rows && a.width == b.height,
            "multiply: the block columns of A are not the block rows of B");
}

template <class T>
BsrMatrix<T> pattern_of(const Context& context, const BsrView<T>& a, const BsrView<T>& b) {
    return TESSERA_RUN(product_pattern<T>, context, a, b);
}

template <class T>
void sum(const Context& context, const BsrView<T>& a, const BsrView<T>& b, BsrMatrix<T>& product,
         bool upper = false) {
    TESSERA_RUN(sum_products<T>, context, a, b, product, upper);
}

/// Copies the upper triangle to the lower one. Waits.
template <class T>
void mirror(const Context& context, BsrMatrix<T>& matrix) {
    const int lanes = context.on_gpu() ? 64 : 1, sharers = context.on_gpu() ? 8 : 1;
    Buffer<int> fault = copy_to_buffer(context, std::vector<int>{0});
    for_each_index(
        context, Offset(matrix.view().block_rows) * lanes,
        bsr::MirrorBlocks<T>{lanes, sharers, matrix.view(), matrix.values().data(), fault.data()});
    require(copy_to_host(context, fault)[0] == 0,
            "triple_product: the matrix has no symmetric pattern");
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
    check_product(a, b);
    BsrMatrix<T> product = pattern_of(context, a, b);
    sum(context, a, b, product);
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
    sum(context, a, b, product);
}

template <class T>
TripleProduct<T> triple_product(const Context& context, const BsrView<T>& p, const BsrView<T>& a) {
    check_product(a, p);
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
    check_product(a, p);
    sum_triple(context, p, a, products);
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
