#pragma once

#include "base/dispatch.hpp"
#include "precond/incomplete/symbolic/pattern_view.hpp"

namespace tessera::incomplete {

/// Arguments of the kernel for batched levels of a symmetric matrix: V, W, F with its permutations,
/// F^-1, thresholds and results of all block rows. W and F hold the blocks of A before.
template <class T>
struct LevelFactor {
    const LevelStart* levels = nullptr;  ///< levels + 1, in device memory.
    T* v = nullptr;
    T* w = nullptr;
    T* factors = nullptr;
    Index* permutations = nullptr;
    T* inverses = nullptr;
    const T* thresholds = nullptr;
    Index* perturbed = nullptr;
    T* smallest = nullptr;
};

/// Arrays of the blocks of a triangle, for schur_blocks.
template <class T>
struct TriangleArrays {
    const T* from = nullptr;  ///< The blocks A_ij; null: there is no such triangle.
    const T* v = nullptr;
    const T* w = nullptr;
    const T* multipliers = nullptr;  ///< X_j; not read without v_out.
    T* v_out = nullptr;              ///< Null: not written.
    T* w_out = nullptr;              ///< Null: not written.
};

/// The kernels of the factorisation. Blocks are k x k, column-major, one after the other. Ranges of
/// block rows and of blocks are first .. last - 1. Sums run in the order of their lists, so
/// bits do not depend on threads or on how a range is split. None waits or allocates.
///
/// schur_diagonals: B_i = A_ii - sum_k V_ik W_ik^T over the blocks of row i, for a symmetric matrix
///   made symmetric by the mean with its transpose, for the block rows of the range. `from` has the
///   blocks A_ii, of a symmetric matrix their lower triangles; it may be `b`.
/// schur_blocks: W_ij = A_ij - sum_k V_ik W_jk^T over the updates of the block, and V_ij = W_ij
///   X_j, for the blocks of the range in two triangles. Arrays that are read and written may be the
///   same, as the updates of a level's blocks lie outside the level.
/// scale_blocks: B_ij = B_ij X_j^T for all blocks.
TESSERA_BACKENDS(template <class T>
                 void schur_diagonals(const Context& context, const PatternView<T>& a, Index first,
                                      Index last, const T* from, const T* v, const T* w, T* b);
                 template <class T>
                 void schur_blocks(const Context& context, const PatternView<T>& a, Offset first,
                                   Offset last, const TriangleArrays<T>& lower,
                                   const TriangleArrays<T>& upper);
                 template <class T>
                 void scale_blocks(const Context& context, const PatternView<T>& a,
                                   const T* multipliers, T* blocks);)

namespace cuda {
/// Factors the levels first .. last - 1 by one thread block, with complete pivoting; none may have
/// a list that is split. Bitwise equal to schur_diagonals, factor_blocks,
/// batched::inverse_from_factors and schur_blocks level by level.
template <class T>
void factor_levels(const Context& context, const PatternView<T>& a, const LevelFactor<T>& factor,
                   Index first, Index last);
/// LDL^T with complete pivoting of the blocks first .. last - 1 of factor.factors, of k rows, in
/// place, with their permutations and results.
template <class T>
void factor_blocks(const Context& context, Index k, const LevelFactor<T>& factor, Index first,
                   Index last);
}  // namespace cuda

}  // namespace tessera::incomplete
