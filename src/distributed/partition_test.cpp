#include "distributed/partition.hpp"

#include <set>

#include "distributed/test_ranks.hpp"

namespace tessera::test {

namespace {

NodeCoordinates lattice(Index along, Index size) {
    std::vector<double> x;
    for (Index i = 0; i < along; ++i) {
        for (Index j = 0; j < size; ++j) {
            for (Index k = 0; k < size; ++k) {
                x.insert(x.end(), {double(i), double(j), double(k)});
            }
        }
    }
    return {3, x};
}

void expect_partition(const NodePartition& partition, Offset nodes, int ranks) {
    ASSERT_EQ(partition.starts.size(), std::size_t(ranks) + 1);
    EXPECT_EQ(partition.starts.front(), 0);
    EXPECT_EQ(partition.starts.back(), nodes);
    std::vector<Index> sorted = partition.order;
    std::ranges::sort(sorted);
    for (Index i = 0; i < Index(nodes); ++i) ASSERT_EQ(sorted[std::size_t(i)], i);
    for (int r = 0; r < ranks; ++r) {
        const Offset first = partition.starts[std::size_t(r)],
                     end = partition.starts[std::size_t(r) + 1];
        EXPECT_LE(std::abs(double(end - first) - double(nodes) / ranks), 2);
        EXPECT_TRUE(std::is_sorted(partition.order.begin() + first, partition.order.begin() + end));
    }
    for (std::size_t k = 0; k < partition.order.size(); ++k) {
        ASSERT_EQ(partition.places[std::size_t(partition.order[k])], Index(k));
    }
}

/// Couplings of nodes of different ranks.
Offset cut_couplings(const CsrView<double>& matrix, int block, const NodePartition& partition) {
    std::vector<int> rank(partition.order.size());
    for (std::size_t r = 0; r + 1 < partition.starts.size(); ++r) {
        for (Offset k = partition.starts[r]; k < partition.starts[r + 1]; ++k) {
            rank[std::size_t(partition.order[std::size_t(k)])] = int(r);
        }
    }
    Offset cut = 0;
    for (Index i = 0; i < matrix.rows; ++i) {
        for (Offset k = matrix.row_offsets[i]; k < matrix.row_offsets[i + 1]; ++k) {
            cut +=
                rank[std::size_t(i / block)] != rank[std::size_t(matrix.column_indices[k] / block)];
        }
    }
    return cut;
}

}  // namespace

TEST(partition, bisection_by_coordinates) {
    for (const int ranks : {1, 2, 3, 5, 8}) {
        expect_partition(bisect_coordinates(lattice(9, 5), ranks), 225, ranks);
        expect_partition(bisect_coordinates(lattice(1, 1), ranks), 1, ranks);
    }
    // A bar is cut across, a cube into octants.
    const NodePartition bar = bisect_coordinates(lattice(16, 2), 4);
    for (std::size_t k = 0; k < bar.order.size(); ++k) EXPECT_EQ(bar.order[k], Index(k));
    const NodeCoordinates points = lattice(4, 4);
    const NodePartition cube = bisect_coordinates(points, 8);
    for (int r = 0; r < 8; ++r) {
        const auto x =
            items_of_rank(host(), {points.values.data(), points.values.size()}, 3, cube, r);
        for (std::size_t axis = 0; axis < 3; ++axis) {
            std::set<double> places;
            for (std::size_t k = axis; k < x.size(); k += 3) places.insert(x[k]);
            EXPECT_EQ(places.size(), 2u);
        }
    }
}

TEST(partition, cut_of_an_ordering) {
    // The nodes in a random order: its cut is far smaller than that of equal parts.
    const auto given = problems::generate<double>(host(), Spec("elasticity2d:24")).matrix;
    auto random = generator();
    NodePartition mixed{
        std::vector<Index>(std::size_t(given.rows() / 2)), {0, given.rows() / 2}, {}};
    std::iota(mixed.order.begin(), mixed.order.end(), Index(0));
    std::ranges::shuffle(mixed.order, random);
    mixed.places.resize(mixed.order.size());
    for (std::size_t k = 0; k < mixed.order.size(); ++k) {
        mixed.places[std::size_t(mixed.order[k])] = Index(k);
    }
    const CsrMatrix<double> matrix = rows_of_rank(host(), given.view(), 2, mixed, 0);
    const Offset nodes = matrix.rows() / 2;
    NodePartition equal{std::vector<Index>(std::size_t(nodes)), equal_parts(nodes, 4), {}};
    std::iota(equal.order.begin(), equal.order.end(), Index(0));
    const NodePartition found = cut_ordering(host(), matrix.view(), 2, 4);
    expect_partition(found, nodes, 4);
    EXPECT_LT(4 * cut_couplings(matrix.view(), 2, found), cut_couplings(matrix.view(), 2, equal));
    // The order of the mesh itself is as good, and stays.
    const NodePartition kept = cut_ordering(host(), given.view(), 2, 4);
    expect_partition(kept, nodes, 4);
    EXPECT_EQ(kept.order, equal.order);
}

TEST(partition, products_over_ranks) {
    const auto problem = problems::generate<double>(host(), Spec("elasticity3d:4"));
    const CsrView<double> matrix = problem.matrix.view();
    auto random = generator();
    const auto x = random_vector<double>(random, std::size_t(matrix.rows));
    for (const int ranks : {1, 3, 8}) {
        const NodePartition partition = bisect_coordinates(problem.coordinates, ranks);
        std::vector<double> y(x.size());
        on_ranks(ranks, [&](const Communicator& communicator, const Context& own) {
            const int rank = communicator.rank();
            const CsrMatrix<double> rows =
                copy_to(own, rows_of_rank(host(1), matrix, 3, partition, rank));
            const auto [halo, blocks] =
                own_rows(own, communicator, partition.starts, rows.view(), 3);
            const DistributedMatrix<double> a(own, blocks.view(), halo.get(), ValueFormat::working);
            const Buffer<double> from =
                copy_to_buffer(own, items_of_rank(host(1), x, 3, partition, rank));
            Buffer<double> to(own, from.size());
            a.apply(own, from.view(), to.view());
            put_items_of_rank(host(1), copy_to_host(own, to), 3, partition, rank, y);
        });
        for (Index i = 0; i < matrix.rows; ++i) {
            double expected = 0, size = 0;
            for (Offset k = matrix.row_offsets[i]; k < matrix.row_offsets[i + 1]; ++k) {
                const double term = matrix.values[k] * x[std::size_t(matrix.column_indices[k])];
                expected += term;
                size += std::abs(term);
            }
            ASSERT_NEAR(y[std::size_t(i)], expected, gamma<double>(200) * size) << i;
        }
    }
}

}  // namespace tessera::test
