#pragma once

#include "tessera/batched.hpp"

/// Solves of many small dense systems with the matrices themselves, of which no factors are kept;
/// everything else as in batched.hpp.
namespace tessera::batched {

/// What is known about the matrices of a batch. Of a matrix that is not general one triangle is
/// read: the lower one of a column-major, the upper one of a row-major matrix.
enum class Structure : std::uint8_t {
    general,            ///< Nothing.
    symmetric,          ///< They are symmetric.
    positive_definite,  ///< They are symmetric and positive definite.
};

/// x_b = A_b^-1 b_b for all vectors, by elimination with partial pivoting, without pivoting
/// (positive_definite), or by LDL^T with rook pivoting (symmetric). Matrices that are not symmetric
/// are factored and solved at once, on a GPU with up to four vectors, on a CPU with up to 32 rows:
/// they and `b` are read once, and only `x` is stored. For others factors are kept in memory of the
/// Context during the call. `a` is column-major or row-major; `b` and `x` have equal numbers of
/// vectors; they are the same arrays (in place) or do not overlap.
///   info   null, or an array of `count`: 0; or k if the k-th pivot (1-based) is the first that is
///          zero, not finite (positive_definite: not positive), or without a finite reciprocal: the
///          solution is then NaN, or has elements that are not finite; or n_b + 1 if all pivots are
///          usable, but one is below n_b eps max |a_ij|: A_b is singular but for rounding, or badly
///          scaled, and the solution may be wrong in all digits (LAPACK's gesvx has this code where
///          the condition number is above 1 / eps).
/// Magnitudes that differ by less than 2^-13 of the larger count as equal in the search for pivots
/// on a GPU, and in the comparison with n_b eps max |a_ij| on both backends. The computed x solves
/// (A + E) x = b with |E| below 3 n eps P^T |L| |U| for the factors computed, at most
/// 3 n^2 eps g max |a_ij| elementwise, g = max |u_ij| / max |a_ij| (1 for positive_definite).
/// On a GPU, with more than 32 rows, |K| |K^-1| |U| stands for |U|, K the triangles of eight rows
/// of L on its diagonal. Source: Higham, Accuracy and Stability of Numerical Algorithms, chapters 9
/// to 11.
template <class T>
TESSERA_API void solve(const Context& context, const ConstBatch<T>& a, const ConstVectors<T>& b,
                       const VectorsView<T>& x, Structure structure = Structure::general,
                       Index* info = nullptr, const Plan* plan = nullptr);

/// info[b] = n_b + 1 where info[b] is 0 and the smallest pivot is below n_b eps max |a_ij|, as in
/// solve. `smallest` and `info` are those of FactorResults (factor.hpp); of matrices that are not
/// general the lower triangle is read.
template <class T>
TESSERA_API void mark_near_singular(const Context& context, const ConstBatch<T>& a,
                                    Structure structure, const T* smallest, Index* info);

}  // namespace tessera::batched
