#include "tessera/detail/symmetric_product.hpp"

#include "krylov/test_systems.hpp"
#include "sparse/bsr/test_products_reference.hpp"
#include "support/messages.hpp"
#include "tessera/products.hpp"

namespace tessera::test {

namespace {

/// The first columns of a matrix.
CsrMatrix<double> first_columns(const CsrMatrix<double>& from, Index count) {
    const CsrMatrix<double> whole = copy_to_host(context(), from.view());
    const CsrView<double> view = whole.view();
    std::vector<std::vector<Index>> pattern(std::size_t(view.rows));
    std::vector<std::vector<double>> values(pattern.size());
    for (Index i = 0; i < view.rows; ++i) {
        for (Offset k = view.row_offsets[i]; k < view.row_offsets[i + 1]; ++k) {
            if (view.column_indices[k] >= count) continue;
            pattern[std::size_t(i)].push_back(view.column_indices[k]);
            values[std::size_t(i)].push_back(view.values[k]);
        }
    }
    return copy_to(context(), make_csr<double>(view.rows, count, pattern, values));
}

}  // namespace

/// The first rows of P^T A P, as a rank has them.
TEST(symmetric_product, first_rows_of_a_triple_product) {
    auto random = generator();
    const auto a = copy_to(context(), laplacian_2d<double>(18));
    for (const int block : {1, 2, 3}) {
        SCOPED_TRACE(block);
        const auto in_blocks = [&](const CsrMatrix<double>& matrix) {
            return to_bsr(context(), matrix.view(), block, block);
        };
        const auto numbers = [](const BsrMatrix<double>& matrix) {
            return entries_of(to_csr(context(), matrix.view()).view());
        };
        const CsrMatrix<double> p = random_csr<double>(random, a.rows(), 60, 4);
        const BsrMatrix<double> own = in_blocks(first_columns(p, 36)), all = in_blocks(p),
                                middle = in_blocks(a);
        const BsrMatrix<double> left = transpose<double>(context(), own.view()),
                                right = multiply<double>(context(), middle.view(), all.view());
        BsrMatrix<double> made = multiply_symmetric<double>(context(), left.view(), right.view());
        const CsrMatrix<double> found = to_csr(context(), made.view());
        // Values come again on the pattern.
        const std::vector<double> values = copy_to_host(context(), made.values());
        made.values() = {};
        update_symmetric_product<double>(context(), left.view(), right.view(), made);
        EXPECT_EQ(copy_to_host(context(), made.values()), values);
        expect_entries(
            found.view(), 36, 60,
            product_of(transpose_of(numbers(own)), product_of(numbers(middle), numbers(all))));
        const CsrMatrix<double> on_host = copy_to_host(context(), found.view());
        const CsrView<double> c = on_host.view();
        std::map<std::pair<Index, Index>, double> square;
        for (Index i = 0; i < c.rows; ++i) {
            for (Offset k = c.row_offsets[i]; k < c.row_offsets[i + 1]; ++k) {
                if (c.column_indices[k] < 36) square[{i, c.column_indices[k]}] = c.values[k];
            }
        }
        for (const auto& [at, value] : square) {
            ASSERT_EQ(value, square.at({at.second, at.first}));
        }
    }
}

TEST(symmetric_product, other_products_are_errors) {
    const auto blocks = [](Index rows, Index columns, std::vector<std::vector<Index>> pattern) {
        std::vector<std::vector<double>> values;
        for (const auto& row : pattern) values.emplace_back(row.size(), 1.0);
        return to_bsr(context(),
                      copy_to(context(), make_csr<double>(rows, columns, pattern, values)).view(),
                      1, 1);
    };
    const BsrMatrix<double> unit = blocks(2, 2, {{0}, {1}}), upper = blocks(2, 3, {{0, 1, 2}, {1}}),
                            narrow = blocks(2, 1, {{0}, {0}});
    const auto multiplied = [&](const BsrMatrix<double>& b) {
        return message_of([&] { multiply_symmetric<double>(context(), unit.view(), b.view()); });
    };
    expect_contains(multiplied(upper), "the pattern of the matrix is not symmetric");
    expect_contains(multiplied(narrow), "square blocks");
}

}  // namespace tessera::test
