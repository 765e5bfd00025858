#pragma once

#include <limits>
#include <span>

#include "tessera/csr.hpp"

namespace tessera::block_ldlt {

/// The products begin .. end - 1 of the list of an item.
struct SumPiece {
    Offset item, begin, end;
};

/// Sums over lists that are cut, on a GPU: of products of blocks, or of blocks and vectors.
template <class T>
struct LongSums {
    Offset limit = std::numeric_limits<Offset>::max();  ///< Longer lists are cut.
    const Offset* items = nullptr;                      ///< Those with such lists, ascending,
    Index count = 0;                                    ///< and how many.
    const Index* first_piece = nullptr;                 ///< count + 1.
    const SumPiece* pieces = nullptr;
    Index piece_count = 0;
    T* partial = nullptr;  ///< A block for each piece; of products with vectors k elements.
};

/// The lists of a BlockPattern and the permuted matrix in the memory of a Context.
template <class T>
struct PatternView {
    Index k = 1;
    Index block_rows = 0;
    Offset blocks = 0;
    const Offset* column_offsets = nullptr;
    const Index* rows = nullptr;
    const Index* columns = nullptr;
    const Offset* row_offsets = nullptr;
    const Index* row_blocks = nullptr;
    const Offset* triple_offsets = nullptr;
    const Index* left = nullptr;
    const Index* right = nullptr;
    const Offset* entry_offsets = nullptr;
    const std::uint16_t* places = nullptr;
    const T* values = nullptr;
    LongSums<T> long_rows, long_columns;  ///< Of the blocks of block rows and block columns.
    LongSums<T> long_blocks;              ///< Of the products of blocks off the diagonal.
};

/// What a warp of a triangular solve does: a block row (block column, in a transposed one) from the
/// places begin .. end - 1 of its list; or, where that is long, pieces of the list one by one, and
/// then the row from the sums of its pieces.
struct SolveTask {
    Index row;
    Index first_piece;
    Index pieces;  ///< Of the row; 0: it is not cut; -1: the task is the piece first_piece.
    Offset begin, end;
};

/// The tasks of both solves in an order in which each follows what it needs; null where no row is
/// cut: all rows in their order.
template <class T>
struct SolveTasks {
    const SolveTask* lower = nullptr;
    const SolveTask* upper = nullptr;
    Index lower_pieces = 0, upper_pieces = 0;
    T* partial = nullptr;  ///< k elements for each piece.
};

/// Parts that a search for a largest element is cut into.
inline constexpr int magnitude_parts = 1024;

/// Of all diagonal blocks.
struct PivotSummary {
    double smallest;   ///< Infinity of none.
    Offset perturbed;  ///< Raised pivots.
};

/// The kernels of the preconditioner. Blocks are k x k, column-major, one after the other; vectors
/// have k block_rows elements. Ranges of block rows and of blocks are first .. last - 1. Every sum
/// runs in an order that its list fixes, so bits do not depend on threads or on how a range is cut.
/// None waits or allocates.
///
/// schur_diagonals: B_i = A_ii - sum_k V_ik W_ik^T over the blocks of row i, made symmetric by the
///   mean with its transpose, for the block rows of the range.
/// schur_blocks: W_ij = A_ij - sum_k V_ik W_jk^T over the triples, and V_ij = W_ij X_j with the
///   inverses X, for the blocks of the range. `v` and `w` are read, `v_out` and `w_out` written;
///   they may be the same, as the triples of a level's blocks lie outside the level.
/// lower_product: y_i = b_i + alpha sum_j V_ij x_j, upper_product: y_j = b_j + alpha sum_i
///   V_ij^T x_i, for the block rows of the range; y may be b. With alpha = -1 and x = y = b, over
///   ascending (descending) levels, these are the triangular solves.
/// solve_by_levels: y = (I + V)^-T X (I + V)^-1 x, exactly; level l has the block rows from
///   levels[l], in host memory. x and `middle`, another such vector, are overwritten, and so are
///   the two numbers of `started` and what `tasks` has for sums.
/// diagonal_product: y_i = X_i x_i for all block rows; no overlap.
/// factor_product: y_i = P^T L D L^T P x_i from what batched::ldlt wrote; y may be x.
/// matrix_product: y = A x with the permuted matrix; no overlap.
/// gather_values: values_e = scale_row scale_column matrix[source_e], 1 where source is -1.
/// check_sources: *fault = 1 where the column of a source is not that of its row and column slots,
///   or the source is in another row; else as it was.
/// largest_magnitude: *largest = max |x_e|, 0 of none; NaN do not count. `partial`: magnitude_parts
///   elements.
/// largest_in_diagonals: largest_i = max |a| over the entries of the diagonal block i, 0 of none.
/// row_norms: y_s = sum |a| over the row of slot s of the whole matrix.
/// set_thresholds: threshold_i = epsilon u, u = of_block_i, or where that is 0 or of_block null,
///   *size, or where that is 0, 1.
/// summarise_pivots: the number of raised pivots and the smallest one (NaN do not count).
/// gather: x_s = scale_r r_r for the row r of slot s, 0 in padding; scatter: z_r = scale_r x_s.
#define TESSERA_BLOCK_LDLT_KERNELS                                                                 \
    template <class T>                                                                             \
    void schur_diagonals(const Context& context, const PatternView<T>& a, Index first, Index last, \
                         const T* v, const T* w, T* b);                                            \
    template <class T>                                                                             \
    void schur_blocks(const Context& context, const PatternView<T>& a, Offset first, Offset last,  \
                      const T* v, const T* w, const T* inverses, T* v_out, T* w_out);              \
    template <class T>                                                                             \
    void lower_product(const Context& context, const PatternView<T>& a, Index first, Index last,   \
                       const T* v, T alpha, const T* x, const T* b, T* y);                         \
    template <class T>                                                                             \
    void upper_product(const Context& context, const PatternView<T>& a, Index first, Index last,   \
                       const T* v, T alpha, const T* x, const T* b, T* y);                         \
    template <class T>                                                                             \
    void solve_by_levels(const Context& context, const PatternView<T>& a,                          \
                         std::span<const Index> levels, const SolveTasks<T>& tasks, const T* v,    \
                         const T* inverses, T* x, T* middle, T* y, unsigned* started);             \
    template <class T>                                                                             \
    void diagonal_product(const Context& context, const PatternView<T>& a, const T* inverses,      \
                          const T* x, T* y);                                                       \
    template <class T>                                                                             \
    void factor_product(const Context& context, const PatternView<T>& a, const T* factors,         \
                        const Index* permutations, const T* x, T* y);                              \
    template <class T>                                                                             \
    void matrix_product(const Context& context, const PatternView<T>& a, const T* x, T* y);        \
    template <class T>                                                                             \
    void gather_values(const Context& context, Offset count, const Offset* source,                 \
                       const Index* row_slots, const Index* column_slots, const Index* slots,      \
                       const T* scale, const T* matrix, T* values);                                \
    template <class T>                                                                             \
    void check_sources(const Context& context, Offset count, const Offset* source,                 \
                       const Index* row_slots, const Index* column_slots, const Index* slots,      \
                       const CsrView<T>& matrix, int* fault);                                      \
    template <class T>                                                                             \
    void largest_magnitude(const Context& context, Offset count, const T* x, T* partial,           \
                           T* largest);                                                            \
    template <class T>                                                                             \
    void largest_in_diagonals(const Context& context, const PatternView<T>& a, T* largest);        \
    template <class T>                                                                             \
    void row_norms(const Context& context, const PatternView<T>& a, T* y);                         \
    template <class T>                                                                             \
    void set_thresholds(const Context& context, Index count, double epsilon, const T* size,        \
                        const T* of_block, T* thresholds);                                         \
    template <class T>                                                                             \
    void summarise_pivots(const Context& context, Index count, const Index* perturbed,             \
                          const T* smallest, PivotSummary* summary);                               \
    template <class T>                                                                             \
    void gather(const Context& context, Offset count, const Index* slots, const T* scale,          \
                const T* r, T* x);                                                                 \
    template <class T>                                                                             \
    void scatter(const Context& context, Offset count, const Index* slots, const T* scale,         \
                 const T* x, T* z);

// On the backend of the Context.
TESSERA_BLOCK_LDLT_KERNELS

namespace cpu {
TESSERA_BLOCK_LDLT_KERNELS
}  // namespace cpu

namespace cuda {
TESSERA_BLOCK_LDLT_KERNELS
}  // namespace cuda
#undef TESSERA_BLOCK_LDLT_KERNELS

}  // namespace tessera::block_ldlt
