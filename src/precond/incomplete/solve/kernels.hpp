#pragma once

#include "base/dispatch.hpp"
#include "precond/incomplete/symbolic/pattern_view.hpp"

namespace tessera::incomplete {

/// X_i of all block rows, and X_i^T: the CPU reads the former, a GPU the latter.
template <class T>
struct Inverses {
    const T* plain = nullptr;
    const T* transposed = nullptr;
};

/// The kernels that apply a factor. Vectors have k block_rows elements. Sums are in fixed orders;
/// none waits or allocates.
///
/// triangular_product: y_i = b_i + alpha sum_j V_ij x_j or, `upper`, y_j = b_j + alpha sum_i
///   V_ij^T x_i, for the block rows first .. last - 1; y may be b. With alpha = -1 and x = y = b,
///   over ascending (descending) levels, these are the triangular solves.
/// diagonal_product: y_i = X_i x_i for all block rows; no overlap.
/// factor_product: y_i = F_i x_i for all block rows from the results of batched::ldlt, or of
///   batched::ldu where the matrix is not symmetric; no overlap.
TESSERA_BACKENDS(
    template <class T> void triangular_product(const Context& context, const PatternView<T>& a,
                                               bool upper, Index first, Index last, const T* v,
                                               T alpha, const T* x, const T* b, T* y);
    template <class T> void diagonal_product(const Context& context, const PatternView<T>& a,
                                             const Inverses<T>& inverses, const T* x, T* y);
    template <class T>
    void factor_product(const Context& context, const PatternView<T>& a, const T* factors,
                        const Index* rows, const Index* columns, const T* x, T* y);)

/// The task list of a triangular solve; a task follows those that it depends on. A null pointer: no
/// row is split, and the rows are solved one after the other in their order.
template <class T>
struct SolveTasks {
    const SolveTask* list = nullptr;
    Index pieces = 0;
    T* partial = nullptr;                ///< k elements per piece.
    unsigned* started_blocks = nullptr;  ///< A counter of this solve, of thread blocks or warps.
};

namespace cuda {
/// Before solve_rows: marks the `count` elements of the result of each of two solves, which may be
/// one, and `partials` partial sums as not computed; zeroes two counters.
template <class T>
void reset_solve(const Context& context, Offset count, T* first, T* second, Offset partials,
                 T* partial, unsigned* started_blocks);
/// Exact triangular solve: y = (I + V)^-1 b or, `upper`, y = (I + V)^-T b, for blocks of 8 rows and
/// more (I + V)^-T X b with the blocks X^T of `transposes`; no overlap.
template <class T>
void solve_rows(const Context& context, const PatternView<T>& a, bool upper,
                const SolveTasks<T>& tasks, const T* v, const T* transposes, const T* b, T* y);
}  // namespace cuda

}  // namespace tessera::incomplete
