#include <cmath>

#include "base/checks.hpp"
#include "base/parallel.hpp"
#include "precond/multigrid/node_graph.hpp"

namespace tessera::multigrid {

namespace {

/// The couplings of one matrix.
template <class T>
struct Couplings {
    const BsrView<T>& matrix;
    const std::vector<double>& coordinates;
    int dimensions;
    std::vector<double> norms;      ///< ||A_ii||
    std::vector<double> distances;  ///< The sum of |x_i - x_j|^-2 over the neighbours j.

    /// Of block k; summed by columns where it is below the diagonal, so that blocks which are each
    /// other's transposes have one norm.
    double norm(Offset k, bool below) const {
        const T* const values = matrix.values + k * matrix.block_size();
        const int n = matrix.height;
        double sum = 0;
        for (int e = 0; e < n * n; ++e) {
            const double value = double(values[below ? e % n * n + e / n : e]);
            sum += value * value;
        }
        return std::sqrt(sum);
    }
    /// |x_i - x_j|^-2; nodes at one place are as near as can be.
    double nearness(Index i, Index j) const {
        double square = 0;
        for (int axis = 0; axis < dimensions; ++axis) {
            const double step =
                coordinates[std::size_t(i) * std::size_t(dimensions) + std::size_t(axis)] -
                coordinates[std::size_t(j) * std::size_t(dimensions) + std::size_t(axis)];
            square += step * step;
        }
        return 1 / std::max(square, 1e-300);
    }
};

template <class F>
void each_node(const Context& context, Index nodes, F&& f) {
    parallel_ranges(
        context.threads(), nodes,
        [&](Offset first, Offset last) {
            for (Offset i = first; i < last; ++i) f(Index(i));
        },
        1024);
}

}  // namespace

template <class T>
NodeGraph strong_couplings(const Context& context, const BsrView<T>& matrix, Strength strength,
                           double theta, const std::vector<double>& coordinates, int dimensions) {
    const Index nodes = matrix.block_rows;
    const bool by_norm = strength != Strength::distance;
    const bool by_distance = strength != Strength::frobenius;
    require(matrix.block_columns == nodes && matrix.height == matrix.width,
            "strong_couplings: the matrix and its blocks must be square");
    require(!by_distance || Offset(coordinates.size()) == Offset(nodes) * dimensions,
            "strong_couplings: ", nodes, " nodes in ", dimensions, " dimensions need ",
            Offset(nodes) * dimensions, " coordinates, not ", coordinates.size());
    Couplings<T> couplings{matrix, coordinates, dimensions, {}, {}};
    couplings.norms.resize(std::size_t(nodes));
    couplings.distances.resize(std::size_t(by_distance ? nodes : 0));
    each_node(context, nodes, [&](Index i) {
        double sum = 0;
        for (Offset k = matrix.row_offsets[i]; k < matrix.row_offsets[i + 1]; ++k) {
            const Index j = matrix.column_indices[k];
            if (j == i) couplings.norms[std::size_t(i)] = couplings.norm(k, false);
            if (j != i && by_distance) sum += couplings.nearness(i, j);
        }
        if (by_distance) couplings.distances[std::size_t(i)] = sum;
    });

    // use(j, weight) for the strong neighbours of i, itself among them.
    const auto visit = [&](Index i, auto&& use) {
        const auto a = std::size_t(i);
        bool itself = false;
        const auto use_itself = [&] {
            if (!std::exchange(itself, true)) use(i, 1.0);
        };
        for (Offset k = matrix.row_offsets[i]; k < matrix.row_offsets[i + 1]; ++k) {
            const Index j = matrix.column_indices[k];
            const auto b = std::size_t(j);
            if (j >= i) use_itself();
            if (j == i) continue;
            double weight = 0;
            if (by_norm) {
                weight = couplings.norm(k, j < i) /
                         (std::sqrt(couplings.norms[a]) * std::sqrt(couplings.norms[b]));
                if (!(weight > theta)) continue;
            }
            if (by_distance) {
                weight = couplings.nearness(i, j) /
                         (std::sqrt(couplings.distances[a]) * std::sqrt(couplings.distances[b]));
                if (!(weight > theta)) continue;
            }
            use(j, weight);
        }
        use_itself();
    };
    NodeGraph graph;
    graph.row_offsets.assign(std::size_t(nodes) + 1, 0);
    each_node(context, nodes, [&](Index i) {
        visit(i, [&](Index, double) { ++graph.row_offsets[std::size_t(i) + 1]; });
    });
    for (std::size_t i = 1; i < graph.row_offsets.size(); ++i) {
        graph.row_offsets[i] += graph.row_offsets[i - 1];
    }
    graph.neighbours.resize(std::size_t(graph.row_offsets.back()));
    graph.weights.resize(graph.neighbours.size());
    each_node(context, nodes, [&](Index i) {
        auto at = std::size_t(graph.row_offsets[std::size_t(i)]);
        visit(i, [&](Index j, double weight) {
            graph.neighbours[at] = j;
            graph.weights[at++] = float(weight);
        });
    });
    return graph;
}

template decltype(strong_couplings<float>) strong_couplings<float>;
template decltype(strong_couplings<double>) strong_couplings<double>;

}  // namespace tessera::multigrid
