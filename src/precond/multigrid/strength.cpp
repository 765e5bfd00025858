#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/checks.hpp"
#include "base/parallel.hpp"
#include "precond/multigrid/node_graph.hpp"

namespace tessera::multigrid {

namespace {

/// The couplings of one matrix.
template <class T>
struct Couplings {
    const BsrView<T>& matrix;
    const NodeCoordinates& coordinates;
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
        const auto d = std::size_t(coordinates.dimensions);
        for (std::size_t axis = 0; axis < d; ++axis) {
            const double step = coordinates.values[std::size_t(i) * d + axis] -
                                coordinates.values[std::size_t(j) * d + axis];
            square += step * step;
        }
        return 1 / std::max(square, 1e-300);
    }
};

}  // namespace

template <class T>
NodeGraph strong_couplings(const Context& context, const BsrView<T>& matrix, AmgStrength strength,
                           double theta, const NodeCoordinates& coordinates) {
    const Index nodes = matrix.block_rows;
    const bool by_norm = strength != AmgStrength::distance;
    const bool by_distance = strength != AmgStrength::frobenius;
    require(matrix.block_columns == nodes && matrix.height == matrix.width,
            "strong_couplings: the matrix and its blocks must be square");
    const Offset numbers = Offset(nodes) * coordinates.dimensions;
    require(!by_distance || Offset(coordinates.values.size()) == numbers,
            "strong_couplings: ", nodes, " nodes in ", coordinates.dimensions, " dimensions need ",
            numbers, " coordinates, not ", coordinates.values.size());
    Couplings<T> couplings{matrix, coordinates, {}, {}};
    couplings.norms.resize(std::size_t(nodes));
    couplings.distances.resize(std::size_t(by_distance ? nodes : 0));
    parallel_ranges(
        context.threads(), nodes,
        [&](Offset first, Offset last) {
            for (Index i = Index(first); i < Index(last); ++i) {
                double sum = 0;
                for (Offset k = matrix.row_offsets[i]; k < matrix.row_offsets[i + 1]; ++k) {
                    const Index j = matrix.column_indices[k];
                    if (j == i) couplings.norms[std::size_t(i)] = couplings.norm(k, false);
                    if (j != i && by_distance) sum += couplings.nearness(i, j);
                }
                if (by_distance) couplings.distances[std::size_t(i)] = sum;
            }
        },
        1024);

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
    const Offset parts = std::clamp<Offset>(nodes / 1024, 1, context.threads());
    std::vector<NodeGraph> pieces(static_cast<std::size_t>(parts));
    NodeGraph graph;
    graph.row_offsets.assign(std::size_t(nodes) + 1, 0);
    parallel_parts(context.threads(), nodes, parts, [&](Offset part, Offset first, Offset last) {
        NodeGraph& piece = pieces[std::size_t(part)];
        for (Offset i = first; i < last; ++i) {
            const std::size_t before = piece.neighbours.size();
            visit(Index(i), [&](Index j, double weight) {
                piece.neighbours.push_back(j);
                piece.weights.push_back(float(weight));
            });
            graph.row_offsets[std::size_t(i) + 1] = Offset(piece.neighbours.size() - before);
        }
    });
    std::partial_sum(graph.row_offsets.begin(), graph.row_offsets.end(), graph.row_offsets.begin());
    for (const NodeGraph& piece : pieces) {
        graph.neighbours.insert(graph.neighbours.end(), piece.neighbours.begin(),
                                piece.neighbours.end());
        graph.weights.insert(graph.weights.end(), piece.weights.begin(), piece.weights.end());
    }
    return graph;
}

template decltype(strong_couplings<float>) strong_couplings<float>;
template decltype(strong_couplings<double>) strong_couplings<double>;

}  // namespace tessera::multigrid
