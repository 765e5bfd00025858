#include "batched/test_factor_suite.hpp"

namespace tessera::test {

TESSERA_FACTOR_TESTS(ldu)

TEST(ldu, rejects_what_is_missing) {
    double value = 1;
    Index row = 0;
    using View = batched::BatchView<double>;
    const View a = View::uniform(1, 1, &value);
    const Context where = host();
    EXPECT_THROW(batched::ldu(where, Pivoting::rook, a, a, {&row, &row}), InvalidArgument);
    EXPECT_THROW(batched::llt(where, Pivoting::partial, a, a, {&row}), InvalidArgument);
    EXPECT_THROW(batched::ldlt(where, Pivoting::partial, a, a, {&row}), InvalidArgument);
    EXPECT_THROW(batched::ldu(where, Pivoting::partial, a, a, {}), InvalidArgument);
    EXPECT_THROW(batched::ldu(where, Pivoting::full, a, a, {&row}), InvalidArgument);
    EXPECT_THROW(batched::ldlt(where, Pivoting::full, a, a, {}), InvalidArgument);
    const View two = View::uniform(2, 1, &value);
    EXPECT_THROW(batched::ldu(where, Pivoting::partial, a, two, {&row}), InvalidArgument);
    EXPECT_THROW(batched::ldu(where, Pivoting::partial, two, two, {&row}), InvalidArgument);
    const View rows = View::uniform(1, 1, &value, batched::Layout::row_major);
    EXPECT_THROW(batched::ldu(where, Pivoting::fixed, rows, rows, {}), InvalidArgument);
    EXPECT_THROW(batched::ldu(where, Pivoting::fixed, a, View::uniform(1, 1, (double*)nullptr), {}),
                 InvalidArgument);
    batched::ldu(where, Pivoting::fixed, a, a, {});
    EXPECT_EQ(value, 1);
}

}  // namespace tessera::test
