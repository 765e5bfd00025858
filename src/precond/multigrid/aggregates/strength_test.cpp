#include <algorithm>
#include <array>

#include "precond/multigrid/aggregates/node_graph.hpp"
#include "support/messages.hpp"

namespace tessera::test {

using namespace multigrid;

namespace {

/// A matrix of n x n blocks in host memory, and places of its nodes in the plane.
struct Example {
    BsrMatrix<double> matrix;
    std::vector<double> positions;
};

/// Symmetric, with zero blocks, also on the diagonal, and nodes at one place.
Example example(std::mt19937_64& random, Index nodes, int n) {
    std::uniform_real_distribution<double> uniform(-1, 1);
    const auto below = [&](unsigned limit) { return random() % limit; };
    std::vector<std::vector<std::pair<Index, std::vector<double>>>> rows;
    rows.resize(std::size_t(nodes));
    for (Index i = 0; i < nodes; ++i) {
        for (Index j = i; j < nodes; ++j) {
            if (i != j && below(unsigned(nodes)) > 4) continue;
            const double size = below(6) == 0 ? 0 : std::exp(4 * uniform(random));
            std::vector<double> block(std::size_t(n * n));
            for (double& value : block) value = size * uniform(random);
            std::vector<double> transposed(block.size());
            for (int e = 0; e < n * n; ++e) {
                transposed[std::size_t(e % n * n + e / n)] = block[std::size_t(e)];
            }
            rows[std::size_t(i)].emplace_back(j, block);
            if (i != j) rows[std::size_t(j)].emplace_back(i, transposed);
        }
    }
    std::vector<Offset> offsets{0};
    std::vector<Index> columns;
    std::vector<double> values;
    for (auto& row : rows) {
        std::ranges::sort(row);
        for (const auto& [column, block] : row) {
            columns.push_back(column);
            values.insert(values.end(), block.begin(), block.end());
        }
        offsets.push_back(Offset(columns.size()));
    }
    Example made{BsrMatrix<double>(host(), nodes, nodes, n, n, offsets.back()), {}};
    made.matrix.row_offsets() = copy_to_buffer(host(), offsets);
    made.matrix.column_indices() = copy_to_buffer(host(), columns);
    made.matrix.values() = copy_to_buffer(host(), values);
    std::vector<double>& x = made.positions;
    for (Index i = 0; i < nodes; ++i) {
        const bool same = i > 0 && below(8) == 0;
        for (int axis = 0; axis < 2; ++axis) x.push_back(same ? x[x.size() - 2] : uniform(random));
    }
    return made;
}

/// The graph by its definition, node by node.
struct Expected {
    std::vector<Offset> row_offsets{0};
    std::vector<Index> neighbours;
    std::vector<float> weights;
    std::vector<Index> alone;

    Expected(const Example& from, AmgStrength strength, double theta) {
        const BsrView<double> a = from.matrix.view();
        for (Index i = 0; i < a.block_rows; ++i) {
            std::vector<std::pair<Index, float>> row{{i, 1.0F}};
            bool coupled = false;
            for (Offset k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) {
                const Index j = a.column_indices[k];
                if (j == i) continue;
                const double by_norm =
                    norm(a, k) / (std::sqrt(diagonal(a, i)) * std::sqrt(diagonal(a, j)));
                const double by_distance = near(from, i, j) / (std::sqrt(nearness(from, i)) *
                                                               std::sqrt(nearness(from, j)));
                coupled = coupled || by_norm > theta;
                if (strength != AmgStrength::distance && !(by_norm > theta)) continue;
                if (strength != AmgStrength::frobenius && !(by_distance > theta)) continue;
                const bool takes_norm = strength == AmgStrength::frobenius;
                row.emplace_back(j, float(takes_norm ? by_norm : by_distance));
            }
            std::ranges::sort(row);
            for (const auto& [j, weight] : row) {
                neighbours.push_back(j);
                weights.push_back(weight);
            }
            row_offsets.push_back(Offset(neighbours.size()));
            alone.push_back(coupled ? 0 : 1);
        }
    }

    static double norm(const BsrView<double>& a, Offset k) {
        const int n = a.height;
        const double* const block = a.values + k * n * n;
        double sum = 0;
        for (int r = 0; r < n; ++r) {
            sum += block[r * n + r] * block[r * n + r];
            for (int c = 0; c < r; ++c) {
                sum += block[r * n + c] * block[r * n + c] + block[c * n + r] * block[c * n + r];
            }
        }
        return std::sqrt(sum);
    }
    static double diagonal(const BsrView<double>& a, Index i) {
        for (Offset k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) {
            if (a.column_indices[k] == i) return norm(a, k);
        }
        return 0;
    }
    static double near(const Example& from, Index i, Index j) {
        double square = 0;
        for (std::size_t axis = 0; axis < 2; ++axis) {
            const double step = from.positions[2 * std::size_t(i) + axis] -
                                from.positions[2 * std::size_t(j) + axis];
            square += step * step;
        }
        return 1 / std::max(square, 1e-300);
    }
    /// In eight parts, as it is computed.
    static double nearness(const Example& from, Index i) {
        const BsrView<double> a = from.matrix.view();
        std::array<double, 8> sums{};
        for (Offset k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) {
            const Index j = a.column_indices[k];
            if (j != i) sums[std::size_t(k - a.row_offsets[i]) % 8] += near(from, i, j);
        }
        double sum = 0;
        for (const double part : sums) sum += part;
        return sum;
    }
};

BsrMatrix<double> on_device(const BsrMatrix<double>& from) {
    const BsrView<double> a = from.view();
    BsrMatrix<double> to(context(), a.block_rows, a.block_columns, a.height, a.width, a.blocks);
    to.row_offsets() = copy_to_buffer(context(), copy_to_host(host(), from.row_offsets()));
    to.column_indices() = copy_to_buffer(context(), copy_to_host(host(), from.column_indices()));
    to.values() = copy_to_buffer(context(), copy_to_host(host(), from.values()));
    return to;
}

/// Weights to the last bit on the CPU; kernels may fuse products and sums.
TEST(strength, graph_by_definition) {
    auto random = generator();
    for (const int n : {1, 2, 3, 6}) {
        const Example made = example(random, 120, n);
        const BsrMatrix<double> matrix = on_device(made.matrix);
        for (const auto strength :
             {AmgStrength::frobenius, AmgStrength::distance, AmgStrength::both}) {
            for (const double theta : {0.0, 0.02, 0.3}) {
                const NodeGraph graph = strong_couplings(
                    context(), matrix.view(), block_norms(context(), matrix.view()), strength,
                    theta, {2, copy_to_buffer(context(), made.positions)});
                const Expected expected(made, strength, theta);
                EXPECT_EQ(copy_to_host(context(), graph.row_offsets), expected.row_offsets);
                EXPECT_EQ(copy_to_host(context(), graph.neighbours), expected.neighbours);
                EXPECT_EQ(copy_to_host(context(), graph.alone), expected.alone);
                const auto weights = copy_to_host(context(), graph.weights);
                if (!context().on_gpu()) {
                    EXPECT_EQ(weights, expected.weights);
                }
                ASSERT_EQ(weights.size(), expected.weights.size());
                for (std::size_t k = 0; k < weights.size(); ++k) {
                    ASSERT_FLOAT_EQ(weights[k], expected.weights[k]);
                }
            }
        }
    }
}

}  // namespace

}  // namespace tessera::test
