#pragma once

#include "tessera/detail/bsr.hpp"

namespace tessera {

// Products of sparse matrices: CSR, and blocks (BsrView, BsrMatrix, to_bsr and to_csr of
// tessera/detail/bsr.hpp). All arrays are in the memory of `context`; results have sorted, unique
// columns. Patterns are those of the factors, so that entries whose terms are zero or cancel are
// stored; they depend on no values. The order of sums depends on patterns alone: the same bits over
// runs and numbers of threads.
//
// Throw InvalidArgument, with both sizes, where those of the factors do not agree, and for missing
// arrays and those in other memory. As in all functions but validate, offsets and columns are not
// read for faults.
//
// Work space of a product with B, besides the result: on the CPU 8 bytes per column of B and
// thread, and 4 per entry of the pattern while that is made; on a GPU 4 bytes per row, and up to
// 512 per column of B where a row of the product has more than 380 entries. On a GPU the columns of
// a row of n entries are sorted in n^2 steps. For blocks, rows, columns and entries of the pattern
// are those of blocks.

/// C = A B, A of m x n, B of n x p. |C - A B| <= gamma_k |A| |B| for entries of k terms, at most as
/// many as the row of A has entries. Waits.
template <class T>
TESSERA_API CsrMatrix<T> multiply(const Context& context, const CsrView<T>& a, const CsrView<T>& b);
/// The values of C = A B for other values of A and B: `product` is that of matrices with their
/// patterns, of which only the sizes are compared; terms of entries that it lacks are left out.
/// Bitwise as multiply. On a GPU it neither waits nor allocates.
template <class T>
TESSERA_API void update_product(const Context& context, const CsrView<T>& a, const CsrView<T>& b,
                                CsrMatrix<T>& product);

/// C = P^T (A P), P of n x m, A any matrix of n x n. Nothing is taken to be symmetric: each entry
/// of C is summed by itself, and that of a symmetric A is symmetric to rounding.
/// |C - P^T A P| <= gamma_(k+l) |P|^T |A| |P| for entries of l terms, sums of entries of A P of at
/// most k terms. P^T and A P are held until C is done. Waits; the host makes P^T (see transpose).
///
/// For one C after another on the same patterns keep both, and `update_product` them:
///     pt = transpose(context, p), ap = multiply(context, a, p), c = multiply(context, pt, ap)
template <class T>
TESSERA_API CsrMatrix<T> triple_product(const Context& context, const CsrView<T>& p,
                                        const CsrView<T>& a);

/// The same of blocks: those of A are as wide as those of B are high. An entry has as many terms as
/// its products of blocks times the width of the blocks of A.
template <class T>
TESSERA_API BsrMatrix<T> multiply(const Context& context, const BsrView<T>& a, const BsrView<T>& b);
template <class T>
TESSERA_API void update_product(const Context& context, const BsrView<T>& a, const BsrView<T>& b,
                                BsrMatrix<T>& product);
/// On a GPU for columns of P of few blocks (see transpose of blocks).
template <class T>
TESSERA_API BsrMatrix<T> triple_product(const Context& context, const BsrView<T>& p,
                                        const BsrView<T>& a);

}  // namespace tessera
