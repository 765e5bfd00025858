#include "tessera/csr.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "sparse/test_symmetric_matrices.hpp"
#include "support/messages.hpp"

namespace tessera {

namespace {

/// Error message of a check of a matrix in host memory; "accepted" if it does not throw.
template <class T>
std::string outcome_of(const CsrMatrix<T>& matrix) {
    const Context device = test::context();
    const auto placed = copy_to(device, matrix.view());
    return test::message_of([&] { check_symmetry(device, std::as_const(placed).view(), "test"); });
}

/// Position of a stored entry.
template <class T>
Offset place_of(const CsrView<T>& matrix, Index row, Index column) {
    Offset k = matrix.row_offsets[row];
    while (matrix.column_indices[k] != column) ++k;
    return k;
}

template <class T>
void expect_each_fault_is_found() {
    auto random = test::generator();
    const Index rows = 700;
    // The last row is dense.
    auto entries = test::random_symmetric(random, rows, 4, 3);
    for (Index i = 0; i < rows; ++i) entries.add(rows - 1, i, i == 5 ? -64 : 1);
    auto matrix = entries.template matrix<T>();
    EXPECT_EQ(outcome_of(matrix), "accepted");
    const T eps = std::numeric_limits<T>::epsilon();
    for (const Index row : {Index(3), Index(5), Index(400), rows - 2}) {
        const auto text = "(" + std::to_string(row) + ", " + std::to_string(rows - 1) + ")";
        const Offset k = place_of(std::as_const(matrix).view(), row, rows - 1);
        T& value = matrix.values().data()[k];
        T largest = 0;
        for (Offset e = matrix.view().row_offsets[row]; e < matrix.view().row_offsets[row + 1]; ++e)
            largest = std::max(largest, std::abs(matrix.view().values[e]));
        largest = std::min(largest, T(64));
        const T original = value;
        value = original + 900 * eps * largest;
        EXPECT_EQ(outcome_of(matrix), "accepted") << text;
        value = original + 1100 * eps * largest;
        const std::string found = outcome_of(matrix);
        EXPECT_NE(found.find("test: the matrix is not symmetric: entry " + text + " differs"),
                  std::string::npos)
            << text << ": " << found;
        value = std::numeric_limits<T>::quiet_NaN();
        EXPECT_NE(outcome_of(matrix).find("not finite"), std::string::npos) << text;
        value = original;
    }
}

}  // namespace

TEST(symmetry, each_fault_is_found) {
    expect_each_fault_is_found<double>();
    expect_each_fault_is_found<float>();
}

// Entries that are negligible in their row and in their column need no mirror image.
template <class T>
void expect_unpaired_entries_are_zero() {
    const Context device = test::context();
    const T eps = std::numeric_limits<T>::epsilon();
    const auto is_paired = [&](T value, bool upper) {
        const auto matrix = upper ? test::make_csr<T>(2, 2, {{0, 1}, {1}}, {{4, value}, {64}})
                                  : test::make_csr<T>(2, 2, {{0}, {0, 1}}, {{4}, {value, 64}});
        const auto placed = copy_to(device, matrix.view());
        EXPECT_TRUE(is_symmetric(device, placed.view()));
        return check_symmetry(device, std::as_const(placed).view(), "test");
    };
    for (const bool upper : {false, true}) {
        EXPECT_FALSE(is_paired(0, upper));
        EXPECT_FALSE(is_paired(-3900 * eps, upper));
    }
    const auto large = [&](T value) {
        return outcome_of(test::make_csr<T>(2, 2, {{0}, {0, 1}}, {{4}, {value, 64}}));
    };
    EXPECT_EQ(large(4100 * eps),
              "test: the matrix is not symmetric: entry (1, 0) is stored, but not (0, 1)");
    // The row of the mirror image is empty, so that nothing is negligible in it.
    EXPECT_NE(outcome_of(test::make_csr<T>(2, 2, {{}, {0, 1}}, {{}, {eps * eps, 64}})), "accepted");
    const auto paired = copy_to(device, test::make_csr<T>(1, 1, {{0}}, {{1}}));
    EXPECT_TRUE(check_symmetry(device, paired.view(), "test"));
}

TEST(symmetry, unpaired_entries_are_compared_with_zero) {
    expect_unpaired_entries_are_zero<double>();
    expect_unpaired_entries_are_zero<float>();
}

// Faults that cancel in sums over all entries.
TEST(symmetry, exchanged_values_are_no_mirror_images) {
    const Context device = test::context();
    const auto holds = [&](double above, double below, double other_above, double other_below) {
        const auto matrix =
            test::make_csr<double>(4, 4, {{0, 1}, {0, 1}, {2, 3}, {2, 3}},
                                   {{4, above}, {below, 4}, {4, other_above}, {other_below, 4}});
        return is_symmetric(device, copy_to(device, matrix.view()).view());
    };
    EXPECT_TRUE(holds(1, 1, 2, 2));
    EXPECT_TRUE(holds(0.0, -0.0, 2, 2));
    EXPECT_FALSE(holds(1, 2, 2, 1));
    EXPECT_FALSE(holds(1, -1, -1, 1));
    EXPECT_FALSE(holds(1, 2, 1, 2));
}

/// The definition, entry by entry: max |a_ij| by rows, and every difference.
bool is_symmetric_by_definition(const CsrView<double>& a) {
    std::vector<double> largest(std::size_t(a.rows), 0);
    std::map<std::pair<Index, Index>, double> entries;
    for (Index i = 0; i < a.rows; ++i) {
        for (Offset k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) {
            if (!std::isfinite(a.values[k])) return false;
            entries[{i, a.column_indices[k]}] = a.values[k];
            largest[std::size_t(i)] = std::max(largest[std::size_t(i)], std::abs(a.values[k]));
        }
    }
    return std::ranges::all_of(entries, [&](const auto& entry) {
        const auto [i, j] = entry.first;
        const auto image = entries.find({j, i});
        const double other = image == entries.end() ? 0 : image->second;
        const double tolerance = 1000 * std::numeric_limits<double>::epsilon() *
                                 std::min(largest[std::size_t(i)], largest[std::size_t(j)]);
        return std::abs(entry.second - other) <= tolerance;
    });
}

/// One entry of a symmetric matrix is changed, a little or much, or there on one side alone.
TEST(symmetry, holds_by_definition_after_any_change) {
    const Context device = test::context();
    auto random = test::generator();
    int symmetric = 0;
    for (int step = 0; step < 400; ++step) {
        const Index rows = step % 8 == 0 ? 4000 : 1 + Index(random() % 12);
        std::vector<std::map<Index, double>> entries(static_cast<std::size_t>(rows));
        for (Index k = 0; k < 3 * rows; ++k) {
            const auto i = Index(random() % std::uint64_t(rows));
            const auto j = Index(random() % std::uint64_t(rows));
            const auto value = double(random() % 9) - 4;
            entries[std::size_t(i)][j] = entries[std::size_t(j)][i] = value;
        }
        const auto i = Index(random() % std::uint64_t(rows));
        const auto j = Index(random() % std::uint64_t(rows));
        constexpr double eps = std::numeric_limits<double>::epsilon();
        auto& row = entries[std::size_t(i)];
        switch (random() % 6) {
            case 0:
                row.erase(j);
                break;
            case 1:
                row[j] += 1;
                break;
            case 2:
                row[j] += 100 * eps;
                break;
            case 3:
                row[j] = std::numeric_limits<double>::infinity();
                break;
            case 4:
                entries[std::size_t(j)].erase(i), row[j] = 0;
                break;
            default:
                break;
        }
        std::vector<std::vector<Index>> columns;
        std::vector<std::vector<double>> values;
        for (const auto& each : entries) {
            columns.emplace_back();
            values.emplace_back();
            for (const auto& [column, value] : each) {
                columns.back().push_back(column);
                values.back().push_back(value);
            }
        }
        const auto matrix = test::make_csr<double>(rows, rows, columns, values);
        const bool expected = is_symmetric_by_definition(matrix.view());
        symmetric += expected;
        const auto placed = copy_to(device, matrix.view());
        EXPECT_EQ(is_symmetric(device, placed.view()), expected) << step;
        EXPECT_EQ(is_symmetric(test::host(3), matrix.view()), expected) << step;
        EXPECT_EQ(outcome_of(matrix) == "accepted", expected) << step;
    }
    EXPECT_GT(symmetric, 100);
    EXPECT_LT(symmetric, 300);
}

TEST(symmetry, says_what_is_wrong) {
    EXPECT_EQ(outcome_of(test::make_csr<double>(0, 0, {}, {})), "accepted");
    EXPECT_EQ(outcome_of(test::make_csr<double>(2, 2, {{}, {}}, {{}, {}})), "accepted");
    EXPECT_EQ(outcome_of(test::make_csr<double>(2, 2, {{0, 1}, {0}}, {{1, 2}, {2}})), "accepted");
    const auto missing = test::make_csr<double>(3, 3, {{0}, {1}, {1, 2}}, {{1}, {1}, {2, 1}});
    EXPECT_EQ(outcome_of(missing),
              "test: the matrix is not symmetric: entry (2, 1) is stored, but not (1, 2)");
    EXPECT_NE(outcome_of(test::make_csr<double>(1, 2, {{0}}, {{1}})).find("square"),
              std::string::npos);
    const auto diagonal = test::make_csr<double>(2, 2, {{0}, {1}}, {{1}, {HUGE_VAL}});
    EXPECT_NE(outcome_of(diagonal).find("not finite"), std::string::npos);
}

}  // namespace tessera
