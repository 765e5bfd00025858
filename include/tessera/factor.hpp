#pragma once

#include "tessera/batched.hpp"

/// Factorisations of many small dense matrices with pivoting; solves with the factors.
///
/// Matrices are column-major (Layout::row_major is rejected). Everything else as in batched.hpp.
namespace tessera::batched {

/// Pivot strategy. Among candidates of equal magnitude the one with the smallest original row is
/// chosen, then the one with the smallest original column.
enum class Pivoting : std::uint8_t {
    fixed,          ///< Static: pivots in the given order, no exchanges.
    partial,        ///< ldu: the largest element of the next column; rows are exchanged.
    bunch_kaufman,  ///< ldlt: searches two columns at most; |L| is not bounded.
    rook,           ///< ldlt: an element that is the largest of its row and column.
    full            ///< The largest remaining element (ldlt: Bunch-Parlett; llt: diagonal element).
};
/// "static", "partial", "bunch_kaufman", "rook", "full".
TESSERA_API const char* to_string(Pivoting pivoting);

/// Contents of the array f of a factored matrix; p and q are its permutations: row p[s] and column
/// q[s] of A are in position s.
enum class Factorisation : std::uint8_t {
    ldu,  ///< A(p, q) = L D U: L strictly below the diagonal, D on it, U strictly above; the
          ///< diagonals of L and U are 1.
    llt,  ///< A(p, p) = L L^T: L on and below the diagonal, 0 above.
    ldlt  ///< A(p, p) = L D L^T: unit lower triangular L below the diagonal, D on it. The
          ///< off-diagonal element of a 2 x 2 pivot is at (s, s + 1), where L(s + 1, s) = 0;
          ///< everything else above the diagonal is 0.
};

/// The permutations of the matrices of a batch, I = Index or const Index: those of matrix b are the
/// n_b values from rows + start_b and columns + start_b on, start_b = offsets[b], or b stride
/// without offsets. A null array is the identity.
template <class I>
struct PermutationsView {
    I* rows = nullptr;     ///< rows[start_b + s] is the original row in position s.
    I* columns = nullptr;  ///< columns[start_b + s]: the original column; only ldu with full
                           ///< pivoting exchanges columns.
    Offset stride = 0;
    const Offset* offsets = nullptr;

    constexpr Offset start(Offset b) const { return offsets != nullptr ? offsets[b] : b * stride; }
    template <class U>
    requires(std::is_same_v<U, const I>) operator PermutationsView<U>() const {
        return {rows, columns, stride, offsets};
    }
};

/// Options of a factorisation.
template <class T>
struct FactorOptions {
    /// Static pivot perturbation threshold tau: a smaller pivot becomes tau with its sign (0 counts
    /// as positive); of a 2 x 2 pivot the eigenvalues are raised so; llt replaces every pivot below
    /// tau, negative ones too. 0, negative, or NaN: no threshold.
    T threshold = T(0);
    /// If not null, tau of matrix b is thresholds[b threshold_stride] instead, in the memory of the
    /// Context, read when the factorisation runs; a stride of 0 gives one tau for all.
    const T* thresholds = nullptr;
    Offset threshold_stride = 0;
    /// Every tau is multiplied by max |a_ij| of its matrix (of the lower triangle for llt, ldlt).
    bool relative = false;
};

/// Optional outputs, one per matrix: arrays of `count` in the memory of the Context. A 2 x 2 pivot
/// counts as its two eigenvalues.
template <class T>
struct FactorResults {
    /// 0, or k: the pivot in position k (1-based) is the first that is 0 without a threshold (for
    /// llt: not positive), or not finite. A pivot whose reciprocal is not finite counts as 0.
    Index* info = nullptr;
    Index* perturbed = nullptr;   ///< Number of pivots that the threshold changed.
    T* perturbation = nullptr;    ///< Largest magnitude of these changes; 0 without one.
    T* smallest_pivot = nullptr;  ///< min |d| (llt: min d) before the threshold; infinity if n = 0.
    Index* inertia = nullptr;  ///< 3 count: positive, negative, zero pivots, after the threshold.
    T* log_determinant = nullptr;       ///< log |det A| from the pivots after the threshold.
    Index* determinant_sign = nullptr;  ///< 1, -1, or 0 where a pivot is 0.
};

/// A_b(p, q) = L D U with static (fixed), partial or full pivoting; q is the identity except for
/// full. `a` and `f` have equal counts and sizes; they are the same arrays (in place) or do not
/// overlap. The permutations are written to the arrays given; those that the pivoting exchanges
/// (rows for partial, both for full) are required.
///
/// Elimination continues after a pivot of 0: its column of L and row of U become 0, so that with
/// full pivoting the factors of a singular matrix are as accurate as any. If a pivot is not finite,
/// f and the logarithm are NaN, the smallest pivot is 0, the perturbation infinite, the sign 0, all
/// pivots count as 0, and the permutations are unspecified permutations.
///
/// With a perturbation delta of the pivots (results.perturbation), |A(p, q) - L D U| stays below
/// n eps |L| |D| |U| + delta I, to first order. |L| is at most 1 with partial and full pivoting,
/// |U| with full. Throws InvalidArgument on a pivoting that is not one of these.
/// Source: Thuerck, Two-level pivoting for block incomplete LDL^T factorisations on GPUs; Higham,
/// Accuracy and Stability of Numerical Algorithms, chapter 9.
template <class T>
TESSERA_API void ldu(const Context& context, Pivoting pivoting, const ConstBatch<T>& a,
                     const BatchView<T>& f, const PermutationsView<Index>& permutations,
                     const FactorResults<std::type_identity_t<T>>& results = {},
                     const FactorOptions<std::type_identity_t<T>>& options = {},
                     const Plan* plan = nullptr);

/// A_b(p, p) = L L^T of symmetric positive (semi)definite matrices with static (fixed) or full
/// (diagonal) pivoting; only the lower triangle of A is read. As ldu, except that a pivot that is
/// not positive is skipped and the factors are meaningless then (a relative threshold of n eps
/// factors semidefinite matrices); |A(p, p) - L L^T| stays below n eps |L| |L|^T + delta I.
template <class T>
TESSERA_API void llt(const Context& context, Pivoting pivoting, const ConstBatch<T>& a,
                     const BatchView<T>& f, const PermutationsView<Index>& permutations,
                     const FactorResults<std::type_identity_t<T>>& results = {},
                     const FactorOptions<std::type_identity_t<T>>& options = {},
                     const Plan* plan = nullptr);

/// A_b(p, p) = L D L^T of symmetric matrices, D of 1 x 1 and 2 x 2 pivots, with static (fixed),
/// Bunch-Kaufman, rook or full pivoting; only the lower triangle of A is read. Static pivoting
/// uses E = A(s..s+1, s..s+1) for a 2 x 2 pivot where |e_11| < alpha max |column| and
/// ||E^-1|| |e_11| < 1, alpha = (1 + sqrt 17) / 8. |L| is at most 2.78 with rook and full pivoting.
/// Everything else as in ldu; |A(p, p) - L D L^T| stays below n eps |L| |D| |L|^T plus the
/// perturbations, 2 x 2 ones at most delta in the 2-norm each.
/// Source: Higham, Accuracy and Stability of Numerical Algorithms, chapter 11; Thuerck as above.
template <class T>
TESSERA_API void ldlt(const Context& context, Pivoting pivoting, const ConstBatch<T>& a,
                      const BatchView<T>& f, const PermutationsView<Index>& permutations,
                      const FactorResults<std::type_identity_t<T>>& results = {},
                      const FactorOptions<std::type_identity_t<T>>& options = {},
                      const Plan* plan = nullptr);

/// x_b = op(A_b)^-1 b_b for all vectors, from the factors of A_b: op(A) is A, or its transpose,
/// which differ for ldu only. `f` and `permutations` are those of the factorisation. `b` and `x`
/// have equal numbers of vectors; they are the same arrays (in place) or do not overlap. A pivot of
/// 0 gives elements that are not finite. The computed x solves (op(A) + E) x = b, where |E| is
/// below 3 n eps P^T |L| |D| |U| Q^T.
template <class T>
TESSERA_API void solve(const Context& context, Factorisation factorisation, Transpose transpose,
                       const ConstBatch<T>& f, const PermutationsView<const Index>& permutations,
                       const ConstVectors<T>& b, const VectorsView<T>& x,
                       const Plan* plan = nullptr);

/// X_b = A_b^-1 from the factors of A_b: exactly symmetric for llt and ldlt. `f` and `x` have equal
/// counts and sizes; they are the same arrays (in place) or do not overlap. A pivot of 0 gives
/// elements that are not finite.
template <class T>
TESSERA_API void inverse_from_factors(const Context& context, Factorisation factorisation,
                                      const ConstBatch<T>& f,
                                      const PermutationsView<const Index>& permutations,
                                      const BatchView<T>& x, const Plan* plan = nullptr);

/// Replaces D by |D| in the factors of ldlt: 1 x 1 pivots become positive, 2 x 2 ones get the
/// absolute values of their eigenvalues. solve and inverse_from_factors are then positive definite,
/// as MINRES requires of a preconditioner.
template <class T>
TESSERA_API void take_absolute_pivots(const Context& context, const BatchView<T>& f,
                                      const Plan* plan = nullptr);

}  // namespace tessera::batched
