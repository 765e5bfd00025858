#include "batched/test_factor_cases.hpp"
#include "batched/test_factor_runs.hpp"

namespace tessera::test {

namespace {

template <class Case>
void for_all(Case&& expect) {
    for (const Method& method : methods_of(Factorisation::ldu)) expect(method);
}

}  // namespace

TEST(ldu, random) {
    for_reals([](auto real) { for_all(expect_random_factors<decltype(real)>); });
}

TEST(ldu, torture) {
    for_reals([](auto real) { for_all(expect_torture<decltype(real)>); });
}

TEST(ldu, singular) {
    for_reals([](auto real) { for_all(expect_singular<decltype(real)>); });
}

TEST(ldu, non_finite) {
    for_reals([](auto real) { for_all(expect_non_finite<decltype(real)>); });
}

TEST(ldu, does_not_depend_on_neighbours) {
    for_reals([](auto real) { for_all(expect_no_neighbours<decltype(real)>); });
}

TEST(ldu, layouts) {
    for_reals([](auto real) { for_all(expect_layouts<decltype(real)>); });
}

TEST(ldu, runs) {
    for_reals([](auto real) { for_all(expect_runs<decltype(real)>); });
}

TEST(ldu, exactly_where_arithmetic_is) {
    for_reals([](auto real) { for_all(expect_exact<decltype(real)>); });
}

TEST(ldu, thresholds_on_random_matrices) {
    for_reals([](auto real) { for_all(expect_thresholds<decltype(real)>); });
}

TEST(ldu, determinants) {
    for_reals([](auto real) { for_all(expect_determinants<decltype(real)>); });
}

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
