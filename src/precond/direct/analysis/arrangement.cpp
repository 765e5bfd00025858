#include "precond/direct/analysis/arrangement.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "base/check_time.hpp"
#include "precond/arranged_rows.hpp"
#include "precond/direct/analysis/any_matching.hpp"
#include "precond/direct/analysis/strong_components.hpp"
#include "tessera/detail/ordering.hpp"

namespace tessera::direct {

namespace {

/// Whether pivots can be found among so many entries of a front that no matching is needed.
template <class T>
bool is_dense(const CsrView<T>& a) {
    //   distances of 1,200 points (zeros on the diagonal)  0.3 s, with a matching 2.2 s
    return a.rows >= 200 && double(a.nonzeros) >= 0.25 * double(a.rows) * double(a.rows);
}

/// Scalings that make the largest entries of rows and columns about 1 (D. Ruiz, RAL report
/// 2001-034); they are equal for symmetric matrices.
template <class T>
void equilibrate(const CsrView<T>& a, std::vector<double>& row_scaling,
                 std::vector<double>& column_scaling) {
    row_scaling.assign(std::size_t(a.rows), 1);
    column_scaling.assign(std::size_t(a.columns), 1);
    for (int step = 0; step < 5; ++step) {
        std::vector<double> in_row(row_scaling.size(), 0), in_column(column_scaling.size(), 0);
        for (Index i = 0; i < a.rows; ++i) {
            if (i % 1024 == 0) check_time();
            for (Offset k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) {
                const Index j = a.column_indices[k];
                const double size =
                    row_scaling[i] * std::abs(double(a.values[k])) * column_scaling[j];
                in_row[i] = std::max(in_row[i], size);
                in_column[j] = std::max(in_column[j], size);
            }
        }
        for (std::size_t i = 0; i < in_row.size(); ++i) {
            if (in_row[i] > 0) row_scaling[i] /= std::sqrt(in_row[i]);
            if (in_column[i] > 0) column_scaling[i] /= std::sqrt(in_column[i]);
        }
    }
}

/// The order of a pattern whose rows are single or in pairs.
std::vector<Index> order_pairs(const Context& cpu, const PatternView& pattern,
                               const std::vector<Index>& partner) {
    std::vector<Index> vertex(std::size_t(pattern.rows), -1), first_row;
    first_row.reserve(vertex.size());
    for (Index i = 0; i < pattern.rows; ++i) {
        if (vertex[i] >= 0) continue;
        vertex[i] = vertex[partner[i]] = Index(first_row.size());
        first_row.push_back(i);
    }
    const auto vertices = Index(first_row.size());
    const auto gather = [&](Offset v, std::vector<Index>& list) {
        const auto add = [&](Index row) {
            for (const Index j : pattern.row(row)) {
                if (vertex[j] != v) list.push_back(vertex[j]);
            }
        };
        const Index first = first_row[std::size_t(v)];
        add(first);
        if (partner[first] != first) add(partner[first]);
    };
    const GatheredRows graph = gather_rows(cpu.threads(), vertices, gather);
    std::vector<Index> order;
    order.reserve(vertex.size());
    for (const Index v : minimum_degree(vertices, graph.offsets.data(), graph.items.data())) {
        order.push_back(first_row[v]);
        if (partner[first_row[v]] != first_row[v]) order.push_back(partner[first_row[v]]);
    }
    return order;
}

/// Whether each entry has a mirror image: rows are read from first to last, and the next entry of
/// each row j that was read is the mirror image of the next entry in column j.
template <class T>
bool has_symmetric_pattern(const CsrView<T>& a) {
    std::vector<Offset> next(a.row_offsets, a.row_offsets + a.rows);
    for (Index i = 0; i < a.rows; ++i) {
        if (i % 1024 == 0) check_time();
        for (Offset k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) {
            Offset& mirror = next[a.column_indices[k]];
            if (mirror == a.row_offsets[a.column_indices[k] + 1]) return false;
            if (a.column_indices[mirror++] != i) return false;
        }
    }
    return true;
}

/// The order of a pattern, of which many rows may be empty.
std::vector<Index> order_coupled(const PatternView& pattern) {
    const auto rows = std::size_t(pattern.rows);
    std::vector<Index> number(rows), order, coupled, columns;
    order.reserve(rows);
    coupled.reserve(rows);
    for (Index i = 0; i < pattern.rows; ++i) {
        if (pattern.row(i).empty()) {
            order.push_back(i);
        } else {
            number[i] = Index(coupled.size());
            coupled.push_back(i);
        }
    }
    std::vector<Offset> offsets;
    offsets.reserve(coupled.size() + 1);
    offsets.push_back(0);
    columns.reserve(std::size_t(pattern.offsets[pattern.rows]));
    for (const Index i : coupled) {
        for (const Index j : pattern.row(i)) columns.push_back(number[j]);
        offsets.push_back(Offset(columns.size()));
    }
    for (const Index v : minimum_degree(Index(coupled.size()), offsets.data(), columns.data())) {
        order.push_back(coupled[v]);
    }
    return order;
}

/// Arrangement::symmetric_pattern.
template <class T>
GatheredRows block_pattern(const CsrView<T>& a, const Arrangement& arrangement) {
    const auto size = std::size_t(a.rows);
    const std::vector<Index>& block = arrangement.block_of_column;
    GatheredRows result{std::vector<Offset>(size + 1, 0), {}};
    std::vector<Index> columns_of_block(std::size_t(arrangement.blocks), 0);
    for (const Index b : block) ++columns_of_block[b];
    // With entries that are in A and in its transpose twice.
    const auto for_each_pair = [&](auto&& use) {
        for (Index j = 0; j < a.rows; ++j) {
            if (j % 1024 == 0) check_time();
            if (columns_of_block[block[j]] == 1) continue;
            const Index i = arrangement.row_of_column[j];
            for (Offset k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) {
                const Index other = a.column_indices[k];
                if (other != j && block[other] == block[j]) use(j, other);
            }
        }
    };
    for_each_pair([&](Index j, Index other) {
        ++result.offsets[j + 1];
        ++result.offsets[other + 1];
    });
    std::partial_sum(result.offsets.begin(), result.offsets.end(), result.offsets.begin());
    std::vector<Offset> next(result.offsets.begin(), result.offsets.end() - 1);
    result.items.resize(std::size_t(result.offsets.back()));
    for_each_pair([&](Index j, Index other) {
        result.items[next[j]++] = other;
        result.items[next[other]++] = j;
    });
    std::vector<Index> seen(size, -1);
    Offset begin = 0, kept = 0;
    for (Index j = 0; j < a.rows; ++j) {
        for (Offset k = std::exchange(begin, result.offsets[j + 1]); k < begin; ++k) {
            const Index other = result.items[k];
            if (std::exchange(seen[other], j) != j) result.items[kept++] = other;
        }
        result.offsets[j + 1] = kept;
    }
    result.items.resize(std::size_t(kept));
    return result;
}

/// Permutes entries to the diagonal, and scales.
template <class T>
void match(const Context& cpu, const CsrView<T>& matrix, bool may_match_any, Arrangement& result) {
    constexpr double max_entries_per_row = 16;
    if (result.symmetric) {
        SymmetricMatching matching = match_symmetric(cpu, matrix);
        result.row_scaling = result.column_scaling = std::move(matching.scaling);
        result.structural_rank = matching.structural_rank;
        if (matching.pairs > 0) result.partner = std::move(matching.partner);
        return;
    }
    if (may_match_any && double(matrix.nonzeros) <= max_entries_per_row * double(matrix.rows)) {
        AnyMatching matching = match_any(matrix);
        result.by_pattern = !matching.row_of_column.empty();
        if (result.by_pattern) {
            result.row_of_column = std::move(matching.row_of_column);
            result.row_scaling = std::move(matching.row_scaling);
            result.column_scaling = std::move(matching.column_scaling);
            return;
        }
    }
    ColumnMatching matching = match_columns(cpu, matrix);
    result.row_scaling = std::move(matching.row_scaling);
    result.column_scaling = std::move(matching.column_scaling);
    result.row_of_column = std::move(matching.row_of_column);
    result.structural_rank = matching.structural_rank;
}

}  // namespace

template <class T>
bool Arrangement::suits(const CsrView<T>& matrix) const {
    if (structural_rank < matrix.rows) return false;
    double smallest = std::numeric_limits<double>::infinity(), largest = 0;
    const auto measure = [&](double size) {
        if (size > 0) smallest = std::min(smallest, size);
        largest = std::max(largest, size);
    };
    std::vector<double> in_column(std::size_t(matrix.rows), 0);
    for (Index i = 0; i < matrix.rows; ++i) {
        double in_row = 0;
        for (Offset e = matrix.row_offsets[i]; e < matrix.row_offsets[i + 1]; ++e) {
            const Index j = matrix.column_indices[e];
            const double size = std::abs(double(matrix.values[e])) * column_scaling[j];
            in_row = std::max(in_row, size);
            in_column[j] = std::max(in_column[j], row_scaling[i] * size);
        }
        measure(row_scaling[i] * in_row);
    }
    std::ranges::for_each(in_column, measure);
    return largest <= 1e5 * smallest;
}

template <class T>
Arrangement arrange(const Context& cpu, const CsrView<T>& matrix, bool symmetric,
                    const DirectOptions& options, bool may_match_any) {
    Arrangement result;
    result.symmetric = symmetric;
    result.memory_share = options.memory_share;
    std::vector<double> scaling = scaling_of_large_diagonal(matrix);
    const bool has_small = matrix.rows > 0 && scaling.empty();
    const bool is_weak =
        has_small || (!symmetric && has_large_entries(cpu, matrix, scaling.data()));
    result.matched = options.matching ? *options.matching : is_weak && !is_dense(matrix);
    result.structural_rank = matrix.rows;
    result.row_of_column.resize(std::size_t(matrix.rows));
    std::iota(result.row_of_column.begin(), result.row_of_column.end(), 0);
    result.block_of_column.assign(std::size_t(matrix.rows), 0);
    if (result.matched) {
        match(cpu, matrix, may_match_any && has_small, result);
    } else if (is_weak && is_dense(matrix)) {
        equilibrate(matrix, result.row_scaling, result.column_scaling);
    } else {
        if (has_small) scaling = copy_to_host(cpu, diagonal_scaling(cpu, matrix));
        result.row_scaling = scaling;
        result.column_scaling = std::move(scaling);
    }
    round_to_powers_of_two(result.row_scaling);
    round_to_powers_of_two(result.column_scaling);
    if (!symmetric) {
        result.blocks = strong_components(matrix, result.row_of_column, result.block_of_column);
    }
    // A symmetric matrix may lack images of negligible entries, another one have all of them.
    const bool is_in_place = symmetric || (result.blocks == 1 && !result.matched);
    if (!is_in_place || !has_symmetric_pattern(matrix)) {
        result.symmetric_pattern = block_pattern(matrix, result);
    }
    return result;
}

std::vector<Index> elimination_order(const Context& cpu, const PatternView& pattern,
                                     const Arrangement& arrangement) {
    if (!arrangement.partner.empty()) return order_pairs(cpu, pattern, arrangement.partner);
    if (arrangement.blocks == 1) {
        return minimum_degree(pattern.rows, pattern.offsets, pattern.columns);
    }
    const std::vector<Index> order = order_coupled(pattern);
    // Block by block, by counting.
    std::vector<Index> next(std::size_t(arrangement.blocks) + 1, 0), sorted(order.size());
    for (const Index block : arrangement.block_of_column) ++next[block + 1];
    std::partial_sum(next.begin(), next.end(), next.begin());
    for (const Index j : order) sorted[next[arrangement.block_of_column[j]]++] = j;
    return sorted;
}

template bool Arrangement::suits(const CsrView<float>&) const;
template bool Arrangement::suits(const CsrView<double>&) const;
template Arrangement arrange(const Context&, const CsrView<float>&, bool, const DirectOptions&,
                             bool);
template Arrangement arrange(const Context&, const CsrView<double>&, bool, const DirectOptions&,
                             bool);

}  // namespace tessera::direct
