#pragma once

#include "tessera/detail/bsr.hpp"

namespace tessera {

// Products of sparse matrices: CSR, and blocks (BsrView, BsrMatrix, to_bsr and to_csr of
// tessera/detail/bsr.hpp). All arrays are in the memory of `context`; results have sorted, unique
// columns. Patterns follow from the patterns of the factors alone, so that entries whose terms are
// zero or cancel are stored. The order of sums depends on patterns alone: results are bitwise equal
// for all runs and numbers of threads.
//
// All throw InvalidArgument if the sizes of the factors do not agree, for null arrays and for
// arrays in other memory. As in all functions but validate, offsets and columns are not checked.
//
// Work space of a product with B, besides the result: on the CPU 8 bytes per column of B and
// thread, and 4 per entry of the pattern while that is made; on a GPU 68 or 260 bytes per row, and
// up to 512 per column of B where a row of the product has more than 380 entries. On a GPU the
// columns of a row of n entries are sorted in n^2 steps. For blocks, rows, columns and entries of
// the pattern are those of blocks.

/// C = A B, A of m x n, B of n x p. |C - A B| <= gamma_k |A| |B| for entries of k terms, at most as
/// many as the row of A has entries. Blocks until the work is complete.
template <class T>
TESSERA_API CsrMatrix<T> multiply(const Context& context, const CsrView<T>& a, const CsrView<T>& b);
/// The values of C = A B for other values of A and B: `product` is that of matrices with their
/// patterns, of which only the sizes are compared; terms of entries that it lacks are left out.
/// Bitwise as multiply. On a GPU it neither blocks nor allocates.
template <class T>
TESSERA_API void update_product(const Context& context, const CsrView<T>& a, const CsrView<T>& b,
                                CsrMatrix<T>& product);
/// Where at least one factor is a CsrMatrix.
template <class A, class B, class T>
requires(detail::has_owner<A, B>) void update_product(const Context& context, const A& a,
                                                      const B& b, CsrMatrix<T>& product) {
    update_product(context, detail::view_of(a), detail::view_of(b), product);
}

/// C = P^T (A P), P of n x m, A any matrix of n x n. Symmetry is not assumed: all entries of C are
/// computed, and for a symmetric A it is symmetric up to rounding. |C - P^T A P| <= gamma_(k+l)
/// |P|^T |A| |P| for entries of l terms, sums of entries of A P of at most k terms. P^T and A P are
/// stored until C is complete. The host makes P^T (see transpose). Blocks until the work is
/// complete.
///
/// If only values change, keep both and update them by `update_product`:
///     pt = transpose(context, p), ap = multiply(context, a, p), c = multiply(context, pt, ap)
template <class T>
TESSERA_API CsrMatrix<T> triple_product(const Context& context, const CsrView<T>& p,
                                        const CsrView<T>& a);
TESSERA_ACCEPT_OWNERS(triple_product)

/// Products of matrices of blocks: the blocks of A must be as wide as those of B are high. An entry
/// is the sum of (number of products of blocks) x (width of the blocks of A) terms.
template <class T>
TESSERA_API BsrMatrix<T> multiply(const Context& context, const BsrView<T>& a, const BsrView<T>& b);
template <class T>
TESSERA_API void update_product(const Context& context, const BsrView<T>& a, const BsrView<T>& b,
                                BsrMatrix<T>& product);
/// On a GPU efficient only if the columns of P have few blocks (see transpose of blocks).
template <class T>
TESSERA_API BsrMatrix<T> triple_product(const Context& context, const BsrView<T>& p,
                                        const BsrView<T>& a);

}  // namespace tessera
