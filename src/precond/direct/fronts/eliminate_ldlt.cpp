#include <algorithm>
#include <cmath>
#include <limits>

#include "base/parallel.hpp"
#include "precond/direct/fronts/dense_front.hpp"

namespace tessera::direct {

namespace {

template <class T>
class LdltElimination {
  public:
    LdltElimination(const Elimination<T>& how, DenseFront<T>& front, FrontWork<T>& work,
                    std::vector<T>& off_diagonal, PivotCounts& counts)
        : how_(how),
          front_(front),
          first_(work.first),
          second_(work.second),
          dl_panel_(work.panel_rows),
          off_diagonal_(off_diagonal),
          counts_(counts) {
        const auto rows = std::size_t(front.rows);
        if (first_.size() < rows) {
            first_.resize(rows);
            second_.resize(rows);
            dl_panel_.resize(rows * panel_width);
        }
        off_diagonal_.assign(std::size_t(front.candidates), T(0));
    }

    Index eliminate() {
        Index pivots = 0;
        while (pivots < front_.candidates) {
            begin_ = pivots;
            last_ = front_.candidates;
            // A pivot may have two columns.
            check_time();
            while (pivots < last_ && pivots - begin_ < panel_width - 1) {
                const int columns = try_column(pivots);
                if (columns == 0) swap(pivots, --last_);
                pivots += columns;
            }
            if (pivots == begin_) break;
            update_rest(pivots);
        }
        return pivots;
    }

  private:
    /// Tries the pivots (p), (p, t) and (t), where t has the largest entry of column p; returns the
    /// number of columns eliminated.
    int try_column(Index p) {
        load(p, p, first_);
        const double null = how_.null;
        const double diagonal = std::abs(first_[p]);
        const double largest = how_.kernels.max_abs(front_.rows - p - 1, &first_[p] + 1);
        if (diagonal <= null && largest <= null) {
            if (!front_.is_root) return 0;
            ++counts_.null_pivots;
            eliminate_null(p);
            return 1;
        }
        if (diagonal > null && diagonal >= how_.threshold * largest) {
            eliminate_one(p, first_);
            return 1;
        }
        const Index t = largest_candidate(p);
        if (t < 0) return 0;
        load(p, t, second_);
        if (passes_two(p, t)) {
            swap(p + 1, t);
            std::swap(first_[p + 1], first_[t]);
            std::swap(second_[p + 1], second_[t]);
            eliminate_two(p);
            return 2;
        }
        const double other = std::abs(second_[t]);
        if (other > null && other >= how_.threshold * largest_except(second_, p, t, t)) {
            swap(p, t);
            std::swap(second_[p], second_[t]);
            eliminate_one(p, second_);
            return 1;
        }
        return 0;
    }

    /// Rows p and below of column j >= p, with the updates of the panel.
    void load(Index p, Index j, std::vector<T>& column) {
        for (Index i = p; i < j; ++i) column[i] = front_(j, i);
        std::copy(&front_(j, j), front_.column(j) + front_.rows, &column[j]);
        how_.kernels.subtract_product(front_.rows - p, 1, p - begin_, &front_(p, begin_),
                                      front_.rows, dl_row(j), panel_width, &column[p], front_.rows);
    }

    /// The candidate with the largest entry of column p; -1: none has one.
    Index largest_candidate(Index p) const {
        const T best = how_.kernels.max_abs(front_.candidates - p - 1, &first_[p] + 1);
        if (!(double(best) > how_.null)) return -1;
        Index t = p + 1;
        while (std::abs(first_[t]) != best) ++t;
        return t;
    }

    /// The largest entry below row p - 1 that is in neither row.
    double largest_except(const std::vector<T>& column, Index p, Index one, Index other) const {
        double largest = 0;
        Index from = p;
        for (const Index skipped : {std::min(one, other), std::max(one, other)}) {
            if (skipped < from) continue;
            largest =
                std::max<double>(largest, how_.kernels.max_abs(skipped - from, &column[from]));
            from = skipped + 1;
        }
        return std::max<double>(largest,
                                how_.kernels.max_abs(front_.rows - from, column.data() + from));
    }

    /// Whether the entries of L that the pivot of rows p and t gives are at most 1 / threshold, and
    /// its determinant does not cancel.
    bool passes_two(Index p, Index t) const {
        const double a = first_[p], b = first_[t], c = second_[t];
        const double size = std::max({std::abs(a), std::abs(b), std::abs(c)});
        const double product = a / size * c, square = b / size * b;
        const double determinant = std::abs(product - square);
        if (!(determinant >= std::max(std::abs(product), square) / 2)) return false;
        const double p_max = largest_except(first_, p, p, t);
        const double t_max = largest_except(second_, p, p, t);
        // With a threshold of 1/2 the worst case is an equality, up to rounding.
        const double bound = determinant * size / how_.threshold * (1 + 1e-12);
        return std::abs(c) * p_max + std::abs(b) * t_max <= bound &&
               std::abs(b) * p_max + std::abs(a) * t_max <= bound;
    }

    void count(double pivot, Index row) {
        ++(pivot > 0 ? counts_.positive : counts_.negative);
        counts_.note(std::abs(pivot), front_.row_ids[row]);
    }

    void eliminate_one(Index p, const std::vector<T>& updated) {
        const T pivot = updated[p];
        count(pivot, p);
        T* const column = front_.column(p);
        std::copy(&updated[p], updated.data() + front_.rows, column + p);
        for (Index i = p + 1; i < front_.rows; ++i) dl_row(i)[p - begin_] = column[i];
        how_.kernels.divide(front_.rows - p - 1, pivot, column + p + 1);
    }

    void eliminate_null(Index p) {
        T* const column = front_.column(p);
        std::fill(column + p, column + front_.rows, T(0));
        column[p] = std::numeric_limits<T>::infinity();
        for (Index i = p + 1; i < front_.rows; ++i) dl_row(i)[p - begin_] = T(0);
    }

    void eliminate_two(Index p) {
        const T a = first_[p], b = first_[p + 1], c = second_[p + 1];
        // [x y] D^-1 with entries of D relative to b, which is not 0.
        const T a_b = a / b, c_b = c / b;
        const T over_determinant = 1 / (b * (a_b * c_b - 1));
        if (a_b * c_b < 1) {
            ++counts_.positive;
            ++counts_.negative;
        } else {
            (a > 0 ? counts_.positive : counts_.negative) += 2;
        }
        counts_.note(std::abs(double(b)) * std::abs(double(a_b) * double(c_b) - 1),
                     front_.row_ids[p]);
        T* const one = front_.column(p);
        T* const two = front_.column(p + 1);
        for (Index i = p + 2; i < front_.rows; ++i) {
            const T x = first_[i], y = second_[i];
            T* const row = dl_row(i) + (p - begin_);
            row[0] = x;
            row[1] = y;
            one[i] = (c_b * x - y) * over_determinant;
            two[i] = (a_b * y - x) * over_determinant;
        }
        one[p] = a;
        one[p + 1] = T(0);
        two[p + 1] = c;
        off_diagonal_[p] = b;
    }

    /// Exchanges rows and columns p <= other.
    void swap(Index p, Index other) {
        if (p == other) return;
        for (Index q = 0; q < p; ++q) std::swap(front_(p, q), front_(other, q));
        for (Index q = p + 1; q < other; ++q) std::swap(front_(q, p), front_(other, q));
        std::swap_ranges(&front_(other, p) + 1, front_.column(p) + front_.rows,
                         &front_(other, other) + 1);
        std::swap(front_(p, p), front_(other, other));
        std::swap_ranges(dl_row(p), dl_row(p) + panel_width, dl_row(other));
        std::swap(front_.row_ids[p], front_.row_ids[other]);
    }

    void update_rest(Index end) {
        constexpr Offset block = 48;
        const Offset rows = front_.rows - end, blocks = (rows + block - 1) / block;
        const auto update = [&](Offset b) {
            const Index first = end + Index(b * block);
            const Index columns = Index(std::min(block, rows - b * block));
            how_.kernels.subtract_product(front_.rows - first, columns, end - begin_,
                                          &front_(first, begin_), front_.rows, dl_row(first),
                                          panel_width, &front_(first, first), front_.rows);
        };
        if (rows * rows < parallel_grain || how_.threads == 1) {
            for (Offset b = 0; b < blocks; ++b) update(b);
        } else {
            parallel_tasks(how_.threads, blocks, update);
        }
    }

    /// Entries of D L^T of the panel in the column of a row.
    T* dl_row(Index i) { return dl_panel_.data() + Offset(i) * panel_width; }

    const Elimination<T>& how_;
    DenseFront<T>& front_;
    std::vector<T>&first_, &second_;
    std::vector<T>& dl_panel_;
    std::vector<T>& off_diagonal_;
    PivotCounts& counts_;
    Index begin_ = 0;  ///< First column of the panel.
    Index last_ = 0;   ///< Columns from here on were rejected in this panel.
};

}  // namespace

template <class T>
Index eliminate_ldlt(const Elimination<T>& how, DenseFront<T>& front, FrontWork<T>& work,
                     std::vector<T>& off_diagonal, PivotCounts& counts) {
    return LdltElimination<T>(how, front, work, off_diagonal, counts).eliminate();
}

template Index eliminate_ldlt(const Elimination<float>&, DenseFront<float>&, FrontWork<float>&,
                              std::vector<float>&, PivotCounts&);
template Index eliminate_ldlt(const Elimination<double>&, DenseFront<double>&, FrontWork<double>&,
                              std::vector<double>&, PivotCounts&);

}  // namespace tessera::direct
