#pragma once

#include <array>

#include "precond/block_ldlt/numeric/kernels.hpp"
#include "precond/block_ldlt/symbolic/block_pattern.hpp"
#include "precond/block_ldlt/symbolic/level_groups.hpp"
#include "tessera/block_ldlt.hpp"

namespace tessera::block_ldlt {

/// The factor (I + V) F (I + V)^T of one matrix in a grid, and all that computes it. Memory is
/// taken once; nothing below allocates afterwards.
template <class T>
class BlockFactor {
  public:
    BlockFactor() = default;
    /// `matrix` in host memory, the lists are made there. Throws OutOfMemory where `context` has
    /// not the bytes for it.
    BlockFactor(const Context& context, Grid grid, BlockPattern pattern, const CsrView<T>& matrix,
                batched::Pivoting pivoting, BlockLdltMethod method);

    /// Whether a symmetric matrix has the pattern of the lists. Waits.
    bool has_pattern_of(const Context& context, const CsrView<T>& matrix);
    /// The values of `matrix`, each times scale_row scale_column; both in the memory of the
    /// Context.
    void load(const Context& context, std::span<const T> scale, const CsrView<T>& matrix);
    /// The pivots' lower bound becomes epsilon times the unit.
    void set_threshold(const Context& context, double epsilon, EpsilonUnit unit);

    /// The factor level by level.
    void factor_by_levels(const Context& context);
    /// V = 0 and the factors of the diagonal blocks of A.
    void factor_diagonal(const Context& context);
    /// From V = W = 0 the first sweep, and one more from the last.
    void start_sweeps();
    void sweep(const Context& context);
    /// Marks the current factor as the best so far; the sweeps that follow leave it be.
    void keep() { kept_ = current_; }
    /// Goes back to the factor that was kept.
    void take_kept() { current_ = kept_; }

    /// ||(M - A) w|| / ||A w|| for random w, infinity where it is not finite. Waits.
    double reconstruction_error(const Context& context);
    /// Makes D = |D| in what solve applies; to be undone by the next factorisation only.
    void take_absolute(const Context& context);

    /// z = S P^T M^-1 P S r; `sweeps` 0: exact triangular solves.
    void solve(const Context& context, std::span<const T> scale, int sweeps, const T* r,
               T* z) const;

    const Grid& grid() const { return grid_; }
    Index levels() const { return Index(level_offsets_.size()) - 1; }
    Offset blocks() const { return view_.blocks; }
    Offset triples() const { return triples_; }
    Offset bytes() const { return bytes_; }
    /// Pivots that were raised, and the smallest one before, of the last factorisation. Waits.
    PivotSummary pivots(const Context& context) const;
    /// The block rows of `first`, the grid of the same blocks in another order, whose smallest
    /// pivot is below `threshold` times the largest entry, or not a number; ascending. Waits.
    std::vector<Index> bad_block_rows(const Context& context, double threshold,
                                      const Grid& first) const;

    const PatternView<T>& view() const { return view_; }
    const Buffer<T>& v() const { return sets_[std::size_t(current_)].v; }
    const Buffer<T>& inverses() const { return sets_[std::size_t(current_)].inverses; }
    const Buffer<T>& factors() const { return sets_[std::size_t(current_)].factors; }
    const Buffer<Index>& permutations() const { return sets_[std::size_t(current_)].permutations; }

  private:
    /// V and what belongs to F. A level factor has one set, sweeps three: the last one, the next
    /// one, and the best.
    struct Set {
        Buffer<T> v, factors, inverses;
        Buffer<Index> permutations;
    };
    void cut_long_lists(const Context& context, const BlockPattern& pattern);
    void find_spans(const Context& context, const BlockPattern& pattern);
    void factor_blocks(const Context& context, Index first, Index last, Set& set);
    void factor_level(const Context& context, Index level);
    /// x = (I + V)^-1 x, or (I + V)^-T x, by `sweeps` - 1 iterations.
    void iterate(const Context& context, bool upper, int sweeps, const Set& set, T* x) const;

    Grid grid_;
    batched::Pivoting pivoting_ = batched::Pivoting::full;
    std::vector<Index> level_offsets_;
    std::vector<Offset> column_offsets_host_;
    Offset nonzeros_ = 0, triples_ = 0, bytes_ = 0;
    PatternView<T> view_;
    Buffer<Offset> column_offsets_, row_offsets_, triple_offsets_, entry_offsets_, source_;
    Buffer<Index> rows_, columns_, row_blocks_, left_, right_, row_slots_, column_slots_, slots_;
    Buffer<std::uint16_t> places_;
    Buffer<T> values_, thresholds_, largest_of_block_;
    std::array<Set, 3> sets_;
    std::array<Buffer<T>, 2> w_;
    int current_ = 0, kept_ = 0, current_w_ = 0;
    bool first_sweep_ = true;
    Buffer<Index> perturbed_;
    Buffer<T> smallest_;
    mutable std::array<Buffer<T>, 4> vectors_;
    mutable Buffer<unsigned> started_;
    /// Of the solves on a GPU.
    Buffer<SolveTask> lower_tasks_, upper_tasks_;
    Buffer<T> partial_sums_;
    SolveTasks<T> tasks_;
    /// Of the factorisation on a GPU.
    struct CutSumsThere {
        Buffer<Offset> items;
        Buffer<Index> first_piece;
        Buffer<SumPiece> pieces;
    };
    CutSumsThere cut_rows_, cut_columns_, cut_blocks_;
    Buffer<T> partial_blocks_, partial_columns_;
    std::vector<LevelSpan> spans_;
    Buffer<LevelStart> level_starts_;
    Buffer<T> sums_;
    /// The largest entry of the matrix and its 1-norm, once it was asked for; parts of a search.
    Buffer<T> sizes_, partial_;
    bool has_norm1_ = false;
    mutable Buffer<PivotSummary> pivots_;
    Buffer<int> fault_;
};

}  // namespace tessera::block_ldlt
