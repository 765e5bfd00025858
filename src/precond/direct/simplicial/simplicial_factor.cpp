#include "precond/direct/simplicial/simplicial_factor.hpp"

#include <limits>
#include <utility>

#include "precond/direct/analysis/fronts.hpp"
#include "precond/direct/simplicial/simplicial_ldlt.hpp"
#include "precond/direct/simplicial/simplicial_lu.hpp"

namespace tessera::direct {

template <class T>
bool SimplicialFactor<T>::compute(const CsrView<T>& matrix, const Arrangement& arrangement,
                                  const RowPlan& plan, double threshold) {
    symmetric_ = arrangement.symmetric;
    const double entries = double(symmetric_ ? plan.offsets.back() : plan.max_entries());
    require_memory(entries * double(sizeof(T) + sizeof(Index)), arrangement.memory_share);
    column_ = plan.order;
    row_.resize(column_.size());
    for (std::size_t k = 0; k < row_.size(); ++k) row_[k] = arrangement.row_of_column[column_[k]];
    block_begin_.clear();
    block_begin_.reserve(std::size_t(arrangement.blocks) + 1);
    const std::vector<Index>& block = arrangement.block_of_column;
    for (Index k = 0; k < matrix.rows; ++k) {
        if (k == 0 || block[column_[k]] != block[column_[k - 1]]) block_begin_.push_back(k);
    }
    block_begin_.push_back(matrix.rows);
    for (Rows* const part : {&upper_, &lower_, &couplings_}) part->clear(matrix.rows);
    beside_.clear();
    counts_ = {};
    largest_entry_ = 0;
    const bool is_complete =
        symmetric_ ? Ldlt(*this, matrix, arrangement.row_scaling, plan, threshold).compute()
                   : Lu(*this, matrix, arrangement, plan, threshold).compute();
    return is_complete && is_accepted(matrix.rows);
}

/// Whether no pivot is as small as that of a singular matrix.
template <class T>
bool SimplicialFactor<T>::is_accepted(Index rows) {
    constexpr double epsilon = double(std::numeric_limits<T>::epsilon());
    if (!std::isfinite(largest_entry_)) return false;
    return rows == 0 || counts_.smallest > 16 * epsilon * std::min(rows, 1000) * largest_entry_;
}

template <class T>
void SimplicialFactor<T>::divide_by_d(T* y) const {
    for (std::size_t k = 0; k < diagonal_.size(); ++k) {
        const T b = beside(Index(k));
        if (b == T(0)) {
            y[k] /= diagonal_[k];
            continue;
        }
        const T a_b = diagonal_[k] / b, c_b = diagonal_[k + 1] / b;
        const T over_determinant = 1 / (b * (a_b * c_b - 1));
        const T one = y[k], two = y[k + 1];
        y[k] = (c_b * one - two) * over_determinant;
        y[k + 1] = (a_b * two - one) * over_determinant;
        ++k;
    }
}

/// B^-1 y, or B^-T y, by steps.
template <class T>
void SimplicialFactor<T>::solve_steps(bool transposed, T* y) const {
    const Index rows = Index(diagonal_.size());
    if (symmetric_) {
        for (Index k = 0; k < rows; ++k) upper_.subtract(y[k], k, y);
        divide_by_d(y);
        for (Index k = rows; k-- > 0;) y[k] = upper_.minus_dot(y[k], k, y);
        return;
    }
    const std::size_t blocks = block_begin_.size() - 1;
    for (std::size_t at = 0; at < blocks; ++at) {
        const std::size_t b = transposed ? at : blocks - 1 - at;
        const Index begin = block_begin_[b], end = block_begin_[b + 1];
        if (transposed) {
            for (Index k = begin; k < end; ++k) upper_.subtract(y[k], k, y);
            for (Index k = end; k-- > begin;) {
                y[k] /= diagonal_[k];
                lower_.subtract(y[k], k, y);
                couplings_.subtract(y[k], k, y);
            }
        } else {
            for (Index k = begin; k < end; ++k) {
                y[k] = lower_.minus_dot(couplings_.minus_dot(y[k], k, y), k, y) / diagonal_[k];
            }
            for (Index k = end; k-- > begin;) y[k] = upper_.minus_dot(y[k], k, y);
        }
    }
}

template <class T>
void SimplicialFactor<T>::solve(const Arrangement& arrangement, bool transposed, Vectors<const T> b,
                                Vectors<T> x) const {
    const bool is_turned = transposed && !symmetric_;
    const auto& from = is_turned ? column_ : row_;
    const auto& to = is_turned ? row_ : column_;
    const auto& scale_from = is_turned ? arrangement.column_scaling : arrangement.row_scaling;
    const auto& scale_to = is_turned ? arrangement.row_scaling : arrangement.column_scaling;
    std::vector<T> y(row_.size());
    for (int v = 0; v < b.count; ++v) {
        for (std::size_t k = 0; k < y.size(); ++k) {
            y[k] = T(scale_from[from[k]] * double(b[v][std::size_t(from[k])]));
        }
        solve_steps(is_turned, y.data());
        for (std::size_t k = 0; k < y.size(); ++k) {
            x[v][std::size_t(to[k])] = T(scale_to[to[k]] * double(y[k]));
        }
    }
}

template <class T>
Offset SimplicialFactor<T>::bytes() const {
    const auto sum = [](const auto&... lists) {
        return (Offset(lists.size() * sizeof(lists[0])) + ...);
    };
    const auto of_rows = [&](const Rows& rows) { return sum(rows.offsets, rows.ids, rows.values); };
    return of_rows(upper_) + of_rows(lower_) + of_rows(couplings_) +
           sum(row_, column_, diagonal_, beside_, block_begin_);
}

template class SimplicialFactor<float>;
template class SimplicialFactor<double>;

}  // namespace tessera::direct
