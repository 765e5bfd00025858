#pragma once

#include <algorithm>
#include <numeric>
#include <set>

#include "sparse/ordering/pair_graph.hpp"
#include "sparse/test_symmetric_matrices.hpp"

/// Graphs that orderings are tested with.
namespace tessera::test {

/// The graph of a matrix without pairs.
inline ordering::PairGraph graph_of(const CsrMatrix<double>& matrix) {
    return ordering::make_pair_graph<double>(host(), matrix.view(), {});
}

inline ordering::PairGraph path_graph(Index vertices) {
    SymmetricEntries entries(vertices);
    for (Index v = 0; v + 1 < vertices; ++v) entries.add(v, v + 1, 1);
    return graph_of(entries.matrix());
}

/// The graph with its vertices renumbered at random.
inline ordering::PairGraph shuffled(std::mt19937_64& random, const ordering::PairGraph& graph) {
    std::vector<Index> number(std::size_t(graph.vertices()));
    std::iota(number.begin(), number.end(), 0);
    std::shuffle(number.begin(), number.end(), random);
    SymmetricEntries entries(graph.vertices());
    for (Index v = 0; v < graph.vertices(); ++v) {
        for (const Index to : graph.neighbours_of(v)) entries.add(number[v], number[to], 1);
    }
    return graph_of(entries.matrix());
}

/// About half of the rows in pairs of any two.
inline std::vector<Index> random_pairs(std::mt19937_64& random, Index rows) {
    std::vector<Index> order(static_cast<std::size_t>(rows)), partner(order.size());
    std::iota(order.begin(), order.end(), 0);
    std::iota(partner.begin(), partner.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    for (Index k = 0; k + 1 < rows / 2; k += 2) {
        partner[order[k]] = order[k + 1];
        partner[order[k + 1]] = order[k];
    }
    return partner;
}

/// Number of entries of the factor below the diagonal when rows are eliminated in this order.
inline Offset fill_in(const CsrView<double>& matrix, const std::vector<Index>& order) {
    std::vector<Index> position(order.size());
    for (std::size_t k = 0; k < order.size(); ++k) position[order[k]] = Index(k);
    std::vector<std::vector<Index>> below(order.size());
    for (Index i = 0; i < matrix.rows; ++i) {
        for (Offset k = matrix.row_offsets[i]; k < matrix.row_offsets[i + 1]; ++k) {
            const Index a = position[i], b = position[matrix.column_indices[k]];
            if (a < b) below[a].push_back(b);
        }
    }
    Offset entries = 0;
    for (auto& column : below) {
        std::ranges::sort(column);
        column.erase(std::unique(column.begin(), column.end()), column.end());
        entries += Offset(column.size());
        if (column.size() > 1) {  // The first one inherits the others.
            auto& parent = below[column.front()];
            parent.insert(parent.end(), column.begin() + 1, column.end());
        }
    }
    return entries;
}

}  // namespace tessera::test
