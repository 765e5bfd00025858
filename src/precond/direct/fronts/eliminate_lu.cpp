#include <algorithm>
#include <cmath>
#include <limits>

#include "base/parallel.hpp"
#include "precond/direct/fronts/dense_front.hpp"

namespace tessera::direct {

namespace {

template <class T>
class LuElimination {
  public:
    LuElimination(const Elimination<T>& how, DenseFront<T>& front, FrontWork<T>& work,
                  PivotCounts& counts)
        : how_(how), front_(front), column_(work.first), counts_(counts) {
        if (Index(column_.size()) < front.rows) column_.resize(std::size_t(front.rows));
    }

    Index eliminate() {
        Index pivots = 0;
        while (pivots < front_.candidates) {
            begin_ = pivots;
            Index last = front_.candidates;  // Columns from here on were rejected in this panel.
            check_time();
            while (pivots < last && pivots - begin_ < panel_width) {
                if (try_column(pivots)) {
                    ++pivots;
                } else {
                    swap_columns(pivots, --last);
                }
            }
            if (pivots == begin_) break;
            update_rest(pivots);
        }
        return pivots;
    }

  private:
    bool try_column(Index p) {
        T* const entries = front_.column(p);
        T* const updated = column_.data();
        std::copy(entries + begin_, entries + front_.rows, updated + begin_);
        for (Index q = begin_; q < p; ++q) {
            const T* const l = front_.column(q);
            for (Index i = q + 1; i < p; ++i) updated[i] -= l[i] * updated[q];
        }
        how_.kernels.subtract_product(front_.rows - p, 1, p - begin_, &front_(p, begin_),
                                      front_.rows, updated + begin_, front_.rows, updated + p,
                                      front_.rows);
        const Index row = choose_row(p);
        if (row < 0) return false;
        std::copy(updated + begin_, updated + front_.rows, entries + begin_);
        if (row != p) swap_rows(p, row);
        T& pivot = entries[p];
        if (double(std::abs(pivot)) <= how_.null) {
            ++counts_.null_pivots;
            pivot = std::numeric_limits<T>::infinity();
            std::fill(entries + p + 1, entries + front_.rows, T(0));
            return true;
        }
        counts_.note(double(std::abs(pivot)), front_.row_ids[p]);
        how_.kernels.divide(front_.rows - p - 1, pivot, entries + p + 1);
        return true;
    }

    /// The row of the pivot, that of the diagonal where that is large enough; -1: none is.
    Index choose_row(Index p) const {
        const T* const updated = column_.data();
        const double largest = how_.kernels.max_abs(front_.rows - p, updated + p);
        if (largest <= how_.null) return front_.is_root ? p : Index(-1);
        const double least = how_.threshold * largest;
        const auto rows = front_.row_ids.begin();
        Index row = p;
        if (front_.row_ids[p] != front_.column_ids[p]) {
            row = Index(std::find(rows + p, rows + front_.candidates, front_.column_ids[p]) - rows);
        }
        const auto passes = [&](T size) { return size >= least && double(size) > how_.null; };
        if (row < front_.candidates && passes(std::abs(updated[row]))) return row;
        const T best = how_.kernels.max_abs(front_.candidates - p, updated + p);
        if (!passes(best)) return -1;
        row = p;
        while (std::abs(updated[row]) != best) ++row;
        return row;
    }

    void swap_rows(Index p, Index other) {
        for (Index j = 0; j < front_.rows; ++j) std::swap(front_(p, j), front_(other, j));
        std::swap(front_.row_ids[p], front_.row_ids[other]);
    }
    void swap_columns(Index p, Index other) {
        if (p == other) return;
        std::swap_ranges(front_.column(p), front_.column(p) + front_.rows, front_.column(other));
        std::swap(front_.column_ids[p], front_.column_ids[other]);
    }

    /// Rows of U of the panel, and the columns after them.
    void update_rest(Index end) {
        const Offset operations = Offset(front_.rows - end) * (front_.rows - begin_);
        const int threads = operations < parallel_grain ? 1 : how_.threads;
        parallel_ranges(
            threads, front_.rows - end,
            [&](Offset first, Offset last) {
                update_columns(end, end + Index(first), end + Index(last));
            },
            32);
    }
    void update_columns(Index end, Index first, Index last) {
        constexpr Index block = 8;
        const Index ld = front_.rows, columns = last - first;
        for (Index b = begin_; b < end; b += block) {
            const Index e = std::min(b + block, end);
            for (Index j = first; j < last; ++j) {
                T* const u = front_.column(j);
                for (Index q = b; q + 1 < e; ++q) {
                    const T* const l = front_.column(q);
                    for (Index i = q + 1; i < e; ++i) u[i] -= l[i] * u[q];
                }
            }
            how_.kernels.subtract_product(end - e, columns, e - b, &front_(e, b), ld,
                                          &front_(b, first), ld, &front_(e, first), ld);
        }
        how_.kernels.subtract_product(ld - end, columns, end - begin_, &front_(end, begin_), ld,
                                      &front_(begin_, first), ld, &front_(end, first), ld);
    }

    const Elimination<T>& how_;
    DenseFront<T>& front_;
    std::vector<T>& column_;
    PivotCounts& counts_;
    Index begin_ = 0;  ///< First column of the panel.
};

}  // namespace

template <class T>
Index eliminate_lu(const Elimination<T>& how, DenseFront<T>& front, FrontWork<T>& work,
                   PivotCounts& counts) {
    return LuElimination<T>(how, front, work, counts).eliminate();
}

template Index eliminate_lu(const Elimination<float>&, DenseFront<float>&, FrontWork<float>&,
                            PivotCounts&);
template Index eliminate_lu(const Elimination<double>&, DenseFront<double>&, FrontWork<double>&,
                            PivotCounts&);

}  // namespace tessera::direct
