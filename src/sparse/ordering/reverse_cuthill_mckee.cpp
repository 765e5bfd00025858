#include <algorithm>
#include <cmath>

#include "sparse/ordering/pair_graph.hpp"

namespace tessera::ordering {

namespace {

/// Whether a vertex has so many neighbours that it is ordered last: the rule of AMD.
bool is_dense(const PairGraph& graph, Index vertex) {
    return double(graph.neighbours_of(vertex).size()) > 10 * std::sqrt(double(graph.vertices()));
}

/// Breadth-first search of a component, level by level.
class BreadthFirstSearch {
  public:
    /// Vertices of `excluded` are not visited and do not count as neighbours.
    BreadthFirstSearch(const PairGraph& graph, const std::vector<Index>& excluded)
        : graph_(graph), vertices_(std::size_t(graph.vertices())) {
        for (Index v = 0; v < graph.vertices(); ++v) {
            vertices_[v].degree = Index(graph.neighbours_of(v).size());
        }
        for (const Index v : excluded) {
            for (const Index to : graph.neighbours_of(v)) --vertices_[to].degree;
        }
        for (const Index v : excluded) vertices_[v].degree = -1;
    }

    struct Levels {
        Index count;
        std::size_t last_level;  ///< Position in `order` of the last level.
    };

    /// Appends the component of `start` to `order`: each vertex is followed by its unvisited
    /// neighbours, by ascending degree.
    Levels search(Index start, std::vector<Index>& order) {
        ++searches_;
        std::size_t level = order.size();
        order.push_back(start);
        vertices_[start].seen = searches_;
        Levels levels{0, level};
        while (level < order.size()) {
            const std::size_t end = order.size();
            ++levels.count;
            levels.last_level = level;
            for (; level < end; ++level) {
                prefetch(order, level);
                add_neighbours(order[level], order);
            }
        }
        return levels;
    }

    Index degree(Index vertex) const { return vertices_[vertex].degree; }

  private:
    struct Vertex {
        Index degree;    ///< -1: excluded.
        Index seen = 0;  ///< Number of the last search that visited it.
    };

    /// Prefetches for the vertices that follow in `order`: three dependent reads each. Inlined, as
    /// compilers drop calls that only prefetch.
    [[gnu::always_inline]] void prefetch(const std::vector<Index>& order, std::size_t at) const {
        constexpr std::size_t step = 8;
        if (at + 3 * step >= order.size()) return;
        __builtin_prefetch(&graph_.offsets[order[at + 3 * step]]);
        __builtin_prefetch(graph_.neighbours_of(order[at + 2 * step]).data());
        const std::span<const Index> neighbours = graph_.neighbours_of(order[at + step]);
        for (const Index to : neighbours.first(std::min(neighbours.size(), 2 * step))) {
            __builtin_prefetch(&vertices_[to]);
        }
    }

    void add_neighbours(Index vertex, std::vector<Index>& order) {
        const std::size_t first = order.size();
        for (const Index to : graph_.neighbours_of(vertex)) {
            if (vertices_[to].seen == searches_ || vertices_[to].degree < 0) continue;
            vertices_[to].seen = searches_;
            order.push_back(to);
        }
        // As neighbours ascend, this is the stable order by degree.
        std::ranges::sort(std::span(order).subspan(first), {},
                          [&](Index v) { return std::pair(degree(v), v); });
    }

    const PairGraph& graph_;
    std::vector<Vertex> vertices_;
    Index searches_ = 0;
};

}  // namespace

/// Components start at a pseudo-peripheral vertex (A. George, J. W. H. Liu, "An implementation of a
/// pseudoperipheral node finder", ACM Trans. Math. Softw. 5, 1979). Dense vertices are last, those
/// with the most neighbours after the others.
std::vector<Index> reverse_cuthill_mckee(const PairGraph& graph) {
    std::vector<Index> dense;
    for (Index v = 0; v < graph.vertices(); ++v) {
        if (is_dense(graph, v)) dense.push_back(v);
    }
    BreadthFirstSearch search(graph, dense);
    std::vector<Index> order, component;
    std::vector<char> done(std::size_t(graph.vertices()), 0);
    order.reserve(done.size());
    for (const Index v : dense) done[v] = 1;
    for (Index first = 0; first < graph.vertices(); ++first) {
        if (done[first]) continue;
        Index start = first;
        component.clear();
        BreadthFirstSearch::Levels levels = search.search(start, component);
        for (;;) {
            const auto last_level = component.begin() + Offset(levels.last_level);
            const Index end = *std::min_element(last_level, component.end(), [&](Index a, Index b) {
                return search.degree(a) < search.degree(b);
            });
            std::vector<Index> other;
            const BreadthFirstSearch::Levels candidate = search.search(end, other);
            if (candidate.count <= levels.count) break;
            component.swap(other);
            levels = candidate;
        }
        for (const Index vertex : component) done[vertex] = 1;
        order.insert(order.end(), component.begin(), component.end());
    }
    std::ranges::reverse(order);
    std::ranges::stable_sort(dense, {}, [&](Index v) { return graph.neighbours_of(v).size(); });
    order.insert(order.end(), dense.begin(), dense.end());
    return order;
}

}  // namespace tessera::ordering
