#include "sparse/ordering/pair_graph.hpp"

#include <algorithm>

#include "base/parallel.hpp"

namespace tessera::ordering {

template <class T>
PairGraph make_pair_graph(const Context& cpu, const CsrView<T>& matrix,
                          std::span<const Index> partner) {
    PairGraph graph;
    std::vector<Index> vertex_of_row(std::size_t(matrix.rows), -1);
    for (Index i = 0; i < matrix.rows; ++i) {
        if (vertex_of_row[i] >= 0) continue;
        const Index other = partner.empty() ? i : partner[i];
        vertex_of_row[i] = vertex_of_row[other] = graph.vertices();
        graph.first_row.push_back(i);
        graph.second_row.push_back(other == i ? -1 : other);
    }

    const Index vertices = graph.vertices();
    const auto gather = [&](Index vertex, std::vector<Index>& found) {
        found.clear();
        for (const Index row : {graph.first_row[vertex], graph.second_row[vertex]}) {
            if (row < 0) continue;
            for (Offset k = matrix.row_offsets[row]; k < matrix.row_offsets[row + 1]; ++k) {
                const Index to = vertex_of_row[matrix.column_indices[k]];
                if (to != vertex) found.push_back(to);
            }
        }
        std::ranges::sort(found);
        found.erase(std::unique(found.begin(), found.end()), found.end());
    };
    graph.offsets.assign(std::size_t(vertices) + 1, 0);
    const auto count = [&](Offset first, Offset last) {
        std::vector<Index> found;
        for (Offset v = first; v < last; ++v) {
            gather(Index(v), found);
            graph.offsets[v + 1] = Offset(found.size());
        }
    };
    parallel_ranges(cpu.threads(), vertices, count, 1024);
    for (Index v = 0; v < vertices; ++v) graph.offsets[v + 1] += graph.offsets[v];
    graph.neighbours.resize(std::size_t(graph.offsets[vertices]));
    const auto fill = [&](Offset first, Offset last) {
        std::vector<Index> found;
        for (Offset v = first; v < last; ++v) {
            gather(Index(v), found);
            std::ranges::copy(found, graph.neighbours.begin() + graph.offsets[v]);
        }
    };
    parallel_ranges(cpu.threads(), vertices, fill, 1024);
    return graph;
}

template PairGraph make_pair_graph<float>(const Context&, const CsrView<float>&,
                                          std::span<const Index>);
template PairGraph make_pair_graph<double>(const Context&, const CsrView<double>&,
                                           std::span<const Index>);

}  // namespace tessera::ordering
