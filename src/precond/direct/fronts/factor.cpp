#include "precond/direct/fronts/factor.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/host_memory/host_memory.hpp"
#include "base/parallel.hpp"
#include "precond/direct/fronts/subtrees.hpp"

namespace tessera::direct {

namespace {

/// Entries of a contribution of so many rows.
Offset contribution_entries(Offset rows, bool symmetric) {
    return symmetric ? rows * (rows + 1) / 2 : rows * rows;
}

/// Bytes of the arrays of a FrontFactor without delayed pivots.
template <class T>
Offset factor_bytes(const Fronts& fronts, Index s) {
    const Offset rows = fronts.size(s), pivots = fronts.width(s),
                 triangles = fronts.symmetric ? 1 : 2;
    const Offset values = triangles * rows * pivots + (fronts.symmetric ? pivots : 0);
    constexpr Offset rounding = 4 * 64;
    return values * Offset(sizeof(T)) + triangles * rows * Offset(sizeof(Index)) + rounding;
}

}  // namespace

template <class T>
void Factor<T>::scale_values(const Context& cpu, const CsrView<T>& matrix,
                             const Arrangement& arrangement) {
    scaled_.resize(std::size_t(matrix.nonzeros));
    const auto scale = [&](Offset first, Offset last) {
        for (Offset i = first; i < last; ++i) {
            const double r = arrangement.row_scaling[std::size_t(i)];
            for (Offset k = matrix.row_offsets[i]; k < matrix.row_offsets[i + 1]; ++k) {
                const double c = arrangement.column_scaling[matrix.column_indices[k]];
                scaled_[k] = T(r * double(matrix.values[k]) * c);
            }
        }
    };
    parallel_ranges(cpu.threads(), matrix.rows, scale, 1024);
    largest_entry_ = 0;
    for (const T value : scaled_)
        largest_entry_ = std::max(largest_entry_, std::abs(double(value)));
}

/// Adds the rows that a child leaves, whose delayed ones are rows first_delayed and following of
/// the front; `delayed`: those of all children.
template <class T>
void Factor<T>::add_contribution(Worker& worker, Index child, Index delayed, Index first_delayed) {
    const Contribution& from = contributions_[child];
    const std::span<const Index> others = fronts_->rows_in_parent(child);
    const DenseFront<T>& to = worker.front;
    const Index width = to.candidates - delayed;
    std::vector<Index>& places = worker.places;
    places.resize(std::size_t(from.rows));
    for (Index q = 0; q < from.delayed; ++q) places[q] = first_delayed + q;
    for (Index q = from.delayed; q < from.rows; ++q) {
        const Index place = others[std::size_t(q - from.delayed)];
        places[q] = place + (place >= width ? delayed : 0);
    }
    const T* value = from.values;
    for (Index j = 0; j < from.rows; ++j) {
        if (j % 64 == 63) check_time();
        T* const column = to.column(places[j]);
        if (!fronts_->symmetric) {
            for (Index i = 0; i < from.rows; ++i) column[places[i]] += *value++;
        } else if (j >= from.delayed) {  // Later places are in later rows.
            for (Index i = j; i < from.rows; ++i) column[places[i]] += *value++;
        } else {
            for (Index i = j; i < from.rows; ++i) {
                to(std::max(places[i], places[j]), std::min(places[i], places[j])) += *value++;
            }
        }
    }
}

/// Fills the front: entries of A and the contributions of its children.
template <class T>
void Factor<T>::assemble(Worker& worker, Index s) {
    const Fronts& fronts = *fronts_;
    const Index width = fronts.width(s);
    const std::span<const Index> below = fronts.below(s);
    DenseFront<T>& front = worker.front;
    front.row_ids.clear();
    for (Index k = fronts.first[s]; k < fronts.first[s + 1]; ++k) front.row_ids.push_back(k);
    if (!fronts.symmetric) front.column_ids = front.row_ids;
    for (const Index child : fronts.children(s)) {
        const Contribution& from = contributions_[child];
        front.row_ids.insert(front.row_ids.end(), from.row_ids, from.row_ids + from.delayed);
        if (fronts.symmetric) continue;
        front.column_ids.insert(front.column_ids.end(), from.column_ids,
                                from.column_ids + from.delayed);
    }
    front.candidates = Index(front.row_ids.size());
    front.row_ids.insert(front.row_ids.end(), below.begin(), below.end());
    if (!fronts.symmetric) {
        front.column_ids.insert(front.column_ids.end(), below.begin(), below.end());
    }
    front.rows = Index(front.row_ids.size());
    front.is_root = fronts.parent[s] < 0;
    const auto entries = std::size_t(front.rows) * std::size_t(front.rows);
    if (worker.work.front.size() < entries) {  // With its factor and contribution.
        require_host_memory("direct", 3 * double(entries) * double(sizeof(T)));
        std::vector<T>& values = worker.work.front;
        values.clear();  // Nothing is copied.
        values.reserve(entries);
        constexpr std::size_t piece = 1 << 23;
        while (values.size() < entries) {
            check_time();
            values.resize(std::min(entries, values.size() + piece));
        }
    }
    front.values = worker.work.front.data();
    for (Index j = 0; j < front.rows; ++j) {
        if (j % 64 == 63) check_time();
        std::fill(front.column(j) + (fronts.symmetric ? j : 0), front.column(j) + front.rows, T(0));
    }
    const Index delayed = front.candidates - width;
    for (Offset e = fronts.entry_offsets[s]; e < fronts.entry_offsets[s + 1]; ++e) {
        const FrontEntry& entry = fronts.entries[e];
        front(entry.row + (entry.row >= width ? delayed : 0),
              entry.column + (entry.column >= width ? delayed : 0)) += scaled_[entry.position];
    }
    Index first_delayed = width;
    for (const Index child : fronts.children(s)) {
        add_contribution(worker, child, delayed, first_delayed);
        first_delayed += contributions_[child].delayed;
    }
    for (const Index child : fronts.children(s)) {
        if (contributions_[child].owner != &worker.contributions) continue;
        worker.contributions.release(contributions_[child].before);
        break;
    }
}

template <class T>
void Factor<T>::store_factor(Worker& worker, Index s, Index pivots) {
    const DenseFront<T>& front = worker.front;
    const bool symmetric = fronts_->symmetric;
    const Offset rows = front.rows;
    FrontFactor<T>& factor = factors_[s];
    factor.rows = front.rows;
    factor.pivots = pivots;
    factor.lower = worker.factors.template allocate<T>(rows * pivots);
    std::copy(front.values, front.values + rows * pivots, factor.lower);
    factor.row_ids = worker.factors.template allocate<Index>(rows);
    std::ranges::copy(front.row_ids, factor.row_ids);
    worker.entries += symmetric ? rows * pivots - Offset(pivots) * (pivots - 1) / 2
                                : Offset(pivots) * (2 * rows - pivots);
    if (symmetric) {
        factor.column_ids = factor.row_ids;
        factor.off_diagonal = worker.factors.template allocate<T>(pivots);
        std::copy(worker.off_diagonal.begin(), worker.off_diagonal.begin() + pivots,
                  factor.off_diagonal);
        return;
    }
    factor.column_ids = worker.factors.template allocate<Index>(rows);
    std::ranges::copy(front.column_ids, factor.column_ids);
    factor.upper = worker.factors.template allocate<T>(rows * pivots);
    constexpr Index block = 8;
    for (Index first = 0; first < pivots; first += block) {
        check_time();
        const Index last = std::min(first + block, pivots);
        for (Index j = 0; j < front.rows; ++j) {
            for (Index k = first; k < last; ++k) factor.upper[k * rows + j] = front(k, j);
        }
    }
}

template <class T>
void Factor<T>::store_contribution(Worker& worker, Index s, Index pivots) {
    const DenseFront<T>& front = worker.front;
    Contribution& to = contributions_[s];
    to = {};
    if (pivots == front.rows || front.is_root) return;
    to.owner = &worker.contributions;
    to.before = worker.contributions.mark();
    to.rows = front.rows - pivots;
    to.delayed = front.candidates - pivots;
    if (to.delayed > 0) {
        const auto copied = [&](const std::vector<Index>& ids) {
            Index* const copy = worker.contributions.template allocate<Index>(to.delayed);
            std::copy(ids.begin() + pivots, ids.begin() + front.candidates, copy);
            return copy;
        };
        to.row_ids = copied(front.row_ids);
        if (!fronts_->symmetric) to.column_ids = copied(front.column_ids);
    }
    const Offset entries = contribution_entries(to.rows, fronts_->symmetric);
    to.values = worker.contributions.template allocate<T>(entries);
    T* value = to.values;
    for (Index j = pivots; j < front.rows; ++j) {
        if (j % 64 == 63) check_time();
        const Index first = fronts_->symmetric ? j : pivots;
        value = std::copy(front.column(j) + first, front.column(j) + front.rows, value);
    }
}

template <class T>
void Factor<T>::process(Worker& worker, Index s, const Elimination<T>& how) {
    check_time();
    assemble(worker, s);
    const Index pivots =
        fronts_->symmetric
            ? eliminate_ldlt(how, worker.front, worker.work, worker.off_diagonal, worker.counts)
            : eliminate_lu(how, worker.front, worker.work, worker.counts);
    const Index left = worker.front.candidates - pivots;
    if (worker.front.is_root) {
        worker.counts.null_pivots += left;  // Columns that are not finite.
    } else {
        worker.delayed += left;
    }
    worker.largest = std::max(worker.largest, worker.front.rows);
    store_factor(worker, s, pivots);
    store_contribution(worker, s, pivots);
}

template <class T>
void Factor<T>::compute(const Context& cpu, const CsrView<T>& matrix,
                        const Arrangement& arrangement, const Fronts& fronts, double threshold) {
    fronts_ = &fronts;
    workers_.clear();
    factors_.clear();
    require_host_memory("direct", fronts.predicted_entries * double(sizeof(T)));
    factors_.assign(std::size_t(fronts.count()), {});
    contributions_.assign(std::size_t(fronts.count()), {});
    scale_values(cpu, matrix, arrangement);
    couplings_.clear();
    for (const Offset position : fronts.coupling_positions) couplings_.push_back(scaled_[position]);

    constexpr double epsilon = double(std::numeric_limits<T>::epsilon());
    Elimination<T> how{dense_kernels<T>(cpu), threshold, epsilon * epsilon * largest_entry_, 1};
    const std::vector<FrontRange> ranges = independent_subtrees(fronts, cpu.threads());
    workers_.resize(ranges.size() + 1);
    const auto process_range = [&](Worker& worker, Index first, Index last) {
        Offset bytes = 0;
        for (Index s = first; s < last; ++s) bytes += factor_bytes<T>(fronts, s);
        worker.factors.reserve(bytes);
        for (Index s = first; s < last; ++s) process(worker, s, how);
    };
    parallel_tasks(cpu.threads(), Offset(ranges.size()), [&](Offset r) {
        Worker& worker = workers_[std::size_t(r)];
        process_range(worker, ranges[std::size_t(r)].first, ranges[std::size_t(r)].last);
        worker.work = {};
    });
    how.threads = cpu.threads();
    Index next = 0;
    for (const FrontRange& range : ranges) {
        process_range(workers_.back(), next, range.first);
        next = range.last;
    }
    process_range(workers_.back(), next, fronts.count());

    counts_ = {};
    delayed_ = entries_ = 0;
    largest_front_ = 0;
    peak_bytes_ = bytes() + Offset(scaled_.size() * sizeof(T));
    for (Worker& worker : workers_) {
        peak_bytes_ += worker.contributions.bytes() + Offset(worker.work.front.size() * sizeof(T));
        counts_.add(worker.counts);
        delayed_ += worker.delayed;
        entries_ += worker.entries;
        largest_front_ = std::max(largest_front_, worker.largest);
        worker.contributions.clear();
        worker.work = {};
        worker.front = {};
    }
    contributions_ = {};
    scaled_ = {};
}

template <class T>
Offset Factor<T>::bytes() const {
    Offset sum = Offset(couplings_.size() * sizeof(T));
    for (const Worker& worker : workers_) sum += worker.factors.bytes();
    return sum;
}

template class Factor<float>;
template class Factor<double>;

}  // namespace tessera::direct
