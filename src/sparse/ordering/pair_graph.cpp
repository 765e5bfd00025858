#include "sparse/ordering/pair_graph.hpp"

#include <algorithm>
#include <numeric>

#include "base/parallel.hpp"
#include "base/prefetch_rows.hpp"

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
    graph.offsets.assign(std::size_t(vertices) + 1, 0);
    const auto gather = [&](Index vertex, std::vector<Index>& all) {
        const Offset before = Offset(all.size());
        for (const Index row : {graph.first_row[vertex], graph.second_row[vertex]}) {
            if (row < 0) continue;
            for (Offset k = matrix.row_offsets[row]; k < matrix.row_offsets[row + 1]; ++k) {
                const Index to = vertex_of_row[matrix.column_indices[k]];
                if (to != vertex) all.push_back(to);
            }
        }
        const auto found = all.begin() + before;
        std::sort(found, all.end());
        all.erase(std::unique(found, all.end()), all.end());
        graph.offsets[vertex + 1] = Offset(all.size()) - before;
    };
    const Offset parts = std::clamp<Offset>(vertices / 1024, 1, cpu.threads());
    std::vector<std::vector<Index>> found(static_cast<std::size_t>(parts));
    parallel_parts(cpu.threads(), vertices, parts, [&](Offset part, Offset first, Offset last) {
        for (Offset v = first; v < last; ++v) {
            prefetch_rows(matrix, v, vertices, [&](Offset w) { return graph.second_row[w]; });
            gather(Index(v), found[part]);
        }
    });
    std::partial_sum(graph.offsets.begin(), graph.offsets.end(), graph.offsets.begin());
    graph.neighbours.resize(std::size_t(graph.offsets[vertices]));
    parallel_parts(cpu.threads(), vertices, parts, [&](Offset part, Offset first, Offset) {
        std::ranges::copy(found[part], graph.neighbours.begin() + graph.offsets[first]);
    });
    return graph;
}

template PairGraph make_pair_graph<float>(const Context&, const CsrView<float>&,
                                          std::span<const Index>);
template PairGraph make_pair_graph<double>(const Context&, const CsrView<double>&,
                                           std::span<const Index>);

}  // namespace tessera::ordering
