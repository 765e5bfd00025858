#pragma once

#include <array>

#include "precond/block_ldlt/numeric/kernels.hpp"
#include "precond/block_ldlt/symbolic/entries.hpp"
#include "precond/block_ldlt/symbolic/symbolic_factor.hpp"
#include "tessera/block_ldlt.hpp"

namespace tessera::block_ldlt {

/// The values of the factor (I + V) F (I + V)^T of a matrix in a grid, and what computes them.
/// Memory is allocated once, by the constructor.
template <class T>
class NumericFactor {
  public:
    NumericFactor() = default;
    NumericFactor(const Context& context, SymbolicFactor symbolic, batched::Pivoting pivoting,
                  bool by_sweeps);

    /// The values of `matrix`, each times scale_row scale_column; both in the memory of the
    /// Context. Pivots are bounded from below in `unit`. Waits.
    void load(const Context& context, std::span<const T> scale, const CsrView<T>& matrix,
              EpsilonUnit unit);
    /// The pivots' lower bound becomes epsilon times the unit.
    void set_threshold(const Context& context, double epsilon);

    /// The factor level by level.
    void factor_by_levels(const Context& context);
    /// V = 0 and the factors of the diagonal blocks of A.
    void factor_diagonal(const Context& context);
    /// From V = W = 0 the first sweep, and one more from the last.
    void start_sweeps();
    void sweep(const Context& context);
    /// Marks the current factor as the best so far; the sweeps that follow do not overwrite it.
    void keep() { kept_ = current_; }
    /// Goes back to the factor that was kept.
    void take_kept() { current_ = kept_; }
    /// Makes D = |D| in F^-1; to be undone by the next factorisation only.
    void take_absolute(const Context& context);

    /// Pivots that were raised, and the smallest one before, of the last factorisation. Waits.
    PivotSummary pivots(const Context& context) const;
    /// The block rows whose smallest pivot is below `threshold` times the largest entry, or not a
    /// number; without blocks of padding alone. Waits.
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
    /// V and what belongs to F. A level factor has one set, sweeps three: the last one, the next
    /// one, and the best.
    struct Set {
        Buffer<T> v, factors, inverses;
        Buffer<Index> permutations;
    };
    void factor_range(const Context& context, LevelStart start, LevelStart end, const Set& from,
                      const T* w, Set& to, T* w_out);

    SymbolicFactor symbolic_;
    batched::Pivoting pivoting_ = batched::Pivoting::full;
    PatternView<T> view_;
    Buffer<T> values_;
    std::array<Set, 3> sets_;
    std::array<Buffer<T>, 2> w_;
    int current_ = 0, kept_ = 0, current_w_ = 0;
    bool first_sweep_ = true;
    /// What thresholds are multiples of, and for a unit by blocks the largest entry of each.
    T unit_ = T(0);
    Buffer<T> thresholds_, largest_of_block_;
    Buffer<Index> perturbed_;
    Buffer<T> smallest_;
    Buffer<T> partial_blocks_, partial_columns_;  ///< Sums over pieces of split lists.
};

}  // namespace tessera::block_ldlt
