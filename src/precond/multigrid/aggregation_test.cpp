#include "precond/multigrid/aggregation.hpp"

#include <algorithm>
#include <numeric>

#include "precond/multigrid/prolongator.hpp"
#include "support/messages.hpp"

namespace tessera::test {

using namespace multigrid;

namespace {

BsrMatrix<double> blocks_of(const std::string& problem, int block) {
    return to_bsr(host(), problems::generate<double>(host(), Spec(problem)).matrix.view(), block,
                  block);
}

NodeGraph graph_of(const std::string& problem, int block, double theta = 0.02) {
    return strong_couplings(host(), blocks_of(problem, block).view(), AmgStrength::frobenius,
                            theta);
}

/// Edges of the shortest path from a node to each other one; -1: none.
std::vector<int> distances_from(const NodeGraph& graph, Index start) {
    std::vector<int> distances(std::size_t(graph.nodes()), -1);
    std::vector<Index> queue{start};
    distances[std::size_t(start)] = 0;
    for (std::size_t next = 0; next < queue.size(); ++next) {
        const auto i = std::size_t(queue[next]);
        for (Offset k = graph.row_offsets[i]; k < graph.row_offsets[i + 1]; ++k) {
            const auto j = std::size_t(graph.neighbours[std::size_t(k)]);
            if (distances[j] >= 0) continue;
            distances[j] = distances[i] + 1;
            queue.push_back(Index(j));
        }
    }
    return distances;
}

/// Every node is in one aggregate, and some node of each aggregate, its root, is within three edges
/// of the others: one to a neighbour, two more by joining.
void check_aggregates(const NodeGraph& graph, const Aggregates& aggregates) {
    ASSERT_EQ(aggregates.of_node.size(), std::size_t(graph.nodes()));
    std::vector<std::vector<Index>> members(std::size_t(aggregates.count));
    for (Index i = 0; i < graph.nodes(); ++i) {
        const Index a = aggregates.of_node[std::size_t(i)];
        ASSERT_GE(a, 0);
        ASSERT_LT(a, aggregates.count);
        members[std::size_t(a)].push_back(i);
    }
    for (const auto& nodes : members) {
        ASSERT_FALSE(nodes.empty());
        int least = graph.nodes();
        for (const Index centre : nodes) {
            const auto distances = distances_from(graph, centre);
            int furthest = 0;
            for (const Index i : nodes) {
                const int distance = distances[std::size_t(i)];
                furthest = std::max(furthest, distance < 0 ? graph.nodes() : distance);
            }
            least = std::min(least, furthest);
        }
        EXPECT_LE(least, 3);
    }
}

}  // namespace

TEST(aggregation, aggregates_are_near_their_roots) {
    for (const auto& [problem, block] : {std::pair{"poisson2d:20", 1},
                                         {"poisson3d:9", 1},
                                         {"elasticity3d:7", 3},
                                         {"elasticity2d:15,element=t3,jitter=0.8", 2},
                                         {"circuit:18", 1},
                                         {"tridiagonal:50", 1}}) {
        SCOPED_TRACE(problem);
        const NodeGraph graph = graph_of(problem, block);
        for (const int second_pass : {0, 3, 9}) {
            check_aggregates(graph, aggregate(host(), graph, second_pass));
        }
    }
}

TEST(aggregation, sizes) {
    // 27 neighbours: roots alone have some 41 nodes, with a second pass some 21.
    const NodeGraph graph = graph_of("elasticity3d:20", 3);
    const double alone = double(graph.nodes()) / aggregate(host(), graph, 0).count;
    const double both = double(graph.nodes()) / aggregate(host(), graph, 3).count;
    EXPECT_GT(alone, 30);
    EXPECT_LT(alone, 55);
    EXPECT_GT(both, 15);
    EXPECT_LT(both, 28);
}

TEST(aggregation, does_not_depend_on_threads) {
    const NodeGraph graph = graph_of("elasticity3d:16", 3);
    const Aggregates one = aggregate(host(1), graph, 3);
    for (const int threads : {2, 3}) {
        const Aggregates other = aggregate(host(threads), graph, 3);
        EXPECT_EQ(other.of_node, one.of_node);
        EXPECT_EQ(other.count, one.count);
        EXPECT_EQ(other.rounds, one.rounds);
    }
}

TEST(aggregation, isolated_nodes_and_small_graphs) {
    const NodeGraph nothing{{0}, {}, {}};
    EXPECT_EQ(aggregate(host(), nothing, 3).count, 0);
    const NodeGraph alone{{0, 1, 2, 3}, {0, 1, 2}, {1, 1, 1}};
    EXPECT_EQ(aggregate(host(), alone, 3).of_node, (std::vector<Index>{0, 1, 2}));
    const NodeGraph pair{{0, 2, 4, 5}, {0, 1, 0, 1, 2}, {1, 1, 1, 1, 1}};
    const Aggregates found = aggregate(host(), pair, 3);
    EXPECT_EQ(found.count, 2);
    EXPECT_EQ(found.of_node[0], found.of_node[1]);
    EXPECT_NE(found.of_node[0], found.of_node[2]);
}

TEST(aggregation, strength_by_norm) {
    // Couplings along the last axis are a hundredth of the others.
    const NodeGraph all = graph_of("diffusion3d:6,anisotropy=0.01", 1, 0.001);
    const NodeGraph strong = graph_of("diffusion3d:6,anisotropy=0.01", 1, 0.1);
    EXPECT_EQ(all.neighbours.size(), 6u * 6 * 6 + 6u * 6 * 5 * 6);
    EXPECT_EQ(strong.neighbours.size(), 6u * 6 * 6 + 4u * 6 * 5 * 6);
    for (Index i = 0; i < strong.nodes(); ++i) {
        for (Offset k = strong.row_offsets[std::size_t(i)];
             k < strong.row_offsets[std::size_t(i) + 1]; ++k) {
            const Index step = std::abs(strong.neighbours[std::size_t(k)] - i);
            EXPECT_TRUE(step == 0 || step == 6 || step == 36);
        }
    }
}

TEST(aggregation, strength_by_distance) {
    // A row of nodes with steps of 1 and 2 by turns: those of 1 are four times as strong.
    const auto matrix = blocks_of("tridiagonal:8", 1);
    std::vector<double> x;
    for (int i = 0; i < 8; ++i) x.push_back(i / 2 * 3 + i % 2);
    const NodeGraph graph =
        strong_couplings(host(), matrix.view(), AmgStrength::distance, 0.5, {1, x});
    for (std::size_t i = 0; i < 8; ++i) {
        ASSERT_EQ(graph.row_offsets[i + 1] - graph.row_offsets[i], 2);
        EXPECT_EQ(graph.neighbours[2 * i] / 2, Index(i) / 2);
        EXPECT_EQ(graph.neighbours[2 * i + 1] / 2, Index(i) / 2);
    }
    EXPECT_EQ(message_of([&] {
                  strong_couplings(host(), matrix.view(), AmgStrength::both, 0.1, {1, {1, 2}});
              }),
              "strong_couplings: 8 nodes in 1 dimensions need 8 coordinates, not 2");
}

/// The tentative prolongator is orthonormal, and maps the coarse near-null space to the given one.
TEST(aggregation, tentative_prolongator) {
    auto random = generator();
    const NodeGraph graph = graph_of("elasticity3d:6", 3);
    const Aggregates aggregates = aggregate(host(), graph, 3);
    std::vector<double> x = random_vector<double>(random, std::size_t(graph.nodes()) * 3);
    for (double& value : x) value += 1000;
    const NearNullSpace modes = rigid_body_modes({3, x});
    const TentativeProlongator made = tentative_prolongator(host(), aggregates, modes, 3);
    const BsrView<double> p = made.prolongator.view();
    EXPECT_EQ(made.dropped_count, 0);
    const double bound = 1e-13;  // Modes about the centre are of the order of one.
    for (Index i = 0; i < graph.nodes(); ++i) {
        const double* const r =
            made.coarse.values.data() + std::size_t(aggregates.of_node[std::size_t(i)]) * 36;
        for (int row = 0; row < 3; ++row) {
            for (int c = 0; c < 6; ++c) {
                double sum = 0;
                for (int k = 0; k < 6; ++k) sum += p.values[i * 18 + row * 6 + k] * r[k * 6 + c];
                EXPECT_NEAR(sum, modes.values[std::size_t(i * 18 + row * 6 + c)], bound);
            }
        }
    }
    const auto gram = multiply(host(), transpose(host(), p).view(), p);
    const BsrView<double> g = gram.view();
    for (Index a = 0; a < aggregates.count; ++a) {
        ASSERT_EQ(g.row_offsets[a + 1] - g.row_offsets[a], 1);
        for (int e = 0; e < 36; ++e) {
            EXPECT_NEAR(g.values[g.row_offsets[a] * 36 + e], e / 6 == e % 6 ? 1 : 0, bound);
        }
    }
}

TEST(aggregation, columns_of_degenerate_aggregates_are_dropped) {
    // One node, two nodes, three on a line, three that span a plane: 3, 1, 1 and no rotations less.
    const Aggregates aggregates{{0, 1, 1, 2, 2, 2, 3, 3, 3}, 4, 0};
    const std::vector<double> x{0, 0, 0, 5, 0, 0, 6, 1, 1, 0, 2, 2, 0, 3,
                                3, 0, 5, 5, 9, 9, 9, 9, 8, 9, 7, 9, 9};
    const auto made = tentative_prolongator(host(), aggregates, rigid_body_modes({3, x}), 3);
    std::vector<int> dropped(4, 0);
    for (std::size_t k = 0; k < made.dropped.size(); ++k) dropped[k / 6] += made.dropped[k];
    EXPECT_EQ(dropped, (std::vector<int>{3, 1, 1, 0}));
    for (const double value : made.prolongator.view().values == nullptr
                                  ? std::vector<double>()
                                  : std::vector<double>(made.prolongator.view().values,
                                                        made.prolongator.view().values + 9 * 18)) {
        EXPECT_TRUE(std::isfinite(value));
    }
}

}  // namespace tessera::test
