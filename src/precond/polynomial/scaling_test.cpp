#include "precond/polynomial/scaling.hpp"

#include <algorithm>

#include "support/blocks.hpp"

namespace tessera::test {

namespace {

template <class T>
std::vector<double> dense(const CsrMatrix<T>& matrix) {
    const CsrView<T> a = matrix.view();
    std::vector<double> all(std::size_t(a.rows) * std::size_t(a.rows), 0);
    for (Index i = 0; i < a.rows; ++i) {
        for (Offset k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) {
            all[std::size_t(i) * std::size_t(a.rows) + std::size_t(a.column_indices[k])] =
                double(a.values[k]);
        }
    }
    return all;
}

template <class T>
CsrMatrix<T> elasticity(const std::string& text) {
    return problems::generate<T>(host(), Spec(text)).matrix;
}

/// S (A S^T) from the factor of the context, as dense products, and the magnitude of its terms.
struct Expected {
    std::vector<double> values, sizes;
};

Expected scaled(Index n, const std::vector<double>& a, const std::vector<double>& s) {
    const auto product = [n](const std::vector<double>& x, const std::vector<double>& y, bool yt) {
        std::vector<double> z(x.size(), 0);
        for (Index i = 0; i < n; ++i) {
            for (Index k = 0; k < n; ++k) {
                const double xik = x[std::size_t(i * n + k)];
                if (xik == 0) continue;
                for (Index j = 0; j < n; ++j) {
                    z[std::size_t(i * n + j)] += xik * y[std::size_t(yt ? j * n + k : k * n + j)];
                }
            }
        }
        return z;
    };
    const auto absolute = [](std::vector<double> x) {
        for (double& value : x) value = std::abs(value);
        return x;
    };
    return {product(product(s, a, false), s, true),
            product(product(absolute(s), absolute(a), false), absolute(s), true)};
}

template <class T>
std::vector<double> factor_matrix(const Context& context, const SymmetricScaling<T>& scaling,
                                  Index n) {
    std::vector<double> s(std::size_t(n) * std::size_t(n));
    Buffer<T> y(context, n);
    for (Index j = 0; j < n; ++j) {
        std::vector<T> unit(std::size_t(n), T(0));
        unit[std::size_t(j)] = T(1);
        const Buffer<T> x = copy_to_buffer(context, unit);
        scaling.apply(context, one_vector(std::as_const(x).view()), one_vector(y.view()));
        const auto column = copy_to_host(context, y);
        scaling.apply_transposed(context, one_vector(std::as_const(x).view()),
                                 one_vector(y.view()));
        const auto row = copy_to_host(context, y);
        for (Index i = 0; i < n; ++i) {
            s[std::size_t(i * n + j)] = double(column[std::size_t(i)]);
        }
        // Column j of S^T is row j of S; entries not set by S^T are checked at the end.
        for (Index i = 0; i < j; ++i) {
            EXPECT_EQ(double(row[std::size_t(i)]), s[std::size_t(j * n + i)]);
        }
    }
    return s;
}

template <class T>
void check_scaling(const Context& context, const CsrMatrix<T>& given, bool blocks) {
    const CsrMatrix<T> matrix = copy_to(context, given.view());
    const SymmetricScaling<T> scaling =
        blocks ? SymmetricScaling<T>(context, matrix.view(),
                                     find_blocks(context, matrix.view(), 8, Blocking::natural))
               : SymmetricScaling<T>(context, matrix.view());
    EXPECT_EQ(scaling.not_positive(), 0);
    EXPECT_EQ(scaling.first_not_positive(), -1);
    const Index n = given.rows();
    const CsrMatrix<T> found = copy_to_host(context, scaling.matrix());
    EXPECT_TRUE(
        std::ranges::equal(found.view().column_indices_span(), given.view().column_indices_span()));
    const auto a = dense(found), s = factor_matrix(context, scaling, n);
    const Expected expected = scaled(n, dense(given), s);
    const double most = 8;  // rows of a block
    for (Index i = 0; i < n; ++i) {
        for (Index j = 0; j < n; ++j) {
            const std::size_t at = std::size_t(i * n + j);
            ASSERT_EQ(a[at], a[std::size_t(j * n + i)]) << i << " " << j;
            ASSERT_NEAR(a[at], expected.values[at], gamma<T>(2 * most + 4) * expected.sizes[at]);
        }
        // L^-1 A L^-T of a block: the error of Cholesky grows with its condition, here below 100.
        ASSERT_NEAR(a[std::size_t(i * n + i)], 1, 100 * gamma<T>(4 * most));
    }
}

}  // namespace

TEST(scaling, points_and_blocks) {
    for_reals([](auto real) {
        using T = decltype(real);
        for (const char* text : {"elasticity2d:6,element=t3,jitter=0.5", "elasticity3d:2",
                                 "poisson2d:7", "elasticity3d:2,element=tet4", "tridiagonal:1"}) {
            SCOPED_TRACE(text);
            for (const bool blocks : {false, true}) {
                check_scaling(context(), elasticity<T>(text), blocks);
            }
        }
    });
}

/// Dense blocks up to the largest size: A = I + v v^T in each.
TEST(scaling, blocks_of_every_size) {
    const Context device = context();
    auto random = generator();
    for (const Index size : {1, 2, 3, 5, 31, 32, 33, 63, 64}) {
        const Index rows = 3 * size;
        std::vector<std::vector<Index>> pattern(static_cast<std::size_t>(rows));
        std::vector<std::vector<double>> values(static_cast<std::size_t>(rows));
        const auto v = random_vector<double>(random, std::size_t(rows));
        for (Index i = 0; i < rows; ++i) {
            // The first block is isolated, the others are coupled.
            const Index first = i < size ? 0 : size, last = i < size ? size : rows;
            for (Index j = first; j < last; ++j) {
                pattern[std::size_t(i)].push_back(j);
                values[std::size_t(i)].push_back((i == j ? 1 : 0) +
                                                 v[std::size_t(i)] * v[std::size_t(j)]);
            }
        }
        const CsrMatrix<double> matrix =
            copy_to(device, make_csr(rows, rows, pattern, values).view());
        const SymmetricScaling<double> scaling(device, matrix.view(),
                                               uniform_partition(device, rows, size));
        EXPECT_EQ(scaling.not_positive(), 0);
        const auto a = dense(copy_to_host(device, scaling.matrix()));
        for (Index b = 0; b < 3; ++b) {
            for (Index i = 0; i < size; ++i) {
                for (Index j = 0; j < size; ++j) {
                    const Index row = b * size + i, column = b * size + j;
                    // ||A_bb|| <= 1 + size, ||L^-1|| <= 1.
                    EXPECT_NEAR(a[std::size_t(row * rows + column)], i == j ? 1 : 0,
                                gamma<double>(4 * size) * (1 + size))
                        << size;
                }
            }
        }
    }
}

TEST(scaling, solutions_are_scaled_back) {
    const Context device = context();
    const auto problem = problems::generate<double>(host(), "elasticity2d:10");
    const CsrMatrix<double> matrix = copy_to(device, problem.matrix.view());
    const SymmetricScaling<double> scaling(
        device, matrix.view(), find_blocks(device, matrix.view(), 2, Blocking::natural));
    const Buffer<double> b = copy_to_buffer(device, problem.load);
    Buffer<double> scaled_b(device, matrix.rows()), y(device, matrix.rows()),
        x(device, matrix.rows());
    scaling.apply(device, one_vector(b.view()), one_vector(scaled_b.view()));
    fill(device, 0.0, y.view());
    const CsrOperator<double> a(device, scaling.matrix());
    SolveOptions options;
    options.rtol = 1e-12;
    EXPECT_EQ(
        cg<double>(device, a, nullptr, std::as_const(scaled_b).view(), y.view(), options).status,
        Status::converged);
    scaling.apply_transposed(device, one_vector(std::as_const(y).view()), one_vector(x.view()));
    const CsrOperator<double> original(device, matrix.view());
    // Checks the solution: the scaled and the original residual differ by the condition of S.
    options.rtol = 1e-10;
    const SolveReport report = cg<double>(device, original, nullptr, b.view(), x.view(), options);
    EXPECT_EQ(report.iterations, 0);
}

TEST(scaling, matrices_that_are_not_positive) {
    const Context device = context();
    const double nan = std::nan("");
    for (const double bad : {0.0, -1.0, nan, std::numeric_limits<double>::infinity()}) {
        const CsrMatrix<double> matrix = copy_to(
            device, make_csr<double>(4, 4, {{0, 1}, {0, 1}, {2}, {3}}, {{2, 1}, {1, 2}, {bad}, {3}})
                        .view());
        const SymmetricScaling<double> points(device, matrix.view());
        EXPECT_EQ(points.not_positive(), 1);
        EXPECT_EQ(points.first_not_positive(), 2);
        EXPECT_TRUE(
            std::isnan(copy_to_host(host(), copy_to_host(device, points.matrix()).values())[4]));
        const SymmetricScaling<double> blocks(
            device, matrix.view(), blocks_from_offsets(device, 4, std::vector<Index>{0, 2, 3, 4}));
        EXPECT_EQ(blocks.not_positive(), 1);
        EXPECT_EQ(blocks.first_not_positive(), 2);
    }
    // A block that is indefinite despite a positive diagonal.
    const CsrMatrix<double> matrix =
        copy_to(device, make_csr<double>(2, 2, {{0, 1}, {0, 1}}, {{1, 2}, {2, 1}}).view());
    const SymmetricScaling<double> block(device, matrix.view(), uniform_partition(device, 2, 2));
    EXPECT_EQ(block.first_not_positive(), 1);
    // A missing diagonal entry.
    const CsrMatrix<double> missing =
        copy_to(device, make_csr<double>(2, 2, {{1}, {0, 1}}, {{1}, {1, 1}}).view());
    EXPECT_EQ(SymmetricScaling<double>(device, missing.view()).first_not_positive(), 0);
}

TEST(scaling, blocks_that_are_not_full_are_refused) {
    const Context device = context();
    const CsrMatrix<double> matrix = copy_to(device, elasticity<double>("poisson2d:4").view());
    EXPECT_THROW(SymmetricScaling<double>(device, matrix.view(), uniform_partition(device, 16, 2)),
                 InvalidArgument);
    EXPECT_THROW(SymmetricScaling<double>(device, matrix.view(), uniform_partition(device, 18, 1)),
                 InvalidArgument);
    const CsrMatrix<double> flat = copy_to(device, make_csr<double>(1, 2, {{0}}, {{1}}).view());
    EXPECT_THROW(SymmetricScaling<double>(device, flat.view()), InvalidArgument);
}

TEST(scaling, update_takes_new_values) {
    const Context device = context();
    for (const bool blocks : {false, true}) {
        CsrMatrix<double> given = elasticity<double>("elasticity2d:5");
        const CsrMatrix<double> matrix = copy_to(device, given.view());
        SymmetricScaling<double> scaling =
            blocks ? SymmetricScaling<double>(device, matrix.view(),
                                              uniform_partition(device, given.rows(), 2))
                   : SymmetricScaling<double>(device, matrix.view());
        const auto before = copy_to_host(host(), copy_to_host(device, scaling.matrix()).values());
        for (double& value : given.values().view()) value *= 4;
        const CsrMatrix<double> larger = copy_to(device, given.view());
        scaling.update(device, larger.view());
        // Scaling by powers of four is exact.
        EXPECT_EQ(copy_to_host(host(), copy_to_host(device, scaling.matrix()).values()), before);
    }
}

}  // namespace tessera::test
