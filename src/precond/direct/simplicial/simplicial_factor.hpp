#pragma once

#include <vector>

#include "precond/direct/fronts/dense_front.hpp"
#include "precond/direct/simplicial/row_plan.hpp"
#include "tessera/vector_ops.hpp"

namespace tessera::direct {

/// The factors of an arranged matrix in host memory, of few entries in each row, without fronts:
/// B = L U, U with a diagonal of ones, or B = U^T D U. Of a nonsymmetric matrix the diagonal blocks
/// of its block triangular form are factored, one after the other.
template <class T>
class SimplicialFactor {
  public:
    /// Factors r_i a_ij c_j of A = `matrix`. False where that needs other means: a pivot is too
    /// small, or far from the diagonal there is too much fill.
    bool compute(const CsrView<T>& matrix, const Arrangement& arrangement, const RowPlan& plan,
                 double threshold);
    /// x = A^-1 b, or A^-T b; x may be b.
    void solve(const Arrangement& arrangement, bool transposed, Vectors<const T> b,
               Vectors<T> x) const;

    /// The row and the column of A, and the pivot, of step k; entry beside the diagonal of a pivot
    /// of two rows, k and k + 1, else 0.
    const std::vector<Index>& row() const { return row_; }
    const std::vector<Index>& column() const { return column_; }
    const std::vector<T>& diagonal() const { return diagonal_; }
    T beside(Index k) const { return beside_.empty() ? T(0) : beside_[std::size_t(k)]; }
    const PivotCounts& pivots() const { return counts_; }
    double largest_entry() const { return largest_entry_; }
    Offset entries() const {
        return Offset(upper_.values.size() + lower_.values.size() + diagonal_.size());
    }
    Offset bytes() const;

  private:
    /// Rows of entries at other steps.
    struct Rows {
        std::vector<Offset> offsets;
        std::vector<Index> ids;
        std::vector<T> values;

        void clear(Index rows) {
            offsets.clear();
            offsets.reserve(std::size_t(rows) + 1);
            offsets.push_back(0);
            ids.clear();
            values.clear();
        }
        void add(Index id, T value) {
            ids.push_back(id);
            values.push_back(value);
        }
        void end_row() { offsets.push_back(Offset(ids.size())); }
        T minus_dot(T sum, Index k, const T* x) const {
            for (Offset p = offsets[k]; p < offsets[k + 1]; ++p) sum -= values[p] * x[ids[p]];
            return sum;
        }
        void subtract(T factor, Index k, T* x) const {
            for (Offset p = offsets[k]; p < offsets[k + 1]; ++p) x[ids[p]] -= values[p] * factor;
        }
    };
    class Ldlt;
    class Lu;
    bool is_accepted(Index rows);
    void solve_steps(bool transposed, T* y) const;
    void divide_by_d(T* y) const;

    bool symmetric_ = false;
    std::vector<Index> row_, column_;
    std::vector<Index> block_begin_;  ///< First steps of the diagonal blocks, and their end.
    Rows upper_, lower_;
    Rows couplings_;  ///< Entries right of the diagonal blocks.
    std::vector<T> diagonal_, beside_;
    PivotCounts counts_;
    double largest_entry_ = 0;
};

}  // namespace tessera::direct
