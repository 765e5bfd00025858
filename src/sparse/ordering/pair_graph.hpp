#pragma once

#include <span>
#include <vector>

#include "tessera/detail/ordering.hpp"

namespace tessera::ordering {

/// The graph of a symmetric pattern with the rows of a pair as one vertex. Vertices are numbered by
/// their first rows; neighbours are ascending and without the vertex itself.
struct PairGraph {
    std::vector<Index> first_row;
    std::vector<Index> second_row;  ///< Second row of the pair; -1: a single row.
    std::vector<Offset> offsets;
    std::vector<Index> neighbours;

    Index vertices() const { return Index(first_row.size()); }
    Index rows(Index vertex) const { return second_row[vertex] < 0 ? 1 : 2; }
    std::span<const Index> neighbours_of(Index vertex) const {
        return {neighbours.data() + offsets[vertex],
                std::size_t(offsets[vertex + 1] - offsets[vertex])};
    }
};

template <class T>
PairGraph make_pair_graph(const Context& cpu, const CsrView<T>& matrix,
                          std::span<const Index> partner);

/// The vertices in their new order.
std::vector<Index> reverse_cuthill_mckee(const PairGraph& graph);

}  // namespace tessera::ordering
