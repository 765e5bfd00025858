#include "precond/polynomial/scaling.hpp"

#include <algorithm>

#include "support/blocks.hpp"

namespace tessera::test {

namespace {

CsrMatrix<double> generated(const std::string& text) {
    return problems::generate<double>(host(), Spec(text)).matrix;
}

template <class T>
void check_scaling(const CsrMatrix<T>& given) {
    const Context device = context();
    const CsrMatrix<T> matrix = copy_to(device, given.view());
    const SymmetricScaling<T> scaling(device, matrix.view());
    EXPECT_EQ(scaling.not_positive(), 0);
    EXPECT_EQ(scaling.first_not_positive(), -1);
    const CsrMatrix<T> found = copy_to_host(device, scaling.matrix());
    const CsrView<T> a = given.view(), scaled = found.view();
    EXPECT_TRUE(std::ranges::equal(scaled.column_indices_span(), a.column_indices_span()));
    std::vector<double> root(std::size_t(a.rows));
    const auto for_entries = [&](auto&& f) {
        for (Index i = 0; i < a.rows; ++i) {
            for (Offset k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) {
                f(i, a.column_indices[k], k);
            }
        }
    };
    for_entries([&](Index i, Index j, Offset k) {
        if (i == j) root[std::size_t(i)] = std::sqrt(double(a.values[k]));
    });
    for_entries([&](Index i, Index j, Offset k) {
        const double expected = double(a.values[k]) / (root[std::size_t(i)] * root[std::size_t(j)]);
        ASSERT_NEAR(double(scaled.values[k]), expected, gamma<T>(8) * std::abs(expected));
        const auto row = scaled.column_indices_span().subspan(
            std::size_t(a.row_offsets[j]), std::size_t(a.row_offsets[j + 1] - a.row_offsets[j]));
        const Offset mirrored = a.row_offsets[j] + (std::ranges::lower_bound(row, i) - row.begin());
        ASSERT_EQ(scaled.values[k], scaled.values[mirrored]) << i << " " << j;
    });
}

}  // namespace

TEST(scaling, has_a_unit_diagonal_and_stays_symmetric) {
    for_reals([](auto real) {
        using T = decltype(real);
        for (const char* text : {"elasticity2d:6,element=t3,jitter=0.5", "elasticity3d:2",
                                 "poisson2d:7", "elasticity3d:2,element=tet4", "tridiagonal:1"}) {
            SCOPED_TRACE(text);
            check_scaling(problems::generate<T>(host(), Spec(text)).matrix);
        }
    });
}

TEST(scaling, matrices_that_are_not_positive) {
    const Context device = context();
    const double nan = std::nan("");
    for (const double bad : {0.0, -1.0, nan, std::numeric_limits<double>::infinity()}) {
        const CsrMatrix<double> matrix = copy_to(
            device, make_csr<double>(4, 4, {{0, 1}, {0, 1}, {2}, {3}}, {{2, 1}, {1, 2}, {bad}, {3}})
                        .view());
        const SymmetricScaling<double> scaling(device, matrix.view());
        EXPECT_EQ(scaling.not_positive(), 1);
        EXPECT_EQ(scaling.first_not_positive(), 2);
        EXPECT_TRUE(
            std::isnan(copy_to_host(host(), copy_to_host(device, scaling.matrix()).values())[4]));
    }
    // A missing diagonal entry.
    const CsrMatrix<double> missing =
        copy_to(device, make_csr<double>(2, 2, {{1}, {0, 1}}, {{1}, {1, 1}}).view());
    EXPECT_EQ(SymmetricScaling<double>(device, missing.view()).first_not_positive(), 0);
    const CsrMatrix<double> flat = copy_to(device, make_csr<double>(1, 2, {{0}}, {{1}}).view());
    EXPECT_THROW(SymmetricScaling<double>(device, flat.view()), InvalidArgument);
}

TEST(scaling, update_takes_new_values) {
    const Context device = context();
    CsrMatrix<double> given = generated("elasticity2d:5");
    const CsrMatrix<double> matrix = copy_to(device, given.view());
    SymmetricScaling<double> scaling(device, matrix.view());
    const auto before = copy_to_host(host(), copy_to_host(device, scaling.matrix()).values());
    for (double& value : given.values().view()) value *= 4;
    const CsrMatrix<double> larger = copy_to(device, given.view());
    scaling.update(device, larger.view());
    // Scaling by powers of four is exact.
    EXPECT_EQ(copy_to_host(host(), copy_to_host(device, scaling.matrix()).values()), before);
}

}  // namespace tessera::test
