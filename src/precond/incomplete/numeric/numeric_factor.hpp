#pragma once

#include <array>

#include "precond/incomplete/numeric/kernels.hpp"
#include "precond/incomplete/symbolic/entries.hpp"
#include "precond/incomplete/symbolic/symbolic_factor.hpp"
#include "tessera/block_ldlt.hpp"

namespace tessera::incomplete {

/// The two triangles of a factor. Blocks of the upper one are stored as their transposes.
enum Triangle : std::uint8_t { lower, upper };

/// Scalings r and c: the factor is that of r_i a_ij c_j. One array stands for both.
template <class T>
struct Scaling {
    std::span<const T> rows, columns;
    template <class Array>
    Scaling(const Array& both) : rows(both), columns(both) {}  // NOLINT: implicit
    Scaling(std::span<const T> r, std::span<const T> c) : rows(r), columns(c) {}
};

/// Numeric factorisation A ~ (I + L) F (I + U) of a matrix in a grid, by levels or by sweeps, on
/// the pattern of the blocks (i, j), i > j, of L and of U^T, with (I + L) = I + V of the lower, (I
/// + U) = (I + V)^T of the upper triangle:
///   V_ij = (A_ij - sum_k V_ik W_jk^T) F_j^-1                        (V of the lower triangle)
///   W_ij = A_ji^T - sum_k W_ik V_jk^T, and at last V_ij = W_ij F_j^-T     (of the upper one)
///   F_i = A_ii - sum_k V_ik W_ik^T, factored as L D U.
/// For a symmetric matrix both triangles are the same array V, W_ij = A_ij - sum_k V_ik W_jk^T is
/// one beside it, and F_i is factored as L D L^T. Memory is allocated once, by the constructor: the
/// level factor replaces the blocks of A in place, sweeps keep them beside it.
template <class T>
class NumericFactor {
  public:
    NumericFactor() = default;
    NumericFactor(const Context& context, SymbolicFactor symbolic, batched::Pivoting pivoting,
                  bool by_sweeps);

    /// Loads the values of `matrix`, scaled, and finds the largest of them; before each
    /// factorisation, but sweeps that follow each other. Waits.
    void load(const Context& context, const Scaling<T>& scaling, const CsrView<T>& matrix);
    /// Sets the pivot threshold to epsilon times the largest value.
    void set_threshold(const Context& context, double epsilon);

    /// Exact factorisation on the pattern, level by level.
    void factor_by_levels(const Context& context);
    /// Takes a factor in blocks of one row, in the memory of the host: L, U^T and F. Waits.
    void take_factor(const Context& context, std::span<const T> l, std::span<const T> u_transposed,
                     std::span<const T> f, const PivotSummary& pivots);
    /// Factors the diagonal blocks of A, with V = 0.
    void factor_diagonal(const Context& context);
    /// Fixed-point iteration: the first sweep starts from V = W = 0, others from the previous one.
    void start_sweeps();
    void sweep(const Context& context);
    /// Marks the current factor as the best one; the sweeps that follow do not overwrite it.
    void mark_best() { best_ = current_; }
    /// Makes the best factor current.
    void restore_best() { current_ = best_; }
    /// V of the upper triangle from its W, after the last sweep.
    void scale_upper(const Context& context);
    /// Whether v(upper) is V, not W.
    bool upper_is_scaled() const { return symmetric() || upper_is_scaled_; }
    /// Replaces D by |D| in F and F^-1, until the next factorisation; symmetric matrices only.
    void make_positive_definite(const Context& context);

    /// Pivots of the last factorisation: the number raised, and the smallest one before. Waits.
    PivotSummary pivots(const Context& context) const;
    /// The block rows whose smallest pivot is below `threshold` times the unit, or NaN; blocks of
    /// padding only are excluded. Waits.
    std::vector<Index> bad_block_rows(const Context& context, double threshold) const;

    const SymbolicFactor& symbolic() const { return symbolic_; }
    const Grid& grid() const { return symbolic_.grid; }
    Index levels() const { return symbolic_.pattern.levels(); }
    const PatternView<T>& view() const { return view_; }
    bool symmetric() const { return view_.symmetric; }
    const Buffer<T>& v(Triangle triangle = lower) const {
        return in_triangle(sets_[current_].v, triangle);
    }
    /// X_i = F_i^-1, or the transposes.
    const Buffer<T>& inverses(bool transposed = false) const {
        return in_triangle(sets_[current_].inverses, transposed ? upper : lower);
    }
    /// F_i(p, q) = L D L^T or L D U as batched::Factorisation has them, p the permutation of the
    /// rows and q that of the columns.
    const Buffer<T>& factors() const { return sets_[current_].factors; }
    const Buffer<Index>& permutations() const { return sets_[current_].permutations[0]; }
    const Buffer<Index>& column_permutations() const {
        return in_triangle(sets_[current_].permutations, upper);
    }

  private:
    /// One array for each triangle; the second one is empty where the matrix is symmetric.
    template <class Array>
    using Triangles = std::array<Array, 2>;
    template <class Array>
    const Array& in_triangle(const Triangles<Array>& both, Triangle triangle) const {
        return both[symmetric() ? lower : triangle];
    }
    template <class Array>
    Array& in_triangle(Triangles<Array>& both, Triangle triangle) const {
        return both[symmetric() ? lower : triangle];
    }
    /// V and F. A level factor has one set, sweeps have three: the last one, the next one, the
    /// best.
    struct FactorSet {
        Triangles<Buffer<T>> v;  ///< The upper one is W until scale_upper.
        Buffer<T> factors;
        Triangles<Buffer<T>> inverses;          ///< X, and X^T.
        Triangles<Buffer<Index>> permutations;  ///< The rows and the columns.
    };
    FactorSet make_set(const Context& context) const;
    /// Where the blocks of A are loaded to: in the factor, or beside it.
    MatrixBlocks<T> matrix_blocks();
    /// Zeroes V, and W, of the first set.
    void start_from_zero(const Context& context);
    /// `w`, `w_out`: W of a symmetric matrix.
    void factor_range(const Context& context, LevelStart start, LevelStart end,
                      const FactorSet& from, const T* w, FactorSet& to, T* w_out);
    void factor_diagonals(const Context& context, Index first, Index last, FactorSet& to);
    /// X^T of all X of the current set.
    void transpose_inverses(const Context& context);
    LevelFactor<T> all_blocks(FactorSet& set, T* w);

    SymbolicFactor symbolic_;
    batched::Pivoting pivoting_ = batched::Pivoting::full;
    PatternView<T> view_;
    std::array<Buffer<T>, 3> matrix_;  ///< Blocks of A for sweeps: lower, upper, diagonal.
    std::array<FactorSet, 3> sets_;
    std::array<Buffer<T>, 2> w_;  ///< W of a symmetric matrix.
    int current_ = 0, best_ = 0, current_w_ = 0;
    bool first_sweep_ = true, upper_is_scaled_ = false;
    T largest_entry_ = T(0);  ///< max |a_ij| of the scaled matrix.
    Buffer<T> thresholds_;
    Buffer<Index> perturbed_;
    Buffer<T> smallest_;
    Buffer<T> partial_blocks_;  ///< Sums over pieces of split lists.
};

}  // namespace tessera::incomplete
