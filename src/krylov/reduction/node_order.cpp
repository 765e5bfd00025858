#include "krylov/reduction/node_order.hpp"

#include <algorithm>
#include <numeric>

namespace tessera {

namespace {

/// Sums of these over the columns of two rows are equal where the rows have the same columns, and
/// hardly elsewhere.
std::uint64_t column_hash(Index column) {
    const std::uint64_t z = (std::uint64_t(column) + 1) * 0x9e3779b97f4a7c15ULL;
    return (z ^ (z >> 32)) * 0xbf58476d1ce4e5b9ULL;
}

/// The kept columns of a kept row, ascending.
template <class T>
void columns_of(const KeptPart<T>& part, Index place, std::vector<Index>& columns) {
    columns.clear();
    const Index i = part.rows[std::size_t(place)];
    for (Offset e = part.matrix.row_offsets[i]; e < part.matrix.row_offsets[i + 1]; ++e) {
        const Index j = part.matrix.column_indices[e];
        if (part.number[std::size_t(j)] >= 0) columns.push_back(j);
    }
}

}  // namespace

template <class T>
std::vector<Index> find_node_order(const KeptPart<T>& part) {
    const auto rows = Index(part.rows.size());
    std::vector<std::uint64_t> hash(std::size_t(rows), 0);
    std::vector<Index> columns, first_columns;
    for (Index k = 0; k < rows; ++k) {
        columns_of(part, k, columns);
        for (const Index j : columns) hash[std::size_t(k)] += column_hash(j);
    }
    std::vector<Index> order(static_cast<std::size_t>(rows));
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, {}, [&](Index k) { return hash[std::size_t(k)]; });
    std::vector<Index> first(order.size());  // The first row of the node of each row.
    Offset in_nodes = 0, side_by_side = 0;
    for (std::size_t k = 1; k < hash.size(); ++k) side_by_side += Offset(hash[k] == hash[k - 1]);
    if (4 * side_by_side > Offset(rows)) return {};
    for (std::size_t begin = 0, end; begin < order.size(); begin = end) {
        end = begin;
        columns_of(part, order[begin], first_columns);
        while (end < order.size() &&
               hash[std::size_t(order[end])] == hash[std::size_t(order[begin])]) {
            columns_of(part, order[end], columns);
            if (columns != first_columns) return {};  // Equal hashes by chance.
            first[std::size_t(order[end])] = order[begin];
            ++end;
        }
        const auto size = Offset(end - begin);
        if (size >= 2 && size <= 6) in_nodes += size;
    }
    if (10 * in_nodes < 9 * Offset(rows)) return {};
    std::ranges::sort(order, {}, [&](Index k) { return std::pair(first[std::size_t(k)], k); });
    return order;
}

template std::vector<Index> find_node_order(const KeptPart<float>&);
template std::vector<Index> find_node_order(const KeptPart<double>&);

}  // namespace tessera
