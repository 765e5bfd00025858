#pragma once

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check_time.hpp"
#include "precond/direct/simplicial/simplicial_factor.hpp"

namespace tessera::direct {

/// L U row by row: a triangular solve with the rows of U before, whose pattern a search finds, then
/// a pivot in the row, that of the diagonal where the threshold allows it. Columns are known by
/// their places in the order of elimination until all have a step.
/// Sources: J. R. Gilbert, T. Peierls, "Sparse partial pivoting in time proportional to arithmetic
/// operations", SIAM J. Sci. Stat. Comput. 9 (1988), pp. 862-874; S. C. Eisenstat, J. W. H. Liu,
/// "Exploiting structural symmetry in a sparse partial pivoting code", SIAM J. Sci. Comput. 14
/// (1993), pp. 253-257 (rows are searched up to what later rows make superfluous); T. A. Davis,
/// E. Palamadai Natarajan, "Algorithm 907: KLU, a direct sparse solver for circuit simulation
/// problems", ACM Trans. Math. Softw. 37 (2010).
template <class T>
class SimplicialFactor<T>::Lu {
  public:
    Lu(SimplicialFactor& factor, const CsrView<T>& matrix, const Arrangement& arrangement,
       const RowPlan& plan, double threshold)
        : f_(factor),
          a_(matrix),
          arrangement_(arrangement),
          plan_(plan),
          threshold_(threshold),
          max_entries_(std::size_t(plan.max_entries())),
          x_(std::size_t(matrix.rows), T(0)),
          places_(x_.size()),
          steps_(x_.size()),
          reach_(x_.size()),
          stack_(x_.size()) {}

    bool compute() {
        const auto expected = std::size_t(plan_.offsets.back());
        for (Rows* const part : {&f_.upper_, &f_.lower_}) {
            part->ids.reserve(expected);
            part->values.reserve(expected);
        }
        if (f_.block_begin_.size() > 2) {
            f_.couplings_.ids.reserve(std::size_t(a_.nonzeros));
            f_.couplings_.values.reserve(std::size_t(a_.nonzeros));
        }
        f_.diagonal_.resize(x_.size());
        candidates_.reserve(x_.size());
        for (Index k = 0; k < a_.rows; ++k) steps_[k].diagonal = places_[k].row = k;
        for (std::size_t b = 0; b + 1 < f_.block_begin_.size(); ++b) {
            const Index begin = f_.block_begin_[b], end = f_.block_begin_[b + 1];
            if (end == begin + 1) {
                if (!eliminate_alone(begin)) return false;
                continue;
            }
            for (Index k = begin; k < end; ++k) {
                if (k % 256 == 0) check_time();
                if (!eliminate(k, end)) return false;
            }
        }
        // Columns of U and of the couplings are steps from here on.
        for (Index& id : f_.upper_.ids) id = places_[id].step;
        for (Index& id : f_.couplings_.ids) id = places_[id].step;
        std::vector<Index> column(x_.size());
        for (Index l = 0; l < a_.rows; ++l) column[places_[l].step] = plan_.order[l];
        f_.column_ = std::move(column);
        return true;
    }

  private:
    bool eliminate(Index k, Index block_end) {
        load(k, block_end);
        solve();
        Index pivot = -1;
        if (!choose_pivot(k, pivot)) return false;
        const T d = x_[pivot];
        f_.diagonal_[k] = d;
        f_.counts_.note(double(std::abs(d)), k);
        for (const Index l : candidates_) {
            const T value = std::exchange(x_[l], T(0));
            if (l != pivot) f_.upper_.add(l, value / d);
        }
        f_.lower_.end_row();
        f_.upper_.end_row();
        f_.couplings_.end_row();
        take_place(k, pivot);
        shorten_searches(k, pivot);
        return f_.upper_.ids.size() + f_.lower_.ids.size() <= max_entries_;
    }

    /// Row k is a diagonal block.
    bool eliminate_alone(Index k) {
        if (k % 1024 == 0) check_time();
        const Index i = f_.row_[k];
        const double scaling = arrangement_.row_scaling[i];
        double largest = f_.largest_entry_;
        T d = 0;
        for (Offset p = a_.row_offsets[i]; p < a_.row_offsets[i + 1]; ++p) {
            const Index j = a_.column_indices[p], l = plan_.number[j];
            const T value = T(scaling * double(a_.values[p]) * arrangement_.column_scaling[j]);
            largest = std::max(largest, double(std::abs(value)));
            if (l == k) {
                d += value;
            } else {
                f_.couplings_.add(l, value);
            }
        }
        f_.largest_entry_ = largest;
        const double size = std::abs(double(d));
        if (!(size > 0) || !std::isfinite(size)) return false;
        f_.diagonal_[k] = d;
        f_.counts_.note(size, k);
        f_.lower_.end_row();
        f_.upper_.end_row();
        f_.couplings_.end_row();
        places_[k].step = k;
        return true;
    }

    /// Row k of B in x_, the columns of the block that have no step yet in candidates_, and the
    /// steps that the row is coupled with in reach_, each after those that change it.
    void load(Index k, Index block_end) {
        const Index i = f_.row_[k];
        const double scaling = arrangement_.row_scaling[i];
        double largest = f_.largest_entry_;
        candidates_.clear();
        top_ = reach_.size();
        for (Offset p = a_.row_offsets[i]; p < a_.row_offsets[i + 1]; ++p) {
            const Index j = a_.column_indices[p], l = plan_.number[j];
            const T value = T(scaling * double(a_.values[p]) * arrangement_.column_scaling[j]);
            largest = std::max(largest, double(std::abs(value)));
            if (l >= block_end) {
                f_.couplings_.add(l, value);
                continue;
            }
            x_[l] += value;
            Place& place = places_[l];
            if (std::exchange(place.seen, k) == k) continue;
            if (place.step < 0) {
                candidates_.push_back(l);
            } else {
                search(k, place.step);
            }
        }
        f_.largest_entry_ = largest;
    }

    /// Depth first through the rows of U from a step.
    void search(Index k, Index start) {
        std::size_t depth = 0;
        const auto enter = [&](Index j) { stack_[depth++] = {j, f_.upper_.offsets[j]}; };
        enter(start);
        while (depth > 0) {
            const Index j = stack_[depth - 1].step;
            const Offset known_end = steps_[j].search_end;
            const Offset end = known_end >= 0 ? known_end : f_.upper_.offsets[j + 1];
            Offset& p = stack_[depth - 1].next;
            Index found = -1;
            while (p < end && found < 0) {
                const Index l = f_.upper_.ids[p++];
                Place& place = places_[l];
                if (std::exchange(place.seen, k) == k) continue;
                if (place.step < 0) {
                    candidates_.push_back(l);
                } else {
                    found = place.step;
                }
            }
            if (found >= 0) {
                enter(found);
            } else {
                reach_[--top_] = j;
                --depth;
            }
        }
    }

    void solve() {
        T* const x = x_.data();
        for (std::size_t s = top_; s < reach_.size(); ++s) {
            const Index j = reach_[s];
            const T value = std::exchange(x[pivot_place(j)], T(0));
            f_.lower_.add(j, value);
            f_.upper_.subtract(value, j, x);
        }
    }

    /// The place of the pivot of row k, that of the diagonal if that is large enough.
    bool choose_pivot(Index k, Index& pivot) const {
        double largest = 0;
        for (const Index l : candidates_) {
            const double size = std::abs(double(x_[l]));
            if (!(size <= largest)) {  // Also NaN, which is none.
                largest = size;
                pivot = l;
            }
        }
        if (!(largest > 0) || !std::isfinite(largest)) return false;
        const Index l = steps_[k].diagonal;
        const bool is_candidate = places_[l].step < 0 && places_[l].seen == k;
        if (is_candidate && std::abs(double(x_[l])) >= threshold_ * largest) pivot = l;
        return true;
    }

    /// Gives a column its step; the row that it is the diagonal of takes the diagonal of row k.
    void take_place(Index k, Index pivot) {
        const Index diagonal = steps_[k].diagonal;
        if (diagonal != pivot) {
            const Index other = places_[pivot].row;
            steps_[other].diagonal = diagonal;
            places_[diagonal].row = other;
            steps_[k].diagonal = pivot;
        }
        places_[pivot].step = k;
    }
    Index pivot_place(Index step) const { return steps_[step].diagonal; }

    /// Rows of U before that have the pivot column and a part of row k: searches through them find
    /// the rest of their columns by row k. Their columns that have a step are put first.
    void shorten_searches(Index k, Index pivot) {
        for (Offset q = f_.lower_.offsets[k]; q < f_.lower_.offsets[k + 1]; ++q) {
            const Index j = f_.lower_.ids[q];
            if (steps_[j].search_end >= 0) continue;
            Index* const ids = f_.upper_.ids.data();
            const Offset begin = f_.upper_.offsets[j], end = f_.upper_.offsets[j + 1];
            if (std::find(ids + begin, ids + end, pivot) == ids + end) continue;
            Offset head = begin, tail = end;
            while (head < tail) {
                if (places_[ids[head]].step >= 0) {
                    ++head;
                } else {
                    --tail;
                    std::swap(ids[head], ids[tail]);
                    std::swap(f_.upper_.values[head], f_.upper_.values[tail]);
                }
            }
            steps_[j].search_end = tail;
        }
    }

    SimplicialFactor& f_;
    const CsrView<T>& a_;
    const Arrangement& arrangement_;
    const RowPlan& plan_;
    const double threshold_;
    const std::size_t max_entries_;
    /// A column, known by its place in the order of elimination.
    struct Place {
        Index seen = -1;  ///< The last row that came to it.
        Index step = -1;  ///< -1: none yet.
        Index row = 0;    ///< It is on the diagonal of that row.
    };
    struct Step {
        Offset search_end = -1;  ///< Where searches in a row of U end; -1: nowhere before.
        Index diagonal = 0;      ///< The place on the diagonal, at last the pivot.
    };
    struct Searched {
        Index step = 0;
        Offset next = 0;  ///< The entry of its row of U that is looked at next.
    };
    std::vector<T> x_;
    std::vector<Place> places_;
    std::vector<Step> steps_;
    std::vector<Index> reach_, candidates_;
    std::vector<Searched> stack_;
    std::size_t top_ = 0;  ///< First of reach_ in use.
};

}  // namespace tessera::direct
