#include "sparse/ordering/pair_graph.hpp"

#include "base/gather_rows.hpp"

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
    auto gathered =
        gather_rows(cpu.threads(), vertices, [&](Offset vertex, std::vector<Index>& list) {
            prefetch_rows(matrix, vertex, vertices,
                          [&](Offset other) { return graph.second_row[other]; });
            for (const Index row : {graph.first_row[vertex], graph.second_row[vertex]}) {
                if (row < 0) continue;
                for (Offset k = matrix.row_offsets[row]; k < matrix.row_offsets[row + 1]; ++k) {
                    const Index to = vertex_of_row[matrix.column_indices[k]];
                    if (to != vertex) list.push_back(to);
                }
            }
        });
    graph.offsets = std::move(gathered.offsets);
    graph.neighbours = std::move(gathered.items);
    return graph;
}

template PairGraph make_pair_graph<float>(const Context&, const CsrView<float>&,
                                          std::span<const Index>);
template PairGraph make_pair_graph<double>(const Context&, const CsrView<double>&,
                                           std::span<const Index>);

}  // namespace tessera::ordering
