#include "tessera/detail/ordering.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "sparse/ordering/pair_graph.hpp"
#include "sparse/ordering/test_graphs.hpp"

namespace tessera {
namespace {

constexpr OrderingMethod methods[] = {OrderingMethod::natural, OrderingMethod::rcm,
                                      OrderingMethod::amd};

Index padding_of(const std::vector<Index>& row_of_slot) {
    return Index(std::ranges::count(row_of_slot, -1));
}

/// Every row has one slot, and no pair straddles the end of a block.
void expect_packed(const std::vector<Index>& row_of_slot, Index block, Index rows,
                   std::span<const Index> partner) {
    ASSERT_EQ(row_of_slot.size() % std::size_t(block), 0u);
    ASSERT_EQ(Index(row_of_slot.size()), rows + padding_of(row_of_slot));
    std::vector<Index> slot_of_row(std::size_t(rows), -1);
    for (std::size_t slot = 0; slot < row_of_slot.size(); ++slot) {
        const Index row = row_of_slot[slot];
        if (row < 0) continue;
        ASSERT_LT(slot_of_row[row], 0);
        slot_of_row[row] = Index(slot);
    }
    EXPECT_EQ(std::ranges::count(slot_of_row, -1), 0);
    for (std::size_t i = 0; i < partner.size(); ++i) {
        const Index a = slot_of_row[i], b = slot_of_row[partner[i]];
        ASSERT_LE(std::abs(a - b), 1);
        if (block > 1) {
            ASSERT_EQ(a / block, b / block);
        }
    }
}

std::vector<Index> order_of(const std::vector<Index>& row_of_slot) {
    std::vector<Index> order;
    std::ranges::copy_if(row_of_slot, std::back_inserter(order),
                         [](Index row) { return row >= 0; });
    return order;
}

TEST(ordering, packs_every_row_once_and_cuts_no_pair) {
    auto random = test::generator();
    for (const Index rows : {0, 1, 2, 3, 40, 700}) {
        const auto matrix = test::random_symmetric(random, rows, 3, 5).matrix();
        const std::vector<Index> pairs = test::random_pairs(random, rows);
        for (const OrderingMethod method : methods) {
            for (const Index block : {1, 2, 3, 4, 8, 32}) {
                SCOPED_TRACE(std::string(to_string(method)) + ", k = " + std::to_string(block) +
                             ", " + std::to_string(rows) + " rows");
                const auto with =
                    order_blocks<double>(test::host(), matrix.view(), pairs, block, method);
                expect_packed(with, block, rows, pairs);
                const auto without =
                    order_blocks<double>(test::host(), matrix.view(), {}, block, method);
                expect_packed(without, block, rows, {});
                EXPECT_LT(padding_of(without), block);
            }
        }
    }
}

TEST(ordering, empty_slots_only_where_no_single_row_is_near) {
    const auto matrix = test::SymmetricEntries(200).matrix();
    std::vector<Index> partner(200);
    std::iota(partner.begin(), partner.end(), 0);
    const auto pair_up = [&](Index i) {
        partner[i] = i + 1;
        partner[i + 1] = i;
    };
    for (Index i = 0; i < 8; i += 2) pair_up(i);
    // Slots 0 1 2 | 3 ..: the pair (2, 3) would be cut; row 8 is the first single row after it.
    const std::vector<Index> near =
        order_blocks<double>(test::host(), matrix.view(), partner, 3, OrderingMethod::natural);
    EXPECT_EQ(std::vector<Index>(near.begin(), near.begin() + 12),
              (std::vector<Index>{0, 1, 8, 2, 3, 9, 4, 5, 10, 6, 7, 11}));
    EXPECT_EQ(padding_of(near), 1);
    // With 64 further pairs in between there is no single row in the window.
    for (Index i = 2; i < 2 + 2 * 66; i += 2) pair_up(i);
    const std::vector<Index> far =
        order_blocks<double>(test::host(), matrix.view(), partner, 3, OrderingMethod::natural);
    EXPECT_EQ(std::vector<Index>(far.begin(), far.begin() + 6),
              (std::vector<Index>{0, 1, -1, 2, 3, -1}));
    expect_packed(far, 3, 200, partner);
}

TEST(ordering, the_graph_of_pairs_is_the_union_of_their_rows) {
    auto random = test::generator();
    const auto matrix = test::random_symmetric(random, 3000, 4, 5).matrix();
    const std::vector<Index> pairs = test::random_pairs(random, 3000);
    const auto graph = ordering::make_pair_graph<double>(test::host(2), matrix.view(), pairs);
    const CsrView<double> a = matrix.view();
    for (Index v = 0; v < graph.vertices(); ++v) {
        std::set<Index> expected;
        for (const Index row : {graph.first_row[v], graph.second_row[v]}) {
            if (row < 0) continue;
            for (Offset k = a.row_offsets[row]; k < a.row_offsets[row + 1]; ++k) {
                const Index j = a.column_indices[k];
                expected.insert(std::min(j, pairs[j]));
            }
        }
        expected.erase(graph.first_row[v]);
        std::vector<Index> rows;
        for (const Index to : graph.neighbours_of(v)) rows.push_back(graph.first_row[to]);
        ASSERT_EQ(rows, std::vector<Index>(expected.begin(), expected.end()));
        ASSERT_TRUE(v == 0 || graph.first_row[v - 1] < graph.first_row[v]);
    }
}

TEST(ordering, cuthill_mckee_restores_a_band) {
    auto random = test::generator();
    const auto path = test::shuffled(random, test::path_graph(500));
    const std::vector<Index> order = ordering::reverse_cuthill_mckee(path);
    std::vector<Index> position(500);
    for (Index k = 0; k < 500; ++k) position[order[k]] = k;
    for (Index v = 0; v < 500; ++v) {
        for (const Index to : path.neighbours_of(v))
            EXPECT_EQ(std::abs(position[v] - position[to]), 1);
    }
}

TEST(ordering, cuthill_mckee_orders_dense_vertices_last) {
    auto random = test::generator();
    constexpr Index vertices = 2000, hubs = 3;
    std::vector<Index> number(vertices);
    std::iota(number.begin(), number.end(), 0);
    std::shuffle(number.begin(), number.end(), random);
    // A path, and after it hubs with a neighbour in each, every second, every third of its
    // vertices.
    test::SymmetricEntries entries(vertices);
    const Index path = vertices - hubs;
    for (Index v = 0; v + 1 < path; ++v) entries.add(number[v], number[v + 1], 1);
    for (Index hub = 0; hub < hubs; ++hub) {
        for (Index v = 0; v < path; v += hub + 1) entries.add(number[path + hub], number[v], 1);
    }
    const auto graph = test::graph_of(entries.matrix());
    const std::vector<Index> order = ordering::reverse_cuthill_mckee(graph);
    ASSERT_EQ(order.size(), std::size_t(vertices));
    std::vector<Index> position(vertices, -1);
    for (Index k = 0; k < vertices; ++k) position[order[k]] = k;
    for (Index hub = 0; hub < hubs; ++hub) {
        EXPECT_EQ(position[number[path + hub]], vertices - 1 - hub);
    }
    for (Index v = 0; v + 1 < path; ++v) {
        ASSERT_EQ(std::abs(position[number[v]] - position[number[v + 1]]), 1);
    }
}

TEST(ordering, fill_is_less_than_in_the_natural_order) {
    const auto grid = problems::generate<double>(test::host(), "poisson2d:40").matrix;
    const auto fill = [&](OrderingMethod method) {
        return test::fill_in(
            grid.view(), order_of(order_blocks<double>(test::host(), grid.view(), {}, 1, method)));
    };
    const Offset natural = fill(OrderingMethod::natural);
    EXPECT_LT(fill(OrderingMethod::amd), natural / 2);
    EXPECT_LE(fill(OrderingMethod::rcm), natural);

    auto arrow = problems::generate<double>(test::host(), "arrow:300").matrix;
    for (const OrderingMethod method : {OrderingMethod::amd, OrderingMethod::rcm}) {
        const auto order = order_blocks<double>(test::host(), arrow.view(), {}, 1, method);
        EXPECT_EQ(test::fill_in(arrow.view(), order_of(order)), 299);  // The dense row is last.
    }
}

TEST(ordering, threads_do_not_matter) {
    auto random = test::generator();
    const auto matrix = test::random_symmetric(random, 60000, 4, 5).matrix();
    const std::vector<Index> pairs = test::random_pairs(random, 60000);
    const auto run = [&](int threads) {
        return order_blocks<double>(test::host(threads), matrix.view(), pairs, 1);
    };
    EXPECT_EQ(run(1), run(3));
}

TEST(ordering, misuse_is_rejected) {
    const auto matrix = test::SymmetricEntries(3).matrix();
    const auto run = [&](std::vector<Index> partner, Index block) {
        order_blocks<double>(test::host(), matrix.view(), partner, block);
    };
    EXPECT_THROW(run({}, 0), InvalidArgument);
    EXPECT_THROW(run({0, 1}, 4), InvalidArgument);
    EXPECT_THROW(run({1, 2, 0}, 4), InvalidArgument);
    EXPECT_THROW(run({0, 3, 2}, 4), InvalidArgument);
    EXPECT_NO_THROW(run({1, 0, 2}, 4));
}

}  // namespace
}  // namespace tessera
