#include "precond/direct/analysis/fronts.hpp"

#include <algorithm>

#include "base/check_time.hpp"
#include "base/concat.hpp"
#include "base/host_memory/host_memory.hpp"

namespace tessera::direct {

namespace {

/// The most columns of a front.
constexpr Index max_width = 1024;

/// Whether a front of `width` columns and `entries` entries per triangle may hold so many zeros.
bool allows_zeros(double zeros, double width, double entries) {
    if (width <= 8) return zeros <= 0.5 * entries + 16;
    return zeros <= (width <= 32 ? 0.15 : 0.05) * entries;
}

/// The first column of each front: column k joins the front of column k - 1, which is its child, if
/// their patterns differ by few rows.
std::vector<Index> group_columns(const EliminationTree& tree) {
    const Index columns = Index(tree.order.size());
    std::vector<Index> first{0}, children(tree.order.size(), 0);
    for (const Index parent : tree.parent) {
        if (parent >= 0) ++children[parent];
    }
    double zeros = 0;  // In the last front.
    for (Index k = 1; k < columns; ++k) {
        if (tree.parent[k - 1] == k) {
            const double width = k - first.back() + 1;
            const double more = double(tree.counts[k] + 1 - tree.counts[k - 1]) * (width - 1);
            const double entries = width * (tree.counts[k] + width / 2);
            const bool is_equal = children[k] == 1 && more == 0;
            if (width <= max_width && (is_equal || allows_zeros(zeros + more, width, entries))) {
                zeros += more;
                continue;
            }
        }
        first.push_back(k);
        zeros = 0;
    }
    if (columns > 0) first.push_back(columns);
    return first;
}

/// Fills the rows below each front, the parents and children.
void find_rows(const PatternView& pattern, const EliminationTree& tree,
               const std::vector<Index>& front_of, Fronts& fronts) {
    std::vector<Index> seen(tree.order.size(), -1);
    std::vector<std::vector<Index>> children(std::size_t(fronts.count()));
    fronts.parent.assign(std::size_t(fronts.count()), -1);
    fronts.below_offsets = {0};
    for (Index s = 0; s < fronts.count(); ++s) {
        if (s % 16 == 0) check_time();
        const Index end = fronts.first[s + 1];
        const auto begin = std::ptrdiff_t(fronts.rows_below.size());
        const auto add = [&](Index row) {
            if (row < end || seen[row] == s) return;
            seen[row] = s;
            fronts.rows_below.push_back(row);
        };
        for (Index k = fronts.first[s]; k < end; ++k) {
            for (const Index neighbour : pattern.row(tree.order[k])) add(tree.number[neighbour]);
        }
        for (const Index child : children[s]) {
            for (Offset q = fronts.below_offsets[child]; q < fronts.below_offsets[child + 1]; ++q) {
                add(fronts.rows_below[q]);
            }
        }
        std::sort(fronts.rows_below.begin() + begin, fronts.rows_below.end());
        fronts.below_offsets.push_back(Offset(fronts.rows_below.size()));
        if (fronts.below_offsets[s] == fronts.below_offsets[s + 1]) continue;
        fronts.parent[s] = front_of[fronts.rows_below[begin]];
        children[fronts.parent[s]].push_back(s);
    }
    fronts.child_offsets = {0};
    for (const auto& list : children) {
        fronts.children_of.insert(fronts.children_of.end(), list.begin(), list.end());
        fronts.child_offsets.push_back(Offset(fronts.children_of.size()));
    }
}

/// Collects the entries of each front, by their numbers in the order of elimination, and those
/// between diagonal blocks.
template <class T>
void collect_entries(const CsrView<T>& a, const std::vector<Index>& number_of_column,
                     const std::vector<Index>& block, const std::vector<Index>& front_of,
                     Fronts& fronts) {
    const auto for_each_entry = [&](auto&& in_front, auto&& between) {
        for (Index k = 0; k < fronts.rows; ++k) {
            if (k % 1024 == 0) check_time();
            const Index i = fronts.row[k];
            for (Offset p = a.row_offsets[i]; p < a.row_offsets[i + 1]; ++p) {
                const Index l = number_of_column[a.column_indices[p]];
                if (fronts.symmetric && l > k) continue;
                if (block[a.column_indices[p]] != block[fronts.column[k]]) {
                    between(k, l, p);
                } else {
                    in_front(front_of[std::min(k, l)], FrontEntry{p, k, l});
                }
            }
        }
    };
    fronts.entry_offsets.assign(std::size_t(fronts.count()) + 1, 0);
    fronts.coupling_offsets.assign(std::size_t(fronts.rows) + 1, 0);
    for_each_entry([&](Index s, const FrontEntry&) { ++fronts.entry_offsets[s + 1]; },
                   [&](Index k, Index l, Offset p) {
                       ++fronts.coupling_offsets[k + 1];
                       fronts.coupling_columns.push_back(l);
                       fronts.coupling_positions.push_back(p);
                   });
    for (Index s = 0; s < fronts.count(); ++s)
        fronts.entry_offsets[s + 1] += fronts.entry_offsets[s];
    for (Index k = 0; k < fronts.rows; ++k) {
        fronts.coupling_offsets[k + 1] += fronts.coupling_offsets[k];
    }
    fronts.entries.resize(std::size_t(fronts.entry_offsets.back()));
    std::vector<Offset> next(fronts.entry_offsets.begin(), fronts.entry_offsets.end() - 1);
    for_each_entry([&](Index s, const FrontEntry& entry) { fronts.entries[next[s]++] = entry; },
                   [](Index, Index, Offset) {});
}

/// Replaces numbers in the order of elimination by rows of the fronts.
void find_places(Fronts& fronts) {
    std::vector<Index> place(std::size_t(fronts.rows));
    fronts.parent_rows.resize(fronts.rows_below.size());
    for (Index s = 0; s < fronts.count(); ++s) {
        if (s % 16 == 0) check_time();
        const Index first = fronts.first[s], width = fronts.width(s);
        const std::span<const Index> below = fronts.below(s);
        for (Index k = 0; k < width; ++k) place[first + k] = k;
        for (std::size_t q = 0; q < below.size(); ++q) place[below[q]] = width + Index(q);
        for (Offset e = fronts.entry_offsets[s]; e < fronts.entry_offsets[s + 1]; ++e) {
            FrontEntry& entry = fronts.entries[e];
            entry.row = place[entry.row];
            entry.column = place[entry.column];
        }
        for (const Index child : fronts.children(s)) {
            for (Offset q = fronts.below_offsets[child]; q < fronts.below_offsets[child + 1]; ++q) {
                fronts.parent_rows[q] = place[fronts.rows_below[q]];
            }
        }
    }
}

/// Fronts::predicted_entries.
double predict_entries(const Fronts& fronts) {
    double factors = 0, stack = 0, most = 0, largest = 0;
    const auto contribution = [&](Index front) {
        const double left = fronts.size(front) - fronts.width(front);
        return fronts.symmetric ? left * (left + 1) / 2 : left * left;
    };
    for (Index s = 0; s < fronts.count(); ++s) {
        const double rows = fronts.size(s);
        factors += (fronts.symmetric ? 1 : 2) * rows * fronts.width(s);
        largest = std::max(largest, rows * rows);
        most = std::max(most, factors + stack + largest);
        for (const Index child : fronts.children(s)) stack -= contribution(child);
        stack += contribution(s);
        most = std::max(most, factors + stack + largest);
    }
    return most;
}

}  // namespace

void require_memory(double bytes, double share) {
    if (share >= 1) return require_host_memory("direct", bytes);
    constexpr double unchecked = double(1 << 26);
    const double free = bytes < unchecked ? 0 : double(free_host_memory());
    if (bytes < unchecked || bytes <= share * free) return;
    throw OutOfMemory(concat("direct needs about ", bytes_text(bytes),
                             " of host memory, more than ", share, " times the ", bytes_text(free),
                             " that are free"));
}

double Fronts::flops(Index front) const {
    const double w = width(front), m = size(front) - w;
    // The sum of (m + k)^2 for k < w.
    const double sum = w * m * m + m * w * w + w * w * w / 3;
    return symmetric ? sum : 2 * sum;
}

Offset Fronts::bytes() const {
    const auto sum = [](const auto&... lists) {
        return (Offset(lists.size() * sizeof(lists[0])) + ...);
    };
    return sum(row, column, first, parent, child_offsets, children_of, below_offsets, rows_below,
               parent_rows, entry_offsets, entries, block_fronts, coupling_offsets,
               coupling_columns, coupling_positions);
}

template <class T>
Fronts make_fronts(const CsrView<T>& matrix, const Arrangement& arrangement,
                   const EliminationTree& tree) {
    double entries = 0;
    for (const Index count : tree.counts) entries += count;
    entries *= arrangement.symmetric ? 1 : 2;
    require_memory(entries * double(sizeof(T)), arrangement.memory_share);
    Fronts fronts;
    fronts.rows = matrix.rows;
    fronts.symmetric = arrangement.symmetric;
    fronts.column = tree.order;
    fronts.row.reserve(tree.order.size());
    for (const Index j : tree.order) fronts.row.push_back(arrangement.row_of_column[j]);
    const std::vector<Index>& block = arrangement.block_of_column;
    fronts.first = group_columns(tree);
    std::vector<Index> front_of(tree.order.size());
    for (Index s = 0; s < fronts.count(); ++s) {
        for (Index k = fronts.first[s]; k < fronts.first[s + 1]; ++k) front_of[k] = s;
    }
    for (Index s = 0; s < fronts.count(); ++s) {
        const Index k = fronts.first[s];
        if (s == 0 || block[tree.order[k]] != block[tree.order[k - 1]]) {
            fronts.block_fronts.push_back(s);
        }
    }
    fronts.block_fronts.push_back(fronts.count());
    find_rows(arrangement.pattern(matrix), tree, front_of, fronts);
    collect_entries(matrix, tree.number, block, front_of, fronts);
    find_places(fronts);
    fronts.predicted_entries = predict_entries(fronts);
    require_memory(fronts.predicted_entries * double(sizeof(T)), arrangement.memory_share);
    return fronts;
}

template Fronts make_fronts(const CsrView<float>&, const Arrangement&, const EliminationTree&);
template Fronts make_fronts(const CsrView<double>&, const Arrangement&, const EliminationTree&);

}  // namespace tessera::direct
