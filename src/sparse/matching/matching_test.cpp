#include <algorithm>
#include <filesystem>
#include <functional>
#include <numeric>

#include "sparse/matching/cycles.hpp"
#include "sparse/matching/shortest_paths.hpp"
#include "sparse/test_symmetric_matrices.hpp"
#include "tessera/detail/ordering.hpp"

namespace tessera {
namespace {

/// Tolerance of the certificate on scaled entries, for rounding.
constexpr double slack = 1e-12;

/// log2 |s_i a_ij s_j|, or -inf.
template <class T>
double log_scaled(const CsrView<T>& matrix, Offset k, double row, double column) {
    return matrix.values[k] == T(0) ? -std::numeric_limits<double>::infinity()
                                    : std::log2(std::abs(double(matrix.values[k]))) + row + column;
}

/// Kuhn's algorithm: the largest number of rows that can be matched on nonzero entries.
template <class T>
Index structural_rank(const CsrView<T>& matrix) {
    std::vector<Index> row_of_column(std::size_t(matrix.rows), -1), visited(row_of_column);
    std::function<bool(Index, Index)> extend = [&](Index i, Index search) {
        for (Offset k = matrix.row_offsets[i]; k < matrix.row_offsets[i + 1]; ++k) {
            const Index j = matrix.column_indices[k];
            if (matrix.values[k] == T(0) || visited[j] == search) continue;
            visited[j] = search;
            if (row_of_column[j] < 0 || extend(row_of_column[j], search)) {
                row_of_column[j] = i;
                return true;
            }
        }
        return false;
    };
    Index rank = 0;
    for (Index i = 0; i < matrix.rows; ++i) rank += extend(i, i);
    return rank;
}

/// Proves that a matching is best: no product of one entry of each of the matched rows and columns
/// exceeds 2^-(sum of their exponents), which the matched entries reach. With full cardinality this
/// holds among all matchings.
template <class T>
void expect_certificate(const CsrView<T>& matrix, const matching::Assignment& found) {
    std::vector<char> taken(std::size_t(matrix.rows), 0);
    Index matched = 0;
    for (Index i = 0; i < matrix.rows; ++i) {
        bool met = found.column_of_row[i] < 0;
        for (Offset k = matrix.row_offsets[i]; k < matrix.row_offsets[i + 1]; ++k) {
            const Index j = matrix.column_indices[k];
            const double size = log_scaled(matrix, k, found.row_dual[i], found.column_dual[j]);
            ASSERT_LE(size, slack) << "row " << i << ", column " << j;
            if (j != found.column_of_row[i]) continue;
            met = true;
            ASSERT_NEAR(size, 0, slack) << "row " << i << ", column " << j;
            ASSERT_FALSE(taken[j]) << "column " << j << " is matched twice";
            taken[j] = 1;
            ++matched;
        }
        ASSERT_TRUE(met) << "row " << i << " is matched where it has no entry";
    }
    EXPECT_EQ(matched, found.cardinality);
}

template <class T>
void expect_scaled(const CsrView<T>& matrix, const SymmetricMatching& found) {
    for (Index i = 0; i < matrix.rows; ++i) {
        double largest = -std::numeric_limits<double>::infinity();
        for (Offset k = matrix.row_offsets[i]; k < matrix.row_offsets[i + 1]; ++k) {
            largest =
                std::max(largest, log_scaled(matrix, k, std::log2(found.scaling[i]),
                                             std::log2(found.scaling[matrix.column_indices[k]])));
        }
        ASSERT_LE(largest, slack) << "row " << i;
        // A row without a match among rows that have one may touch only larger entries.
        if (found.structural_rank == matrix.rows) {
            ASSERT_NEAR(largest, 0, slack) << "row " << i;
        }
    }
    Index pairs = 0;
    for (Index i = 0; i < matrix.rows; ++i) {
        const Index j = found.partner[i];
        ASSERT_EQ(found.partner[j], i);
        if (i == j) continue;
        pairs += i < j;
        const auto row = std::span(matrix.column_indices + matrix.row_offsets[i],
                                   matrix.column_indices + matrix.row_offsets[i + 1]);
        ASSERT_TRUE(std::ranges::binary_search(row, j)) << "pair " << i << ", " << j;
    }
    EXPECT_EQ(pairs, found.pairs);
}

template <class T>
matching::Assignment product_matching(const CsrMatrix<T>& matrix) {
    const CsrView<T> a = matrix.view();
    std::vector<double> costs;
    for (const T value : a.values_span()) costs.push_back(-std::log2(std::abs(double(value))));
    return matching::ShortestPaths({a.rows, a.row_offsets, a.column_indices, costs.data()}, 1)
        .solve();
}

template <class T>
SymmetricMatching checked(const CsrMatrix<T>& matrix) {
    const matching::Assignment general = product_matching(matrix);
    expect_certificate(matrix.view(), general);
    const SymmetricMatching found = match_symmetric(test::host(), matrix.view());
    expect_scaled(matrix.view(), found);
    EXPECT_EQ(general.cardinality, found.structural_rank);
    return found;
}

double log_product(const CsrView<double>& matrix, const matching::Assignment& found) {
    double sum = 0;
    for (Index i = 0; i < matrix.rows; ++i) {
        for (Offset k = matrix.row_offsets[i]; k < matrix.row_offsets[i + 1]; ++k) {
            if (matrix.column_indices[k] == found.column_of_row[i]) {
                sum += std::log2(std::abs(matrix.values[k]));
            }
        }
    }
    return sum;
}

TEST(matching, identity_and_nothing) {
    test::SymmetricEntries identity(7);
    for (Index i = 0; i < 7; ++i) identity.add(i, i, 1);
    const SymmetricMatching found = checked(identity.matrix());
    EXPECT_EQ(found.pairs, 0);
    EXPECT_EQ(found.structural_rank, 7);
    for (Index i = 0; i < 7; ++i) EXPECT_EQ(found.scaling[i], 1);

    const SymmetricMatching empty = checked(test::SymmetricEntries(0).matrix());
    EXPECT_TRUE(empty.partner.empty());
    const SymmetricMatching without = checked(test::SymmetricEntries(3).matrix());
    EXPECT_EQ(without.structural_rank, 0);
    EXPECT_EQ(without.scaling, std::vector<double>(3, 1));
}

TEST(matching, blocks_that_swap_two_rows_are_pairs) {
    test::SymmetricEntries entries(10);
    for (Index i = 0; i < 10; i += 2) entries.add(i, i + 1, i + 1);
    const SymmetricMatching found = checked(entries.matrix());
    EXPECT_EQ(found.pairs, 5);
    for (Index i = 0; i < 10; ++i) EXPECT_EQ(found.partner[i], i ^ 1);
}

TEST(matching, a_triangle_without_diagonal_leaves_a_zero) {
    test::SymmetricEntries entries(3);
    entries.add(0, 1, 1).add(1, 2, 2).add(0, 2, 4);
    SymmetricMatching found = checked(entries.matrix());
    EXPECT_EQ(found.pairs, 1);
    // The scaled triangle has three ones: its only perfect matchings are the two 3-cycles.
    entries.add(2, 2, 1e-3);
    found = checked(entries.matrix());
    EXPECT_EQ(found.pairs, 1);
    EXPECT_EQ(found.partner[2], 2);  // The row with a diagonal entry stays single.
}

TEST(matching, cycles_are_cut_where_pairs_are_best) {
    // The pairs (1, 2) and (3, 0) of the cycle 0-1-2-3: the first has the determinant 1 1 - 1 1.
    test::SymmetricEntries entries(4);
    entries.add(0, 1, 1).add(1, 2, 1).add(2, 3, 1).add(0, 3, 1).add(1, 1, 1).add(2, 2, 1);
    const std::vector<double> scaling(4, 1);
    const std::vector<Index> cycle{1, 2, 3, 0};
    const auto matrix = entries.matrix();
    EXPECT_EQ(matching::cut_cycles<double>(1, matrix.view(), scaling, cycle),
              (std::vector<Index>{1, 0, 3, 2}));
    entries.add(1, 1, 0).add(2, 2, 0).add(0, 0, 1);
    const auto other = entries.add(1, 1, -1).matrix();  // Now (0, 1) and (2, 3): -2; else -1.
    EXPECT_EQ(matching::cut_cycles<double>(1, other.view(), scaling, cycle),
              (std::vector<Index>{1, 0, 3, 2}));
    const auto turned = entries.add(1, 1, 0).add(3, 3, -1).matrix();  // (3, 0): -2.
    EXPECT_EQ(matching::cut_cycles<double>(1, turned.view(), scaling, cycle),
              (std::vector<Index>{3, 2, 1, 0}));

    test::SymmetricEntries odd(5);
    for (Index i = 0; i < 5; ++i) odd.add(i, (i + 1) % 5, 1);
    odd.add(2, 2, 0.5).add(4, 4, -0.75).add(1, 1, 0.75);
    EXPECT_EQ(matching::cut_cycles<double>(1, odd.matrix().view(), std::vector<double>(5, 1),
                                           std::vector<Index>{1, 2, 3, 4, 0}),
              (std::vector<Index>{4, 1, 3, 2, 0}));  // 1 stays single, the first of the largest.
    EXPECT_EQ(matching::cut_cycles<double>(1, odd.matrix().view(), std::vector<double>(5, 1),
                                           std::vector<Index>{-1, 1, 3, 2, 4}),
              (std::vector<Index>{0, 1, 3, 2, 4}));  // An unmatched row stays single.
}

TEST(matching, arrow_and_dense_row) {
    test::SymmetricEntries arrow(200), dense(200);
    for (Index i = 0; i < 199; ++i) arrow.add(i, i, 2).add(i, 199, 1 + i % 7);
    EXPECT_LE(checked(arrow.matrix()).pairs, 1);
    for (Index i = 0; i < 200; ++i) dense.add(i, 100, i % 13 + 1.).add(i, (i + 1) % 200, 0.5);
    EXPECT_EQ(checked(dense.matrix()).structural_rank, 200);
}

TEST(matching, saddle_points_match_constraints_with_variables) {
    auto random = test::generator();
    for (const double range : {0., 3., 13.}) {
        SCOPED_TRACE(range);
        const auto matrix = test::random_kkt(random, 300, 150, range).matrix();
        const SymmetricMatching found = checked(matrix);
        EXPECT_EQ(found.structural_rank, structural_rank(matrix.view()));
        // A row with a zero on the diagonal stays single at most in an odd cycle.
        EXPECT_GE(found.pairs, 100);
    }
}

TEST(matching, cardinality_is_the_structural_rank) {
    auto random = test::generator();
    int singular = 0;
    for (int round = 0; round < 60; ++round) {
        const Index rows = 1 + Index(random() % 120);
        const auto matrix = test::random_symmetric(random, rows, 0.5 + round % 4, 10).matrix();
        const Index rank = structural_rank(matrix.view());
        singular += rank < rows;
        EXPECT_EQ(checked(matrix).structural_rank, rank);
    }
    EXPECT_GT(singular, 10);
}

TEST(matching, stored_zeros_are_no_entries) {
    test::SymmetricEntries entries(3);
    entries.add(0, 0, 0).add(0, 1, 2).add(1, 1, 3).add(2, 2, 0);
    const SymmetricMatching found = checked(entries.matrix());
    EXPECT_EQ(found.structural_rank, 2);
    EXPECT_EQ(found.partner[0], 1);
}

TEST(matching, extreme_sizes) {
    auto random = test::generator();
    checked(test::random_symmetric(random, 400, 6, 29).matrix());  // e^+-20
    checked(test::random_symmetric(random, 400, 6, 29).matrix<float>());
    // Scalings this large are cut at 2^1000; the exponents of the matching are not.
    const auto beyond = test::random_symmetric(random, 100, 4, 1020).matrix();
    expect_certificate(beyond.view(), product_matching(beyond));
    for (const double s : match_symmetric(test::host(), beyond.view()).scaling) {
        EXPECT_GE(s, 0x1p-1000);
        EXPECT_LE(s, 0x1p1000);
    }
}

TEST(matching, the_product_follows_a_scaling_of_rows_and_columns) {
    auto random = test::generator();
    auto matrix = test::random_symmetric(random, 300, 5, 8).matrix();
    const matching::Assignment before = product_matching(matrix);
    double shift = 0;
    std::vector<double> power(300);
    for (double& p : power) p = double(random() % 40) - 20;
    const CsrView<double> a = matrix.view();
    for (Index i = 0; i < 300; ++i) {
        for (Offset k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) {
            matrix.values().data()[k] *= std::exp2(power[i] + power[a.column_indices[k]]);
        }
    }
    const matching::Assignment after = product_matching(matrix);
    expect_certificate(matrix.view(), after);
    ASSERT_EQ(before.cardinality, after.cardinality);
    if (after.cardinality == 300) {
        for (const double p : power) shift += 2 * p;
        EXPECT_EQ(before.column_of_row, after.column_of_row);
        EXPECT_NEAR(log_product(matrix.view(), after), log_product(a, before), 1e-9);
    }
}

TEST(matching, threads_do_not_matter) {
    auto random = test::generator();
    const auto matrix = test::random_kkt(random, 40000, 20000, 6).matrix();
    const SymmetricMatching one = match_symmetric(test::host(1), matrix.view());
    const SymmetricMatching three = match_symmetric(test::host(3), matrix.view());
    EXPECT_EQ(one.scaling, three.scaling);
    EXPECT_EQ(one.partner, three.partner);
}

/// Matching of rows with columns of nonsymmetric matrices: a permutation of full structural rank,
/// on which scaled entries have size 1, others at most that.
TEST(matching, columns) {
    auto random = test::generator();
    std::uniform_real_distribution<double> exponent(-8, 8);
    for (int k = 0; k < 200; ++k) {
        const Index rows = 1 + Index(random() % 40);
        std::vector<std::vector<Index>> pattern(static_cast<std::size_t>(rows));
        std::vector<std::vector<double>> values(pattern.size());
        const std::uint64_t density = 1 + random() % 8;
        for (auto i = std::size_t(0); i < pattern.size(); ++i) {
            for (Index j = 0; j < rows; ++j) {
                if (random() % std::uint64_t(rows) >= density) continue;
                pattern[i].push_back(j);
                values[i].push_back(random() % 9 == 0 ? 0 : std::exp2(exponent(random)));
            }
        }
        const auto matrix = test::make_csr(rows, rows, pattern, values);
        const ColumnMatching found = match_columns(test::host(), matrix.view());
        EXPECT_EQ(found.structural_rank, structural_rank(matrix.view()));
        std::vector<Index> row_of_column = found.row_of_column;
        Index matched = 0;
        for (Index i = 0; i < rows; ++i) {
            for (std::size_t p = 0; p < pattern[std::size_t(i)].size(); ++p) {
                const Index j = pattern[std::size_t(i)][p];
                const double size =
                    found.row_scaling[i] * values[std::size_t(i)][p] * found.column_scaling[j];
                EXPECT_LE(size, 1 + slack);
                if (row_of_column[j] != i || size == 0) continue;
                if (found.structural_rank == rows) {
                    EXPECT_GE(size, 1 - slack);
                }
                ++matched;
            }
        }
        EXPECT_GE(matched, found.structural_rank);
        std::ranges::sort(row_of_column);
        for (Index i = 0; i < rows; ++i) EXPECT_EQ(row_of_column[i], i);
    }
}

/// The symmetric indefinite matrices of a folder.
std::vector<std::string> indefinite_matrices(const std::string& folder) {
    std::vector<std::string> paths;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        const std::string name = entry.path().filename().string();
        const auto starts = [&](const char* prefix) { return name.starts_with(prefix); };
        if (starts("sqd_") || starts("kkt_") || starts("stokes64") || starts("tuma2") ||
            starts("blowey") || starts("aug3dcqp")) {
            paths.push_back(entry.path().string());
        }
    }
    std::ranges::sort(paths);
    if (test::fewer_run() && paths.size() > 5) paths.resize(5);
    return paths;
}

TEST(matching, real_symmetric_matrices) {
    if (test::matrix_folder().empty()) GTEST_SKIP() << "TESSERA_TEST_MATRICES is not set";
    for (const std::string& path : indefinite_matrices(test::matrix_folder())) {
        SCOPED_TRACE(path);
        const auto matrix = io::read_matrix<double>(test::host(), path);
        if (matrix.nonzeros() < 100000) {
            checked(matrix);
        } else {
            expect_scaled(matrix.view(), match_symmetric(test::host(), matrix.view()));
        }
    }
}

}  // namespace
}  // namespace tessera
