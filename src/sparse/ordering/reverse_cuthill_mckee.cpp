#include <algorithm>
#include <cmath>

#include "sparse/ordering/pair_graph.hpp"

namespace tessera::ordering {

namespace {

/// Whether a vertex has so many neighbours that the others are ordered without it: the rule of AMD.
bool is_dense(const PairGraph& graph, Index vertex) {
    return double(graph.of(vertex).size()) > 10 * std::sqrt(double(graph.vertices()));
}

/// Walks a component level by level.
class LevelWalk {
  public:
    /// Vertices of `left_out` are met by no walk, and do not count as neighbours.
    LevelWalk(const PairGraph& graph, const std::vector<Index>& left_out)
        : graph_(graph), degree_(std::size_t(graph.vertices())), seen_(degree_.size(), -1) {
        for (Index v = 0; v < graph.vertices(); ++v) degree_[v] = Index(graph.of(v).size());
        for (const Index v : left_out) {
            for (const Index to : graph.of(v)) --degree_[to];
        }
        for (const Index v : left_out) degree_[v] = -1;
    }

    struct Levels {
        Index count;
        std::size_t last_level;  ///< Where it starts in `order`.
    };

    /// Appends the component of `start` to `order`: each vertex is followed by its neighbours that
    /// are new, those of least degree first.
    Levels walk(Index start, std::vector<Index>& order) {
        ++walks_;
        std::size_t level = order.size();
        order.push_back(start);
        seen_[start] = walks_;
        Levels levels{0, level};
        while (level < order.size()) {
            const std::size_t end = order.size();
            ++levels.count;
            levels.last_level = level;
            for (; level < end; ++level) add_neighbours(order[level], order);
        }
        return levels;
    }

    Index degree(Index vertex) const { return degree_[vertex]; }

  private:
    void add_neighbours(Index vertex, std::vector<Index>& order) {
        const std::size_t first = order.size();
        for (const Index to : graph_.of(vertex)) {
            if (seen_[to] == walks_ || degree_[to] < 0) continue;
            seen_[to] = walks_;
            order.push_back(to);
        }
        std::stable_sort(order.begin() + Offset(first), order.end(),
                         [&](Index a, Index b) { return degree(a) < degree(b); });
    }

    const PairGraph& graph_;
    std::vector<Index> degree_;  ///< -1: left out.
    std::vector<Index> seen_;    ///< The last walk that met the vertex.
    Index walks_ = 0;
};

}  // namespace

/// Components start at a pseudo-peripheral vertex (A. George, J. W. H. Liu, "An implementation of a
/// pseudoperipheral node finder", ACM Trans. Math. Softw. 5, 1979). Dense vertices are last, those
/// with the most neighbours behind the others.
std::vector<Index> reverse_cuthill_mckee(const PairGraph& graph) {
    std::vector<Index> dense;
    for (Index v = 0; v < graph.vertices(); ++v) {
        if (is_dense(graph, v)) dense.push_back(v);
    }
    LevelWalk walk(graph, dense);
    std::vector<Index> order, component;
    std::vector<char> done(std::size_t(graph.vertices()), 0);
    order.reserve(done.size());
    for (const Index v : dense) done[v] = 1;
    for (Index first = 0; first < graph.vertices(); ++first) {
        if (done[first]) continue;
        Index start = first;
        component.clear();
        LevelWalk::Levels levels = walk.walk(start, component);
        for (;;) {
            const auto last_level = component.begin() + Offset(levels.last_level);
            const Index end = *std::min_element(last_level, component.end(), [&](Index a, Index b) {
                return walk.degree(a) < walk.degree(b);
            });
            std::vector<Index> other;
            const LevelWalk::Levels found = walk.walk(end, other);
            if (found.count <= levels.count) break;
            component.swap(other);
            levels = found;
        }
        for (const Index vertex : component) done[vertex] = 1;
        order.insert(order.end(), component.begin(), component.end());
    }
    std::ranges::reverse(order);
    std::ranges::stable_sort(dense, {}, [&](Index v) { return graph.of(v).size(); });
    order.insert(order.end(), dense.begin(), dense.end());
    return order;
}

}  // namespace tessera::ordering
