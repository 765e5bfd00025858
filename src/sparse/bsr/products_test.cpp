#include "tessera/products.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include "sparse/bsr/test_products_reference.hpp"
#include "support/messages.hpp"

namespace tessera::test {

namespace {

template <class T>
CsrMatrix<T> with_new_values(std::mt19937_64& random, const CsrMatrix<T>& matrix) {
    CsrMatrix<T> other = copy_to(context(), copy_to_host(context(), matrix.view()));
    const auto values = random_vector<T>(random, std::size_t(matrix.nonzeros()));
    copy_from_host(context(), values, other.values().view());
    return other;
}

struct Shape {
    Index m, k, n;
    double a_per_row, b_per_row;
};
// Few rows of the fourth to last product have more than 64 entries, nearly all of the last two more
// than 512.
constexpr Shape shapes[] = {
    {1, 1, 1, 1, 1},        {7, 5, 9, 2, 3},           {40, 1, 30, 1, 9},
    {1, 40, 1, 20, 1},      {0, 5, 3, 2, 2},           {5, 0, 3, 0, 2},
    {5, 3, 0, 2, 0},        {0, 0, 0, 0, 0},           {30, 20, 10, 0, 3},
    {300, 200, 100, 4, 3},  {9, 60, 2000, 20, 70},     {500, 300, 3000, 1, 20},
    {50, 400, 400, 60, 60}, {300, 1500, 1500, 32, 32}, {50, 400, 1500, 60, 60},
};

template <class T>
void check_products() {
    auto random = generator();
    for (const Shape& shape : shapes) {
        SCOPED_TRACE(std::to_string(shape.m) + " x " + std::to_string(shape.k) + " x " +
                     std::to_string(shape.n));
        const auto a = random_csr<T>(random, shape.m, shape.k, shape.a_per_row);
        const auto b = random_csr<T>(random, shape.k, shape.n, shape.b_per_row);
        auto c = multiply(context(), a.view(), b.view());
        expect_entries(c.view(), shape.m, shape.n,
                       product_of(entries_of(a.view()), entries_of(b.view())));
        // Values anew, of the same factors to the last bit, and of others.
        const auto values = copy_to_host(context(), c.values());
        fill<T>(context(), T(-1), c.values().view());
        update_product(context(), a.view(), b.view(), c);
        EXPECT_EQ(copy_to_host(context(), c.values()), values);
        const auto other_a = with_new_values(random, a), other_b = with_new_values(random, b);
        update_product(context(), other_a.view(), other_b.view(), c);
        expect_entries(c.view(), shape.m, shape.n,
                       product_of(entries_of(other_a.view()), entries_of(other_b.view())));
    }
}

/// P^T A P with the bounds of its entries.
template <class T>
Entries triple_of(const CsrView<T>& p, const CsrView<T>& a) {
    return product_of(transpose_of(entries_of(p)), product_of(entries_of(a), entries_of(p)));
}

template <class T>
void check_triple_products() {
    auto random = generator();
    for (const auto& [n, m] :
         {std::pair<Index, Index>{12, 5}, {200, 30}, {6, 20}, {5, 0}, {0, 0}}) {
        SCOPED_TRACE(std::to_string(n) + " x " + std::to_string(m));
        const auto a = random_csr<T>(random, n, n, 4), p = random_csr<T>(random, n, m, 2);
        const auto c = triple_product(context(), p.view(), a.view());
        expect_entries(c.view(), m, m, triple_of(p.view(), a.view()));
        // For new values of both, as the comment in the header says.
        const auto other_a = with_new_values(random, a), other_p = with_new_values(random, p);
        const auto pt = transpose(context(), other_p.view());
        auto ap = multiply(context(), a.view(), p.view());
        auto updated = multiply(context(), pt.view(), ap.view());
        update_product(context(), other_a.view(), other_p.view(), ap);
        update_product(context(), pt.view(), ap.view(), updated);
        expect_entries(updated.view(), m, m, triple_of(other_p.view(), other_a.view()));
        const auto again = triple_product(context(), other_p.view(), other_a.view());
        EXPECT_EQ(copy_to_host(context(), updated.values()),
                  copy_to_host(context(), again.values()));
    }
}

struct BlockShape {
    int size, width;
    Index nodes = 10;
    double per_row = 4;
};
// All 140 blocks are in each row of the last matrix.
constexpr BlockShape block_shapes[] = {{1, 1}, {2, 3}, {3, 3},          {3, 6},
                                       {5, 8}, {8, 1}, {2, 3, 140, 1e9}};

template <class T>
void check_blocks_as_entries() {
    auto random = generator();
    for (const auto& [size, width, nodes, per_row] : block_shapes) {
        SCOPED_TRACE(std::to_string(size) + " x " + std::to_string(width) + ", " +
                     std::to_string(nodes));
        const Index n = nodes * size, m = 4 * width;
        const auto a = to_bsr(context(), random_csr<T>(random, n, n, per_row).view(), size, size);
        const auto p = to_bsr(context(), random_csr<T>(random, n, m, 2).view(), size, width);
        // With all entries of the blocks, zeros included.
        const auto all_a = to_csr(context(), a.view()), all_p = to_csr(context(), p.view());
        const auto c = triple_product(context(), p.view(), a.view());
        expect_entries(to_csr(context(), c.view()).view(), m, m,
                       triple_of(all_p.view(), all_a.view()));
        const auto again = triple_product(context(), p.view(), a.view());
        EXPECT_EQ(copy_to_host(context(), again.values()), copy_to_host(context(), c.values()));
    }
}

}  // namespace

TEST(products, as_sums_over_maps) {
    check_products<double>();
    check_products<float>();
}

TEST(products, triple_products) {
    check_triple_products<double>();
    check_triple_products<float>();
}

TEST(products, triple_products_of_blocks) {
    check_blocks_as_entries<double>();
    check_blocks_as_entries<float>();
}

/// A P takes 3 n - 2 products of blocks for a tridiagonal A and P = I, and P^T (A P) as many.
TEST(products, bounded_by_their_operations) {
    constexpr Index n = 1000;
    for (const int size : {1, 3}) {
        SCOPED_TRACE(size);
        std::vector<std::vector<Index>> pattern, unit;
        std::vector<std::vector<double>> values, ones;
        for (Index i = 0; i < n * size; ++i) {
            unit.push_back({i});
            ones.push_back({1});
            pattern.emplace_back();
            values.emplace_back();
            for (const Index j : {i - size, i, i + size}) {
                if (j < 0 || j >= n * size) continue;
                pattern.back().push_back(j);
                values.back().push_back(i + j);
            }
        }
        const auto a = copy_to(context(), make_csr<double>(n * size, n * size, pattern, values)),
                   p = copy_to(context(), make_csr<double>(n * size, n * size, unit, ones));
        const auto blocks_a = to_bsr(context(), a.view(), size, size);
        const double operations = double(3 * n - 2) * size * size * size;
        const auto bounded = [&](double limit) {
            return bounded_triple_product(context(), to_bsr(context(), p.view(), size, size),
                                          blocks_a.view(), limit);
        };
        EXPECT_FALSE(bounded(operations - 1));
        const auto found = bounded(operations);
        ASSERT_TRUE(found);
        EXPECT_EQ(copy_to_host(context(), found->result.values()),
                  copy_to_host(context(), blocks_a.values()));
    }
}

/// With P = I a triple product is A itself, whose pattern is symmetric and whose values are not.
TEST(products, a_nonsymmetric_matrix_is_not_made_symmetric) {
    const auto a = copy_to(context(), make_csr<double>(3, 3, {{0, 1}, {0, 1, 2}, {1, 2}},
                                                       {{1, 2}, {-3, 4, 5}, {60, 7}}));
    const auto unit = copy_to(context(), make_csr<double>(3, 3, {{0}, {1}, {2}}, {{1}, {1}, {1}}));
    const auto values = copy_to_host(context(), a.values());
    const auto c = triple_product(context(), unit.view(), a.view());
    EXPECT_EQ(copy_to_host(context(), c.values()), values);
    const auto blocks = triple_product(context(), to_bsr(context(), unit.view(), 1, 1).view(),
                                       to_bsr(context(), a.view(), 1, 1).view());
    EXPECT_EQ(copy_to_host(context(), blocks.values()), values);
    const auto upper = copy_to(context(), make_csr<double>(2, 2, {{0, 1}, {}}, {{1, 2}, {}}));
    const auto two = copy_to(context(), make_csr<double>(2, 2, {{0}, {1}}, {{1}, {1}}));
    expect_entries(triple_product(context(), two.view(), upper.view()).view(), 2, 2,
                   entries_of(upper.view()));
}

/// Patterns come from patterns: entries that cancel are stored.
TEST(products, keeps_entries_that_cancel) {
    const auto a = copy_to(context(), make_csr<double>(1, 2, {{0, 1}}, {{1, 1}}));
    const auto b = copy_to(context(), make_csr<double>(2, 1, {{0}, {0}}, {{1}, {-1}}));
    const auto c = multiply(context(), a.view(), b.view());
    EXPECT_EQ(copy_to_host(context(), c.values()), std::vector<double>{0});
}

TEST(products, same_bits_over_runs_and_threads) {
    auto random = generator();
    const auto a = random_csr<float>(random, 2000, 2000, 8),
               p = random_csr<float>(random, 2000, 400, 3);
    const auto first = triple_product(context(), p.view(), a.view());
    for (int run = 0; run < 3; ++run) {
        const auto again = triple_product(context(), p.view(), a.view());
        EXPECT_EQ(copy_to_host(context(), again.values()), copy_to_host(context(), first.values()));
    }
    const auto host_a = copy_to_host(context(), a.view()),
               host_p = copy_to_host(context(), p.view());
    const auto values = [&](int threads) {
        const auto c = triple_product(host(threads), host_p.view(), host_a.view());
        return copy_to_host(host(), c.values());
    };
    const auto expected = values(1);
    for (const int threads : {2, 3, 8}) EXPECT_EQ(values(threads), expected);
}

/// Rows of very different lengths side by side, which the GPU counts by different kernels. B turns
/// the order of the columns round.
TEST(products, rows_of_all_lengths) {
    constexpr Index columns = 1000;
    std::vector<std::vector<Index>> reversed;
    for (Index j = 0; j < columns; ++j) reversed.push_back({columns - 1 - j});
    const auto b =
        copy_to(context(), make_csr<double>(columns, columns, reversed,
                                            std::vector<std::vector<double>>(columns, {1.0})));
    for (const Index rows : {300, 9000}) {
        for (const Index most : {2, 30, 80}) {
            std::vector<std::vector<Index>> places;
            std::vector<std::vector<double>> values;
            for (Index i = 0; i < rows; ++i) {
                const Index special[] = {0, 16, 17, 20, 32, 33, 40, 64, 65, 100, 513, 700};
                const Index length = i % 150 < 12 ? special[i % 150] : most;
                std::vector<Index>& row = places.emplace_back();
                for (Index e = 0; e < length; ++e) row.push_back(e * columns / length);
                values.emplace_back(row.begin(), row.end());
            }
            const auto a = copy_to(context(), make_csr<double>(rows, columns, places, values));
            const auto c = copy_to_host(context(), multiply(context(), a.view(), b.view()).view());
            ASSERT_EQ(c.nonzeros(), a.nonzeros());
            for (Index i = 0; i < rows; ++i) {
                const std::vector<Index>& row = places[std::size_t(i)];
                const Offset first = c.view().row_offsets[i];
                ASSERT_EQ(c.view().row_offsets[i + 1] - first, Offset(row.size())) << i;
                for (std::size_t e = 0; e < row.size(); ++e) {
                    const Index from = row[row.size() - 1 - e];
                    const Offset k = first + Offset(e);
                    ASSERT_EQ(c.view().column_indices[k], columns - 1 - from) << i << ' ' << e;
                    ASSERT_EQ(c.view().values[k], double(from)) << i << ' ' << e;
                }
            }
        }
    }
}

/// A row with thousands of entries, as the hub of a graph has, times a matrix whose rows have
/// three: column j of it is the sum of the numbers of its terms.
TEST(products, rows_of_thousands_of_entries) {
    constexpr Index n = 6000, m = 900;
    std::vector<std::vector<Index>> hub(n), three;
    std::vector<std::vector<double>> hub_values(n), ones(n, {1, 1, 1});
    std::vector<double> expected(m, 0.0);
    for (Index i = 0; i < n; ++i) {
        three.push_back({i % (m / 3), m / 3 + i % (m / 3), 2 * m / 3 + i % (m / 3)});
        hub[7].push_back(i);
        hub_values[7].push_back(i);
        for (const Index j : three.back()) expected[std::size_t(j)] += i;
        if (i == 7) continue;
        hub[std::size_t(i)] = {i};
        hub_values[std::size_t(i)] = {2};
    }
    const auto a = copy_to(context(), make_csr<double>(n, n, hub, hub_values)),
               b = copy_to(context(), make_csr<double>(n, m, three, ones));
    const auto check = [&](const CsrMatrix<double>& product) {
        const auto c = copy_to_host(context(), product.view());
        ASSERT_EQ(c.view().row_offsets[8] - c.view().row_offsets[7], m);
        for (Index j = 0; j < m; ++j) {
            EXPECT_EQ(c.view().values[c.view().row_offsets[7] + j], expected[std::size_t(j)]) << j;
        }
        EXPECT_EQ(c.view().values[0], 2);
    };
    check(multiply(context(), a.view(), b.view()));
    check(to_csr(context(), multiply(context(), to_bsr(context(), a.view(), 3, 3).view(),
                                     to_bsr(context(), b.view(), 3, 3).view())
                                .view()));
}

/// Blocks in arrays of the caller: (1 2; 3 4) and (5 6; 7 8) on the diagonal, not at the beginning.
TEST(products, of_blocks_in_arrays_of_the_caller) {
    const auto offsets = copy_to_buffer(context(), std::vector<Offset>{0, 1, 2});
    const auto columns = copy_to_buffer(context(), std::vector<Index>{0, 1});
    const auto values = copy_to_buffer(context(), std::vector<double>{0, 1, 2, 3, 4, 5, 6, 7, 8});
    const BsrView<double> a{2, 2, 2, 2, 2, offsets.data(), columns.data(), values.data() + 1};
    EXPECT_EQ(copy_to_host(context(), multiply(context(), a, a).values()),
              (std::vector<double>{7, 10, 15, 22, 67, 78, 91, 106}));
}

/// The square of a block that ends where a page begins which may not be read.
template <class T>
void check_last_block(int size, char* end) {
    const std::vector<Offset> offsets{0, 1};
    const std::vector<Index> columns{0};
    T* const values = reinterpret_cast<T*>(end) - size * size;
    std::fill_n(values, size * size, T(1));
    const BsrView<T> a{1, 1, size, size, 1, offsets.data(), columns.data(), values};
    EXPECT_EQ(copy_to_host(context(), multiply(context(), a, a).values()),
              std::vector<T>(std::size_t(size * size), T(size)));
}

TEST(products, nothing_after_the_last_block_is_read) {
    if (context().on_gpu()) GTEST_SKIP() << "is about loads of vectors on CPUs";
    const auto page = std::size_t(sysconf(_SC_PAGESIZE));
    void* const memory =
        mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    char* const end = static_cast<char*>(memory) + page;
    ASSERT_EQ(mprotect(end, page, PROT_NONE), 0);
    for (int size = 1; size <= max_bsr_block; ++size) {
        check_last_block<double>(size, end);
        check_last_block<float>(size, end);
    }
    munmap(memory, 2 * page);
}

/// The entries of the square of a full matrix that a sparser pattern has.
template <class T>
void check_left_out(int size) {
    auto random = generator();
    const auto full =
        to_bsr(context(), random_csr<T>(random, 40 * size, 40 * size, 1e9).view(), size, size);
    auto part = to_bsr(context(), random_csr<T>(random, 40 * size, 40 * size, 2.0 / size).view(),
                       size, size);
    const auto square = multiply(context(), full.view(), full.view());
    update_product(context(), full.view(), full.view(), part);
    const Entries all = entries_of(to_csr(context(), square.view()).view());
    const Entries some = entries_of(to_csr(context(), std::as_const(part).view()).view());
    ASSERT_LT(some.size(), all.size());
    ASSERT_GT(some.size(), 0U);
    for (const auto& [at, entry] : some) {
        const auto found = all.find(at);
        EXPECT_EQ(entry.value, found == all.end() ? 0 : found->second.value);
    }
}

TEST(products, terms_outside_of_the_pattern_are_left_out) {
    for (const int size : {1, 3}) {
        check_left_out<double>(size);
        check_left_out<float>(size);
    }
}

TEST(products, sizes_that_do_not_agree_are_refused) {
    auto random = generator();
    const auto a = random_csr<double>(random, 3, 4, 2), b = random_csr<double>(random, 5, 2, 1),
               square = random_csr<double>(random, 4, 4, 2);
    auto c = multiply(context(), a.view(), square.view());
    EXPECT_EQ(message_of([&] { multiply(context(), a.view(), b.view()); }),
              "multiply: the columns of A (3 x 4) are not the rows of B (5 x 2)");
    EXPECT_EQ(message_of([&] { update_product(context(), a.view(), b.view(), c); }),
              "update_product: the columns of A (3 x 4) are not the rows of B (5 x 2)");
    EXPECT_EQ(message_of([&] { update_product(context(), square.view(), square.view(), c); }),
              "update_product: the product is 3 x 4, but A B is 4 x 4");
    EXPECT_EQ(message_of([&] { triple_product(context(), b.view(), square.view()); }),
              "triple_product: the columns of A (4 x 4) are not the rows of P (5 x 2)");
    EXPECT_EQ(message_of([&] { triple_product(context(), square.view(), a.view()); }),
              "triple_product: A is not square but 3 x 4");
}

TEST(products, blocks_that_do_not_agree_are_refused) {
    auto random = generator();
    const auto square = random_csr<double>(random, 12, 12, 4);
    const auto a = to_bsr(context(), square.view(), 2, 3),
               b = to_bsr(context(), square.view(), 2, 2),
               p = to_bsr(context(), square.view(), 3, 3);
    EXPECT_EQ(message_of([&] { multiply(context(), a.view(), b.view()); }),
              "multiply: the columns of A (6 x 4 blocks of 2 x 3) are not the rows of B (6 x 6 "
              "blocks of 2 x 2)");
    auto c = multiply(context(), a.view(), p.view());
    EXPECT_EQ(message_of([&] { update_product(context(), b.view(), b.view(), c); }),
              "update_product: the product is 6 x 4 blocks of 2 x 3, but A B is 6 x 6 blocks of "
              "2 x 2");
    EXPECT_EQ(message_of([&] { triple_product(context(), p.view(), a.view()); }),
              "triple_product: A is not square but 6 x 4 blocks of 2 x 3");
    BsrView<double> wrong = p.view();
    wrong.height = wrong.width = 9;
    EXPECT_EQ(message_of([&] { multiply(context(), wrong, wrong); }),
              "multiply: blocks have 1 to 8 rows and columns, not 9 x 9");
    wrong = p.view();
    wrong.block_rows = 1 << 30;
    EXPECT_EQ(message_of([&] { to_csr(context(), wrong); }),
              "to_csr: the matrix has more than 2147483647 rows or columns");
    wrong = p.view();
    wrong.values = nullptr;
    EXPECT_EQ(message_of([&] { triple_product(context(), wrong, p.view()); }),
              "triple_product: the matrix has no column indices or no values (null)");
    EXPECT_EQ(message_of([&] { transpose(context(), BsrView<double>()); }),
              "transpose: the matrix has no row offsets (null, or a moved-from matrix)");
}

}  // namespace tessera::test
