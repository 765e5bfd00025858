#pragma once

#include <algorithm>
#include <cmath>

#include "base/check_time.hpp"
#include "precond/direct/simplicial/simplicial_factor.hpp"

namespace tessera::direct {

/// U^T D U row by row of U^T: a triangular solve with the rows before, of the pattern that the
/// elimination tree gives. Pivots are not searched: where an element of U is larger than the
/// threshold allows, and not all pivots are positive, it fails. Both rows of a pair are one pivot
/// where their determinant does not cancel.
/// Source: T. A. Davis, "Algorithm 849: a concise sparse Cholesky factorization package", ACM
/// Trans. Math. Softw. 31 (2005), pp. 587-591.
template <class T>
class SimplicialFactor<T>::Ldlt {
  public:
    Ldlt(SimplicialFactor& factor, const CsrView<T>& matrix, const std::vector<double>& scaling,
         const RowPlan& plan, double threshold)
        : f_(factor),
          a_(matrix),
          scaling_(scaling),
          plan_(plan),
          bound_(1 / threshold),
          y_(std::size_t(matrix.rows), T(0)),
          seen_(y_.size(), -1),
          path_(y_.size()),
          reach_(y_.size()),
          end_(plan.offsets.begin(), plan.offsets.end() - 1) {}

    bool compute() {
        f_.upper_.offsets = plan_.offsets;
        f_.upper_.ids.resize(std::size_t(plan_.offsets.back()));
        f_.upper_.values.resize(f_.upper_.ids.size());
        f_.diagonal_.resize(y_.size());
        if (!plan_.is_first.empty()) f_.beside_.assign(y_.size(), T(0));
        for (Index k = 0; k < a_.rows; ++k) {
            if (k % 256 == 0) check_time();
            if (!eliminate(k) || (has_grown_ && f_.counts_.negative > 0)) return false;
        }
        return true;
    }

  private:
    bool is_pair(Index k) const { return k >= 0 && !plan_.is_first.empty() && plan_.is_first[k]; }

    /// Row k of B left of the diagonal, the steps that it is coupled with in reach_, from the
    /// returned one on; its diagonal entry.
    std::size_t load(Index k, T& diagonal) {
        const Index i = plan_.order[k];
        std::size_t top = reach_.size();
        seen_[k] = k;
        for (Offset p = a_.row_offsets[i]; p < a_.row_offsets[i + 1]; ++p) {
            Index j = plan_.number[a_.column_indices[p]];
            if (j > k) continue;
            const T value = T(scaling_[i] * double(a_.values[p]) * scaling_[a_.column_indices[p]]);
            f_.largest_entry_ = std::max(f_.largest_entry_, double(std::abs(value)));
            if (j == k) {
                diagonal += value;
                continue;
            }
            y_[j] += value;
            if (is_pair(j - 1)) --j;
            std::size_t length = 0;
            for (; seen_[j] != k; j = plan_.parent[j]) {
                path_[length++] = j;
                seen_[j] = k;
            }
            while (length > 0) reach_[--top] = path_[--length];
        }
        return top;
    }

    bool eliminate(Index k) {
        T diagonal = 0;
        const std::size_t top = load(k, diagonal);
        const bool ends_pair = is_pair(k - 1);
        for (std::size_t s = top; s < reach_.size(); ++s) {
            const Index j = reach_[s];
            if (ends_pair && j == k - 1) continue;
            if (is_pair(j) && f_.beside_[j] != T(0)) continue;  // With the other row.
            if (is_pair(j - 1) && f_.beside_[j - 1] != T(0)) {
                subtract_two(k, j - 1, diagonal);
            } else {
                subtract_one(k, j, diagonal);
            }
        }
        if (ends_pair && joins(k, diagonal)) return true;
        if (ends_pair) subtract_one(k, k - 1, diagonal);
        f_.diagonal_[k] = diagonal;
        if (is_pair(k)) return true;  // The next row tells what becomes of it.
        return (!ends_pair || count(k - 1)) && count(k);
    }

    /// Whether the pivot of one row is of use.
    bool count(Index k) {
        const double pivot = f_.diagonal_[k];
        if (pivot == 0 || !std::isfinite(pivot)) return false;
        ++(pivot > 0 ? f_.counts_.positive : f_.counts_.negative);
        f_.counts_.note(std::abs(pivot), k);
        return true;
    }

    void append(Index k, Index j, T value) {
        f_.upper_.ids[end_[j]] = k;
        f_.upper_.values[end_[j]++] = value;
        if (!(std::abs(double(value)) <= bound_)) has_grown_ = true;
    }
    void subtract_row(Index j, T factor) {
        const Index* const ids = f_.upper_.ids.data();
        const T* const values = f_.upper_.values.data();
        for (Offset p = plan_.offsets[j]; p < end_[j]; ++p) y_[ids[p]] -= values[p] * factor;
    }
    void subtract_one(Index k, Index j, T& diagonal) {
        const T y = std::exchange(y_[j], T(0));
        subtract_row(j, y);
        const T u = y / f_.diagonal_[j];
        diagonal -= u * y;
        append(k, j, u);
    }
    /// The pivot of rows j and j + 1.
    void subtract_two(Index k, Index j, T& diagonal) {
        const T x = std::exchange(y_[j], T(0)), y = std::exchange(y_[j + 1], T(0));
        subtract_row(j, x);
        subtract_row(j + 1, y);
        // [x y] D^-1 with entries of D relative to the one beside the diagonal.
        const T b = f_.beside_[j], a_b = f_.diagonal_[j] / b, c_b = f_.diagonal_[j + 1] / b;
        const T over_determinant = 1 / (b * (a_b * c_b - 1));
        const T u = (c_b * x - y) * over_determinant, v = (a_b * y - x) * over_determinant;
        diagonal -= u * x + v * y;
        append(k, j, u);
        append(k, j + 1, v);
    }

    /// Whether rows k - 1 and k are one pivot.
    bool joins(Index k, T diagonal) {
        const double a = f_.diagonal_[k - 1], b = y_[k - 1], c = diagonal;
        if (b == 0 || !std::isfinite(c) || !std::isfinite(b)) return false;
        const double a_b = a / b, c_b = c / b, determinant = a_b * c_b - 1;
        if (!(std::abs(determinant) >= std::max(std::abs(a_b * c_b), 1.0) / 2)) return false;
        y_[k - 1] = T(0);
        f_.beside_[k - 1] = T(b);
        f_.diagonal_[k] = diagonal;
        if (determinant < 0) {
            ++f_.counts_.positive;
            ++f_.counts_.negative;
        } else {
            (a > 0 ? f_.counts_.positive : f_.counts_.negative) += 2;
        }
        f_.counts_.note(std::abs(b) * std::abs(determinant), k - 1);
        return true;
    }

    SimplicialFactor& f_;
    const CsrView<T>& a_;
    const std::vector<double>& scaling_;
    const RowPlan& plan_;
    const double bound_;
    std::vector<T> y_;
    std::vector<Index> seen_, path_, reach_;
    std::vector<Offset> end_;  ///< The ends of the rows of U so far.
    bool has_grown_ = false;
};

}  // namespace tessera::direct
