#include "support/messages.hpp"
#include "tessera/vector_ops.hpp"

namespace tessera::test {

namespace {

template <class T>
CsrMatrix<T> random_matrix(Index rows, Index columns) {
    auto random = generator();
    const auto count = std::size_t(rows);
    std::vector<std::vector<Index>> pattern(count);
    std::vector<std::vector<T>> values(count);
    for (std::size_t i = 0; i < count; ++i) {
        for (Index j = 0; j < columns; ++j) {
            if (random() % 4 != 0) continue;
            pattern[i].push_back(j);
            values[i].push_back(T(double(random() % 1000) / 8));
        }
    }
    return make_csr<T>(rows, columns, pattern, values);
}

template <class T>
void check_transpose(Index rows, Index columns) {
    const CsrMatrix<T> given = random_matrix<T>(rows, columns);
    const CsrMatrix<T> on_device = copy_to(context(), given);
    const CsrMatrix<T> made =
        copy_to_host(context(), transpose(context(), on_device.view()).view());
    const CsrView<T> a = given.view(), b = made.view();
    validate(b);
    ASSERT_EQ(b.rows, columns);
    ASSERT_EQ(b.columns, rows);
    ASSERT_EQ(b.nonzeros, a.nonzeros);
    // Sorted rows of as many entries, each of them one of A.
    for (Index j = 0; j < b.rows; ++j) {
        for (Offset k = b.row_offsets[j]; k < b.row_offsets[j + 1]; ++k) {
            const Index i = b.column_indices[k];
            const Index* const first = a.column_indices + a.row_offsets[i];
            const Index* const last = a.column_indices + a.row_offsets[i + 1];
            const Index* const found = std::find(first, last, j);
            ASSERT_NE(found, last) << "entry (" << j << ", " << i << ")";
            EXPECT_EQ(b.values[k], a.values[found - a.column_indices]);
        }
    }
}

}  // namespace

TEST(transpose, has_the_entries_of_the_matrix) {
    for (const Index rows : {1, 7, 40}) {
        for (const Index columns : {1, 5, 60}) {
            check_transpose<double>(rows, columns);
            check_transpose<float>(rows, columns);
        }
    }
    check_transpose<double>(0, 3);
    check_transpose<double>(3, 0);
}

TEST(transpose, refuses_columns_out_of_range) {
    CsrMatrix<double> matrix = make_csr<double>(2, 2, {{0, 1}, {1}}, {{1, 2}, {3}});
    matrix.column_indices().data()[1] = 2;
    const CsrMatrix<double> on_device = copy_to(context(), matrix);
    EXPECT_EQ(message_of([&] { transpose(context(), on_device.view()); }),
              "transpose: column 2 is outside 0..1");
    EXPECT_EQ(message_of([] { transpose(context(), CsrView<double>()); }),
              "transpose: the matrix has no row offsets (null, or a moved-from matrix)");
}

}  // namespace tessera::test
