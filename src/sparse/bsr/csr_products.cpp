#include <utility>

#include "sparse/bsr/checks.hpp"
#include "sparse/bsr/kernels.hpp"
#include "tessera/products.hpp"

// Products of CSR matrices are those of blocks of 1 x 1: both have the same arrays.

namespace tessera {

namespace {

template <class T>
BsrView<T> checked_blocks(const Context& context, const char* who, const CsrView<T>& matrix) {
    check_matrix(who, matrix);
    check_memory(context, who, matrix);
    return {matrix.rows,           matrix.columns, 1, 1, matrix.nonzeros, matrix.row_offsets,
            matrix.column_indices, matrix.values};
}

/// Takes over the arrays.
template <class T>
CsrMatrix<T> to_entries(const Context& context, BsrMatrix<T> blocks) {
    const BsrView<T> view = blocks.view();
    CsrMatrix<T> matrix(context, view.block_rows, view.block_columns, 0);
    matrix.row_offsets() = std::move(blocks.row_offsets());
    matrix.column_indices() = std::move(blocks.column_indices());
    matrix.values() = std::move(blocks.values());
    return matrix;
}

}  // namespace

template <class T>
CsrMatrix<T> multiply(const Context& context, const CsrView<T>& a, const CsrView<T>& b) {
    return to_entries(context, multiply(context, checked_blocks(context, "multiply", a),
                                        checked_blocks(context, "multiply", b)));
}

template <class T>
void update_product(const Context& context, const CsrView<T>& a, const CsrView<T>& b,
                    CsrMatrix<T>& product) {
    const char* const who = "update_product";
    const BsrView<T> left = checked_blocks(context, who, a),
                     right = checked_blocks(context, who, b),
                     result = checked_blocks(context, who, std::as_const(product).view());
    bsr::check_factors(who, "A", left, "B", right);
    bsr::check_result(who, left, right, result);
    if (result.blocks == 0) return;
    TESSERA_RUN(sum_products<T>, context, left, right, result, product.values().data(), false);
}

template <class T>
CsrMatrix<T> triple_product(const Context& context, const CsrView<T>& p, const CsrView<T>& a) {
    const char* const who = "triple_product";
    bsr::check_triple(who, checked_blocks(context, who, p), checked_blocks(context, who, a));
    const CsrMatrix<T> transposed = transpose(context, p), product = multiply(context, a, p);
    return multiply(context, transposed.view(), product.view());
}

#define TESSERA_INSTANTIATE(T)                                                            \
    template CsrMatrix<T> multiply(const Context&, const CsrView<T>&, const CsrView<T>&); \
    template void update_product(const Context&, const CsrView<T>&, const CsrView<T>&,    \
                                 CsrMatrix<T>&);                                          \
    template CsrMatrix<T> triple_product(const Context&, const CsrView<T>&, const CsrView<T>&);
TESSERA_INSTANTIATE(float)
TESSERA_INSTANTIATE(double)

}  // namespace tessera
