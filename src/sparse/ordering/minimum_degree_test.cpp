#include <algorithm>
#include <numeric>
#include <set>

#include "sparse/ordering/test_graphs.hpp"
#include "tessera/detail/ordering.hpp"
#include "tessera/time_limit.hpp"

namespace tessera::test {
namespace {

std::vector<Index> order_of(const CsrMatrix<double>& matrix) {
    const CsrView<double> a = matrix.view();
    return minimum_degree(a.rows, a.row_offsets, a.column_indices);
}

void expect_permutation(std::vector<Index> order, Index rows) {
    std::ranges::sort(order);
    std::vector<Index> all(static_cast<std::size_t>(rows));
    std::iota(all.begin(), all.end(), 0);
    EXPECT_EQ(order, all);
}

/// The order of a row of the least exact degree each time, on sets of neighbours.
std::vector<Index> plain_minimum_degree(const CsrView<double>& a) {
    std::vector<std::set<Index>> neighbours(static_cast<std::size_t>(a.rows));
    for (Index i = 0; i < a.rows; ++i) {
        for (Offset k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) {
            if (a.column_indices[k] != i) neighbours[std::size_t(i)].insert(a.column_indices[k]);
        }
    }
    std::set<Index> left;
    for (Index i = 0; i < a.rows; ++i) left.insert(i);
    std::vector<Index> order;
    while (!left.empty()) {
        const Index pivot = *std::ranges::min_element(
            left, {}, [&](Index i) { return neighbours[std::size_t(i)].size(); });
        for (const Index i : neighbours[std::size_t(pivot)]) {
            auto& own = neighbours[std::size_t(i)];
            own.insert(neighbours[std::size_t(pivot)].begin(),
                       neighbours[std::size_t(pivot)].end());
            own.erase(i);
            own.erase(pivot);
        }
        left.erase(pivot);
        order.push_back(pivot);
    }
    return order;
}

TEST(minimum_degree, fills_as_little_as_with_exact_degrees) {
    auto random = generator();
    double fill = 0, plain_fill = 0;
    for (int k = 0; k < 40; ++k) {
        const Index rows = 1 + Index(random() % 150);
        const auto matrix = random_symmetric(random, rows, 1.5, 5).matrix();
        const std::vector<Index> order = order_of(matrix);
        expect_permutation(order, rows);
        fill += double(fill_in(matrix.view(), order));
        plain_fill += double(fill_in(matrix.view(), plain_minimum_degree(matrix.view())));
    }
    EXPECT_LE(fill, 1.1 * plain_fill);
    EXPECT_GE(fill, 0.9 * plain_fill);
}

/// Leaves come before what they hang on.
TEST(minimum_degree, trees_do_not_fill) {
    auto random = generator();
    constexpr Index rows = 20'000;
    std::vector<Index> number(rows);
    std::iota(number.begin(), number.end(), 0);
    std::shuffle(number.begin(), number.end(), random);
    SymmetricEntries entries(rows);
    for (Index i = 1; i < rows; ++i) {
        entries.add(number[std::size_t(i)], number[std::size_t(random() % std::uint64_t(i))], 1);
    }
    const auto tree = entries.matrix();
    EXPECT_EQ(fill_in(tree.view(), order_of(tree)), rows - 1);
}

/// Rows of more than 10 sqrt(rows) entries are the last, rows without entries are found.
TEST(minimum_degree, dense_and_empty_rows) {
    constexpr Index rows = 1000;
    SymmetricEntries entries(rows);
    for (Index i = 0; i < rows - 10; ++i) entries.add(7, i, 1);
    for (Index i = 0; i < rows - 10; ++i) entries.add(5, i, 1);
    const std::vector<Index> order = order_of(entries.matrix());
    expect_permutation(order, rows);
    EXPECT_EQ(std::vector<Index>(order.end() - 2, order.end()), (std::vector<Index>{5, 7}));
    expect_permutation(order_of(SymmetricEntries(3).matrix()), 3);
    EXPECT_TRUE(order_of(SymmetricEntries(0).matrix()).empty());
}

TEST(minimum_degree, ends_by_a_time_limit) {
    const auto grid = problems::generate<double>(host(), "poisson2d:200").matrix;
    const TimeLimit limit(0);
    EXPECT_THROW(order_of(grid), Stopped);
}

TEST(minimum_degree, patterns_that_are_not_symmetric) {
    const std::vector<Offset> offsets{0, 1, 2, 3};
    const std::vector<Index> columns{1, 0, 1};
    EXPECT_THROW(minimum_degree(3, offsets.data(), columns.data()), InvalidArgument);
    auto random = generator();
    for (int k = 0; k < 300; ++k) {
        const Index rows = 1 + Index(random() % 40);
        std::vector<Offset> begin{0};
        std::vector<Index> entries;
        for (Index i = 0; i < rows; ++i) {
            for (std::uint64_t count = random() % 5; count > 0; --count) {
                entries.push_back(Index(random() % std::uint64_t(rows)));
            }
            begin.push_back(Offset(entries.size()));
        }
        try {
            expect_permutation(minimum_degree(rows, begin.data(), entries.data()), rows);
        } catch (const InvalidArgument&) {
        }
    }
}

}  // namespace
}  // namespace tessera::test
