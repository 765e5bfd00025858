#include "precond/arranged_rows.hpp"

#include <cmath>

#include "sparse/test_sparse_matrices.hpp"
#include "support/test.hpp"

namespace tessera::test {

namespace {

/// A matrix with ones on the diagonal and few entries of magnitude up to 1 elsewhere, then row r
/// times 2^in_row(r), column c times 2^in_column(c).
CsrMatrix<double> scaled_matrix(std::mt19937_64& random, Index rows, auto&& in_row,
                                auto&& in_column) {
    std::uniform_real_distribution<double> uniform(-1, 1);
    std::vector<std::vector<Index>> columns(static_cast<std::size_t>(rows));
    std::vector<std::vector<double>> values(columns.size());
    for (Index i = 0; i < rows; ++i) {
        for (Index j = 0; j < rows; ++j) {
            if (i != j && random() % 8 != 0) continue;
            columns[std::size_t(i)].push_back(j);
            const double value = i == j ? 1 : uniform(random);
            values[std::size_t(i)].push_back(std::ldexp(value, in_row(i) + in_column(j)));
        }
    }
    return make_csr(rows, rows, columns, values);
}

}  // namespace

TEST(arranged_rows, scaling_and_need_of_a_matching) {
    auto random = generator();
    const Context device = context();
    const Index rows = 150;
    const auto none = [](Index) { return 0; };
    const auto mild = [](Index i) { return 2 * (i % 5) - 4; };
    const auto varied = [](Index i) { return 3 * (i % 5) - 6; };
    const auto opposite = [](Index i) { return 6 - 3 * (i % 5); };
    struct Case {
        CsrMatrix<double> matrix;
        bool small_diagonal, needs_matching, scaled;
    };
    std::vector<Case> cases;
    cases.push_back({scaled_matrix(random, rows, none, none), false, false, true});
    cases.push_back({scaled_matrix(random, rows, mild, mild), false, false, true});
    // Entries of up to 2^12 beside a diagonal of ones; no row has them in its column, too.
    cases.push_back({scaled_matrix(random, rows, varied, opposite), false, true, false});
    cases.push_back({scaled_matrix(random, rows, none, none), true, true, true});
    auto& last = cases.back().matrix;
    for (Index i = 0; i < rows; ++i) {
        for (Offset e = last.row_offsets().data()[i]; e < last.row_offsets().data()[i + 1]; ++e) {
            if (last.column_indices().data()[e] == i && i == 77) last.values().data()[e] = 0;
        }
    }
    for (const Case& one : cases) {
        const auto placed = copy_to(device, one.matrix.view());
        EXPECT_EQ(has_small_diagonal(device, placed.view()), one.small_diagonal);
        EXPECT_EQ(needs_matching(device, placed.view()), one.needs_matching);
        const auto scaling = copy_to_host(device, diagonal_scaling(device, placed.view()));
        const auto ones = copy_to_buffer(device, std::vector<double>(std::size_t(rows), 1));
        EXPECT_EQ(is_scaled<double>(device, placed.view(), ones.view(), ones.view()), one.scaled);
        const auto a = one.matrix.view();
        for (Index i = 0; i < rows; ++i) {
            double diagonal = 0, largest = 0;
            for (Offset e = a.row_offsets[i]; e < a.row_offsets[i + 1]; ++e) {
                largest = std::max(largest, std::abs(a.values[e]));
                if (a.column_indices[e] == i) diagonal = std::abs(a.values[e]);
            }
            EXPECT_EQ(scaling[std::size_t(i)], 1 / std::sqrt(diagonal == 0 ? largest : diagonal));
        }
    }
}

}  // namespace tessera::test
