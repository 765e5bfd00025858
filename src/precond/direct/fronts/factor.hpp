#pragma once

#include <vector>

#include "precond/direct/analysis/fronts.hpp"
#include "precond/direct/fronts/arena.hpp"
#include "precond/direct/fronts/dense_front.hpp"

namespace tessera::direct {

/// The factors of one front, in arrays of an Arena.
template <class T>
struct FrontFactor {
    Index rows = 0, pivots = 0;
    T* lower = nullptr;  ///< rows x pivots: unit L below the diagonal; on it D, if symmetric.
    T* upper = nullptr;  ///< rows x pivots: U^T, with the diagonal; null if symmetric.
    T* off_diagonal = nullptr;  ///< Entries of D beside the diagonal; null if not symmetric.
    Index* row_ids = nullptr;
    Index* column_ids = nullptr;  ///< Equal to row_ids if symmetric.
};

/// The factors of an arranged matrix in host memory.
template <class T>
class Factor {
  public:
    /// Factors r_i a_ij c_j of A = `matrix`. `fronts` must outlive the object.
    void compute(const Context& cpu, const CsrView<T>& matrix, const Arrangement& arrangement,
                 const Fronts& fronts, double threshold);
    const std::vector<FrontFactor<T>>& fronts() const { return factors_; }
    /// Entries right of the diagonal blocks of the block triangular form
    /// (Fronts::coupling_columns).
    const std::vector<T>& couplings() const { return couplings_; }
    const PivotCounts& pivots() const { return counts_; }
    double largest_entry() const { return largest_entry_; }
    Offset delayed() const { return delayed_; }
    Offset entries() const { return entries_; }
    Index largest_front() const { return largest_front_; }
    Offset bytes() const;
    /// About the most bytes in use during `compute`.
    Offset peak_bytes() const { return peak_bytes_; }

  private:
    /// What a front leaves to its parent: its Schur complement and delayed rows.
    struct Contribution {
        Index rows = 0, delayed = 0;
        Index* row_ids = nullptr;  ///< The delayed rows; Fronts::below are the others.
        Index* column_ids = nullptr;
        T* values = nullptr;  ///< By columns; of a symmetric one below the diagonal and on it.
        const Arena* owner = nullptr;
        Arena::Mark before;
    };
    /// What a thread needs for the fronts of one range.
    struct Worker {
        Arena factors;        ///< The result.
        Arena contributions;  ///< A stack.
        FrontWork<T> work;
        DenseFront<T> front;
        std::vector<T> off_diagonal;
        std::vector<Index> places;
        PivotCounts counts;
        Offset delayed = 0, entries = 0;
        Index largest = 0;
    };

    void scale_values(const Context& cpu, const CsrView<T>& matrix, const Arrangement& arrangement);
    void process(Worker& worker, Index front, const Elimination<T>& how);
    void assemble(Worker& worker, Index front);
    void add_contribution(Worker& worker, Index child, Index delayed, Index first_delayed);
    void store_factor(Worker& worker, Index front, Index pivots);
    void store_contribution(Worker& worker, Index front, Index pivots);

    const Fronts* fronts_ = nullptr;
    std::vector<T> scaled_;  ///< The values of the scaled matrix.
    std::vector<FrontFactor<T>> factors_;
    std::vector<Contribution> contributions_;
    std::vector<Worker> workers_;
    std::vector<T> couplings_;
    double largest_entry_ = 0;  ///< The largest |b_kl| of the scaled matrix.
    PivotCounts counts_;
    Offset delayed_ = 0, entries_ = 0;
    Offset peak_bytes_ = 0;
    Index largest_front_ = 0;
};

}  // namespace tessera::direct
