#pragma once

#include <array>

#include "precond/block_ldlt/numeric/kernels.hpp"
#include "precond/block_ldlt/symbolic/entries.hpp"
#include "precond/block_ldlt/symbolic/symbolic_factor.hpp"
#include "tessera/block_ldlt.hpp"

namespace tessera::block_ldlt {

/// Numeric factorisation (I + V) F (I + V)^T of a matrix in a grid, by levels or by sweeps. Memory
/// is allocated once, by the constructor.
template <class T>
class NumericFactor {
  public:
    NumericFactor() = default;
    NumericFactor(const Context& context, SymbolicFactor symbolic, batched::Pivoting pivoting,
                  bool by_sweeps);

    /// Loads the values of `matrix`, each times scale_row scale_column, and finds the largest of
    /// them. Waits.
    void load(const Context& context, std::span<const T> scale, const CsrView<T>& matrix);
    /// Sets the pivot threshold to epsilon times the largest value.
    void set_threshold(const Context& context, double epsilon);

    /// Exact factorisation on the pattern, level by level.
    void factor_by_levels(const Context& context);
    /// Factors the diagonal blocks of A, with V = 0.
    void factor_diagonal(const Context& context);
    /// Fixed-point iteration: the first sweep starts from V = W = 0, others from the previous one.
    void start_sweeps();
    void sweep(const Context& context);
    /// Marks the current factor as the best one; the sweeps that follow do not overwrite it.
    void mark_best() { best_ = current_; }
    /// Makes the best factor current.
    void restore_best() { current_ = best_; }
    /// Replaces D by |D| in F and F^-1, until the next factorisation.
    void make_positive_definite(const Context& context);

    /// Pivots of the last factorisation: the number raised, and the smallest one before. Waits.
    PivotSummary pivots(const Context& context) const;
    /// The block rows whose smallest pivot is below `threshold` times the unit, or NaN; blocks of
    /// padding only are excluded. Waits.
    std::vector<Index> bad_block_rows(const Context& context, double threshold) const;

    const SymbolicFactor& symbolic() const { return symbolic_; }
    const Grid& grid() const { return symbolic_.grid; }
    Index levels() const { return symbolic_.levels(); }
    const PatternView<T>& view() const { return view_; }
    const Buffer<T>& v() const { return sets_[current_].v; }
    const Buffer<T>& inverses() const { return sets_[current_].inverses; }
    const Buffer<T>& factors() const { return sets_[current_].factors; }
    const Buffer<Index>& permutations() const { return sets_[current_].permutations; }

  private:
    /// V and F. A level factor has one set, sweeps have three: the last one, the next one, the
    /// best.
    struct FactorSet {
        Buffer<T> v, factors, inverses;
        Buffer<Index> permutations;
    };
    void factor_range(const Context& context, LevelStart start, LevelStart end,
                      const FactorSet& from, const T* w, FactorSet& to, T* w_out);

    SymbolicFactor symbolic_;
    batched::Pivoting pivoting_ = batched::Pivoting::full;
    PatternView<T> view_;
    Buffer<T> values_;
    std::array<FactorSet, 3> sets_;
    std::array<Buffer<T>, 2> w_;
    int current_ = 0, best_ = 0, current_w_ = 0;
    bool first_sweep_ = true;
    T largest_entry_ = T(0);  ///< max |a_ij| of the scaled matrix.
    Buffer<T> thresholds_;
    Buffer<Index> perturbed_;
    Buffer<T> smallest_;
    Buffer<T> partial_blocks_;  ///< Sums over pieces of split lists.
};

}  // namespace tessera::block_ldlt
