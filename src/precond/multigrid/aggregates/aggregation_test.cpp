#include "precond/multigrid/aggregates/aggregation.hpp"

#include <algorithm>
#include <numeric>

#include "precond/multigrid/setup/prolongator.hpp"
#include "support/messages.hpp"

namespace tessera::test {

using namespace multigrid;

namespace {

BsrMatrix<double> blocks_of(const std::string& problem, int block) {
    const auto matrix = problems::generate<double>(host(), Spec(problem)).matrix;
    return to_bsr(context(), copy_to(context(), matrix).view(), block, block);
}

/// The arrays of a graph in host memory.
struct HostGraph {
    std::vector<Offset> row_offsets;
    std::vector<Index> neighbours;
    std::vector<float> weights;
    std::vector<Index> alone = {};  ///< Empty: no node.
    Index nodes() const { return Index(row_offsets.size()) - 1; }
};

HostGraph on_host(const NodeGraph& graph) {
    return {copy_to_host(context(), graph.row_offsets), copy_to_host(context(), graph.neighbours),
            copy_to_host(context(), graph.weights), copy_to_host(context(), graph.alone)};
}

NodeGraph on_device(const HostGraph& graph) {
    std::vector<Index> alone = graph.alone;
    alone.resize(std::size_t(graph.nodes()), 0);
    return {copy_to_buffer(context(), graph.row_offsets),
            copy_to_buffer(context(), graph.neighbours), copy_to_buffer(context(), graph.weights),
            copy_to_buffer(context(), alone)};
}

NodeGraph graph_of(const std::string& problem, int block, double theta = 0.02) {
    const auto matrix = blocks_of(problem, block);
    return strong_couplings(context(), matrix.view(), block_norms(context(), matrix.view()),
                            AmgStrength::frobenius, theta);
}

std::vector<Index> aggregate_of(const Aggregates& aggregates) {
    return copy_to_host(context(), aggregates.of_node);
}

/// Edges of the shortest path from a node to each other one; -1: none.
std::vector<int> distances_from(const HostGraph& graph, Index start) {
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
void check_aggregates(const HostGraph& graph, const Aggregates& aggregates) {
    const std::vector<Index> of_node = aggregate_of(aggregates);
    ASSERT_EQ(of_node.size(), std::size_t(graph.nodes()));
    std::vector<std::vector<Index>> members(std::size_t(aggregates.count));
    for (Index i = 0; i < graph.nodes(); ++i) {
        const Index a = of_node[std::size_t(i)];
        ASSERT_GE(a, 0);
        ASSERT_LT(a, aggregates.count);
        members[std::size_t(a)].push_back(i);
    }
    const auto offsets = copy_to_host(context(), aggregates.offsets);
    const auto listed = copy_to_host(context(), aggregates.members);
    for (std::size_t a = 0; a < members.size(); ++a) {
        EXPECT_EQ(std::vector<Index>(listed.begin() + offsets[a], listed.begin() + offsets[a + 1]),
                  members[a]);
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
            check_aggregates(on_host(graph), aggregate(context(), graph, second_pass));
        }
    }
}

TEST(aggregation, sizes) {
    // 27 neighbours: roots alone have some 41 nodes, with a second pass some 21.
    const NodeGraph graph = graph_of("elasticity3d:20", 3);
    const double alone = double(graph.nodes()) / aggregate(context(), graph, 0).count;
    const double both = double(graph.nodes()) / aggregate(context(), graph, 3).count;
    EXPECT_GT(alone, 30);
    EXPECT_LT(alone, 55);
    EXPECT_GT(both, 15);
    EXPECT_LT(both, 28);
}

/// Nor on the backend.
TEST(aggregation, does_not_depend_on_threads) {
    const auto csr = problems::generate<double>(host(), Spec("elasticity3d:16")).matrix;
    const auto expected = [&](int threads) {
        const Context where = host(threads);
        const auto matrix = to_bsr(where, csr.view(), 3, 3);
        const NodeGraph graph = strong_couplings(
            where, matrix.view(), block_norms(where, matrix.view()), AmgStrength::frobenius, 0.02);
        return copy_to_host(where, aggregate(where, graph, 3).of_node);
    };
    const Aggregates found = aggregate(context(), graph_of("elasticity3d:16", 3), 3);
    for (const int threads : {1, 2, 3}) EXPECT_EQ(aggregate_of(found), expected(threads));
}

TEST(aggregation, isolated_nodes_and_small_graphs) {
    const auto aggregates_of = [](const HostGraph& graph) {
        return aggregate(context(), on_device(graph), 3);
    };
    EXPECT_EQ(aggregates_of({{0}, {}, {}}).count, 0);
    EXPECT_EQ(aggregate_of(aggregates_of({{0, 1, 2, 3}, {0, 1, 2}, {1, 1, 1}})),
              (std::vector<Index>{0, 1, 2}));
    const Aggregates some = aggregates_of({{0, 1, 2, 3}, {0, 1, 2}, {1, 1, 1}, {1, 0, 1}});
    EXPECT_EQ(aggregate_of(some), (std::vector<Index>{-1, 0, -1}));
    EXPECT_EQ(some.count, 1);
    EXPECT_EQ(copy_to_host(context(), some.positions), (std::vector<Offset>{0, 0, 1, 1}));
    EXPECT_EQ(copy_to_host(context(), some.members), (std::vector<Index>{1}));
    const Aggregates found = aggregates_of({{0, 2, 4, 5}, {0, 1, 0, 1, 2}, {1, 1, 1, 1, 1}});
    EXPECT_EQ(found.count, 2);
    const std::vector<Index> of_node = aggregate_of(found);
    EXPECT_EQ(of_node[0], of_node[1]);
    EXPECT_NE(of_node[0], of_node[2]);
}

TEST(aggregation, strength_by_norm) {
    // Couplings along the last axis are a hundredth of the others.
    const HostGraph all = on_host(graph_of("diffusion3d:6,anisotropy=0.01", 1, 0.001));
    const HostGraph strong = on_host(graph_of("diffusion3d:6,anisotropy=0.01", 1, 0.1));
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
    const Buffer<double> norms = block_norms(context(), matrix.view());
    const HostGraph graph =
        on_host(strong_couplings(context(), matrix.view(), norms, AmgStrength::distance, 0.5,
                                 {1, copy_to_buffer(context(), x)}));
    for (std::size_t i = 0; i < 8; ++i) {
        ASSERT_EQ(graph.row_offsets[i + 1] - graph.row_offsets[i], 2);
        EXPECT_EQ(graph.neighbours[2 * i] / 2, Index(i) / 2);
        EXPECT_EQ(graph.neighbours[2 * i + 1] / 2, Index(i) / 2);
    }
    EXPECT_EQ(message_of([&] {
                  strong_couplings(context(), matrix.view(), norms, AmgStrength::both, 0.1,
                                   {1, Buffer<double>(context(), 2)});
              }),
              "strong_couplings: 8 nodes in 1 dimensions need 8 coordinates, not 2");
}

/// The tentative prolongator is orthonormal, and maps the coarse near-null space to the given one.
TEST(aggregation, tentative_prolongator) {
    auto random = generator();
    const NodeGraph graph = graph_of("elasticity3d:6", 3);
    const Aggregates aggregates = aggregate(context(), graph, 3);
    std::vector<double> x = random_vector<double>(random, std::size_t(graph.nodes()) * 3);
    for (double& value : x) value += 1000;
    const NearNullSpace modes = rigid_body_modes({3, x});
    const TentativeProlongator made = tentative_prolongator(
        context(), aggregates, {6, copy_to_buffer(context(), modes.values)}, 3);
    const auto dropped = copy_to_host(context(), made.dropped);
    EXPECT_TRUE(std::ranges::all_of(dropped, [](Index one) { return one == 0; }));
    const auto values = copy_to_host(context(), made.prolongator.values());
    const auto coarse = copy_to_host(context(), made.coarse.values);
    const std::vector<Index> of_node = aggregate_of(aggregates);
    const double bound = 1e-13;  // Modes about the centre are of the order of one.
    for (std::size_t i = 0; i < of_node.size(); ++i) {
        const double* const r = coarse.data() + std::size_t(of_node[i]) * 36;
        for (std::size_t row = 0; row < 3; ++row) {
            for (std::size_t c = 0; c < 6; ++c) {
                double sum = 0;
                for (std::size_t k = 0; k < 6; ++k) {
                    sum += values[i * 18 + row * 6 + k] * r[k * 6 + c];
                }
                EXPECT_NEAR(sum, modes.values[i * 18 + row * 6 + c], bound);
            }
        }
    }
    const BsrView<double> p = made.prolongator.view();
    const auto gram = multiply(context(), transpose(context(), p).view(), p);
    const auto products = copy_to_host(context(), gram.values());
    ASSERT_EQ(gram.blocks(), aggregates.count);  // They are on the diagonal.
    for (std::size_t e = 0; e < products.size(); ++e) {
        EXPECT_NEAR(products[e], e / 6 % 6 == e % 6 ? 1 : 0, bound);
    }
}

TEST(aggregation, columns_of_degenerate_aggregates_are_dropped) {
    // One node, two nodes, three on a line, three that span a plane: 3, 1, 1 and no rotations less.
    const std::vector<Index> of_node{0, 1, 1, 2, 2, 2, 3, 3, 3};
    const Aggregates aggregates{
        copy_to_buffer(context(), of_node), 4,
        copy_to_buffer(context(), std::vector<Offset>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}),
        copy_to_buffer(context(), std::vector<Offset>{0, 1, 3, 6, 9}),
        copy_to_buffer(context(), std::vector<Index>{0, 1, 2, 3, 4, 5, 6, 7, 8})};
    const std::vector<double> x{0, 0, 0, 5, 0, 0, 6, 1, 1, 0, 2, 2, 0, 3,
                                3, 0, 5, 5, 9, 9, 9, 9, 8, 9, 7, 9, 9};
    const auto made = tentative_prolongator(
        context(), aggregates, {6, copy_to_buffer(context(), rigid_body_modes({3, x}).values)}, 3);
    std::vector<int> dropped(4, 0);
    const auto flags = copy_to_host(context(), made.dropped);
    for (std::size_t k = 0; k < flags.size(); ++k) dropped[k / 6] += flags[k];
    EXPECT_EQ(dropped, (std::vector<int>{3, 1, 1, 0}));
    for (const double value : copy_to_host(context(), made.prolongator.values())) {
        EXPECT_TRUE(std::isfinite(value));
    }
}

}  // namespace tessera::test
