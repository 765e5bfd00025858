#include "support/messages.hpp"

namespace tessera::test {

namespace {

/// Random blocks, about `per_row` in a block row.
template <class T>
BsrMatrix<T> random_bsr(std::mt19937_64& random, Index block_rows, Index block_columns, int height,
                        int width, double per_row) {
    const auto rows = std::size_t(block_rows * height);
    std::vector<std::vector<Index>> pattern(rows);
    std::vector<std::vector<T>> values(rows);
    std::uniform_real_distribution<double> uniform(-1, 1);
    for (Index i = 0; i < block_rows; ++i) {
        for (Index j = 0; j < block_columns; ++j) {
            if ((uniform(random) + 1) / 2 * block_columns > per_row) continue;
            for (int e = 0; e < height * width; ++e) {
                pattern[std::size_t(i * height + e / width)].push_back(j * width + e % width);
                values[std::size_t(i * height + e / width)].push_back(T(uniform(random)));
            }
        }
    }
    const auto csr = make_csr<T>(block_rows * height, block_columns * width, pattern, values);
    return to_bsr(context(), copy_to(context(), csr).view(), height, width);
}

/// The matrix as CSR in host memory.
template <class T>
CsrMatrix<T> csr_on_host(const BsrView<T>& matrix) {
    const CsrMatrix<T> csr = to_csr(context(), matrix);
    return copy_to_host(context(), csr.view());
}

template <class T>
std::vector<double> dense(const BsrView<T>& matrix) {
    const CsrMatrix<T> csr = csr_on_host(matrix);
    const CsrView<T> a = csr.view();
    std::vector<double> full(std::size_t(a.rows) * std::size_t(a.columns), 0);
    for (Index i = 0; i < a.rows; ++i) {
        for (Offset k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) {
            full[std::size_t(i) * std::size_t(a.columns) + std::size_t(a.column_indices[k])] =
                double(a.values[k]);
        }
    }
    return full;
}

/// a b, and |a| |b|, of dense m x k and k x n matrices, row-major.
std::pair<std::vector<double>, std::vector<double>> dense_product(const std::vector<double>& a,
                                                                  const std::vector<double>& b,
                                                                  std::size_t m, std::size_t k,
                                                                  std::size_t n) {
    std::vector<double> product(m * n, 0), sizes(m * n, 0);
    for (std::size_t i = 0; i < m; ++i) {
        for (std::size_t t = 0; t < k; ++t) {
            for (std::size_t j = 0; j < n; ++j) {
                product[i * n + j] += a[i * k + t] * b[t * n + j];
                sizes[i * n + j] += std::abs(a[i * k + t] * b[t * n + j]);
            }
        }
    }
    return {product, sizes};
}

template <class T>
void expect_close(const BsrView<T>& found, const std::vector<double>& expected,
                  const std::vector<double>& sizes, double operations) {
    const std::vector<double> full = dense(found);
    ASSERT_EQ(full.size(), expected.size());
    for (std::size_t e = 0; e < full.size(); ++e) {
        ASSERT_NEAR(full[e], expected[e], gamma<T>(operations) * sizes[e]) << "entry " << e;
    }
}

template <class T>
void check_products() {
    auto random = generator();
    for (const int height : {1, 2, 3, 4, 6, 8}) {
        for (const int inner : {1, 3, 5, 6}) {
            for (const int width : {1, 3, 6, 7}) {
                SCOPED_TRACE(std::to_string(height) + std::to_string(inner) +
                             std::to_string(width));
                const auto a = random_bsr<T>(random, 9, 7, height, inner, 3);
                const auto b = random_bsr<T>(random, 7, 5, inner, width, 2);
                auto product = multiply(context(), a.view(), b.view());
                const auto [expected, sizes] =
                    dense_product(dense(a.view()), dense(b.view()), std::size_t(9 * height),
                                  std::size_t(7 * inner), std::size_t(5 * width));
                expect_close(product.view(), expected, sizes, 7 * inner + 2);
                validate(csr_on_host(product.view()).view());
                const auto values = copy_to_host(context(), product.values());
                fill<T>(context(), T(-1), product.values().view());
                update_product(context(), a.view(), b.view(), product);
                EXPECT_EQ(copy_to_host(context(), product.values()), values);
            }
        }
    }
}

/// A random symmetric matrix with a symmetric pattern.
template <class T>
BsrMatrix<T> random_symmetric(std::mt19937_64& random, Index block_rows, int size) {
    const auto half = random_bsr<T>(random, block_rows, block_rows, size, size, 3);
    std::vector<double> full = dense(half.view());
    const auto n = std::size_t(block_rows * size);
    std::vector<std::vector<Index>> pattern(n);
    std::vector<std::vector<T>> values(n);
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j < n; ++j) {
            const double value = full[i * n + j] + full[j * n + i];
            if (value == 0) continue;
            pattern[i].push_back(Index(j));
            values[i].push_back(T(value));
        }
    }
    const auto csr = make_csr<T>(Index(n), Index(n), pattern, values);
    return to_bsr(context(), copy_to(context(), csr).view(), size, size);
}

template <class T>
BsrMatrix<T> copy_of(const BsrMatrix<T>& matrix, const Context& where = context()) {
    return to_bsr(where, to_csr(where, matrix.view()).view(), matrix.view().height,
                  matrix.view().width);
}

template <class T>
void check_triple_products() {
    auto random = generator();
    for (const int size : {1, 2, 3, 6}) {
        for (const int width : {1, 3, 6}) {
            SCOPED_TRACE(std::to_string(size) + std::to_string(width));
            const auto a = random_symmetric<T>(random, 11, size);
            const auto p = random_bsr<T>(random, 11, 4, size, width, 2);
            auto products = symmetric_triple_product(context(), copy_of(p), a.view());
            const auto rows = std::size_t(11 * size), columns = std::size_t(4 * width);
            const auto [ap, ap_sizes] =
                dense_product(dense(a.view()), dense(p.view()), rows, rows, columns);
            const auto transposed = dense(transpose(context(), p.view()).view());
            const auto expected = dense_product(transposed, ap, columns, rows, columns).first;
            // |P|^T (|A| |P|)
            std::vector<double> positive = transposed;
            for (double& value : positive) value = std::abs(value);
            const auto sizes = dense_product(positive, ap_sizes, columns, rows, columns).first;
            expect_close(products.result.view(), expected, sizes, double(2 * rows) + 4);
            const auto full = dense(products.result.view());
            for (std::size_t i = 0; i < columns; ++i) {
                for (std::size_t j = 0; j < i; ++j) {
                    ASSERT_EQ(full[i * columns + j], full[j * columns + i]);
                }
            }
            // Other values of both: twice P, four times A.
            const auto values = copy_to_host(context(), products.result.values());
            auto other_a = copy_of(a), other_p = copy_of(p);
            axpby<T>(context(), T(4), a.values().view(), T(0), other_a.values().view());
            axpby<T>(context(), T(2), p.values().view(), T(0), other_p.values().view());
            products.p = std::move(other_p);
            update(context(), other_a.view(), products);
            const auto updated = copy_to_host(context(), products.result.values());
            for (std::size_t e = 0; e < values.size(); ++e) ASSERT_EQ(updated[e], 16 * values[e]);
        }
    }
}

/// The arrays of a matrix on the device are those on the host, values to rounding.
template <class T>
void expect_same(const BsrMatrix<T>& found, const BsrMatrix<T>& expected, double tolerance) {
    const CsrMatrix<T> one = csr_on_host(found.view());
    const CsrMatrix<T> other = to_csr(host(), expected.view());
    ASSERT_EQ(one.nonzeros(), other.nonzeros());
    const CsrView<T> a = one.view(), b = other.view();
    EXPECT_TRUE(std::ranges::equal(a.row_offsets_span(), b.row_offsets_span()));
    EXPECT_TRUE(std::ranges::equal(a.column_indices_span(), b.column_indices_span()));
    double largest = 0, difference = 0;
    for (Offset k = 0; k < a.nonzeros; ++k) {
        largest = std::max(largest, std::abs(double(b.values[k])));
        difference = std::max(difference, std::abs(double(a.values[k]) - double(b.values[k])));
    }
    EXPECT_LE(difference, tolerance * largest);
}

}  // namespace

TEST(bsr, products) {
    check_products<double>();
    check_products<float>();
}

TEST(bsr, triple_products) {
    check_triple_products<double>();
    check_triple_products<float>();
}

TEST(bsr, products_do_not_depend_on_threads) {
    const auto matrix = problems::generate<double>(host(), Spec("elasticity3d:14")).matrix;
    const auto a = to_bsr(host(1), matrix.view(), 3, 3);
    const auto values = [&](int threads) {
        auto found = symmetric_triple_product(host(threads), copy_of(a, host()), a.view());
        return copy_to_host(host(), found.result.values());
    };
    const auto expected = values(1);
    for (const int threads : {2, 3}) EXPECT_EQ(values(threads), expected);
}

/// Rows of the product of more columns than the tables of the GPU kernels hold, and of none.
TEST(bsr, long_and_empty_rows) {
    const Index n = 1500;
    std::vector<std::vector<Index>> pattern(n);
    std::vector<std::vector<double>> values(n);
    for (Index i = 0; i < n; ++i) {
        if (i % 7 == 5) continue;
        for (Index j = i % 100 == 0 ? 0 : i; j < (i % 100 == 0 ? n : i + 1); ++j) {
            pattern[std::size_t(i)].push_back(j);
            values[std::size_t(i)].push_back(1 + (i + j) % 5);
        }
    }
    const auto csr = make_csr<double>(n, n, pattern, values);
    const auto a = to_bsr(context(), copy_to(context(), csr).view(), 1, 1);
    const auto on_host = to_bsr(host(), csr.view(), 1, 1);
    expect_same(multiply(context(), a.view(), a.view()),
                multiply(host(), on_host.view(), on_host.view()), 1e-15);
    expect_same(transpose(context(), a.view()), transpose(host(), on_host.view()), 0);
}

/// Both backends, on matrices of the size of a level.
TEST(bsr, as_on_the_host) {
    for (const auto& [problem, block] :
         {std::pair{"elasticity3d:9", 3}, {"poisson2d:70", 1}, {"elasticity2d:20", 2}}) {
        const auto csr = problems::generate<double>(host(), Spec(problem)).matrix;
        const auto on_host = to_bsr(host(), csr.view(), block, block);
        const auto a = to_bsr(context(), copy_to(context(), csr).view(), block, block);
        expect_same(a, on_host, 0);
        const auto found = symmetric_triple_product(context(), copy_of(a), a.view());
        const auto expected =
            symmetric_triple_product(host(), copy_of(on_host, host()), on_host.view());
        expect_same(found.product, expected.product, 1e-14);
        expect_same(found.transposed.matrix, expected.transposed.matrix, 0);
        expect_same(found.result, expected.result, 1e-14);
        const auto again = symmetric_triple_product(context(), copy_of(a), a.view());
        EXPECT_EQ(copy_to_host(context(), again.result.values()),
                  copy_to_host(context(), found.result.values()));
    }
}

TEST(bsr, conversion_and_transpose) {
    auto random = generator();
    const auto a = random_bsr<double>(random, 6, 8, 3, 2, 3);
    const auto csr = to_csr(context(), a.view());
    validate(csr_on_host(a.view()).view());
    const auto back = to_bsr(context(), csr.view(), 3, 2);
    EXPECT_EQ(dense(back.view()), dense(a.view()));
    const auto twice = transpose(context(), transpose(context(), a.view()).view());
    EXPECT_EQ(dense(twice.view()), dense(a.view()));
    const auto flipped = csr_on_host(transpose(context(), a.view()).view());
    validate(flipped.view());
    EXPECT_TRUE(
        std::ranges::equal(flipped.view().values_span(),
                           transpose(host(), csr_on_host(a.view()).view()).view().values_span()));
}

TEST(bsr, sizes_that_do_not_agree_are_refused) {
    auto random = generator();
    const auto a = random_bsr<double>(random, 4, 4, 3, 3, 2);
    const auto b = random_bsr<double>(random, 4, 4, 2, 3, 2);
    EXPECT_EQ(message_of([&] { multiply(context(), a.view(), b.view()); }),
              "multiply: the columns of A (4 x 4 blocks of 3 x 3) are not the rows of B (4 x 4 "
              "blocks of 2 x 3)");
    const auto csr = to_csr(context(), a.view());
    EXPECT_EQ(message_of([&] { to_bsr(context(), csr.view(), 5, 3); }),
              "to_bsr: blocks of 5 x 3 do not divide a matrix of 12 x 12");
    EXPECT_EQ(message_of([&] { to_bsr(context(), csr.view(), 9, 3); }),
              "to_bsr: blocks have 1 to 8 rows and columns");
    const auto made = [](const CsrMatrix<double>& given) {
        return to_bsr(context(), copy_to(context(), given).view(), 1, 1);
    };
    const auto lower = made(make_csr<double>(2, 2, {{0}, {0, 1}}, {{1}, {2, 3}}));
    const auto unit = made(make_csr<double>(2, 2, {{0}, {1}}, {{1}, {1}}));
    const auto upper = made(make_csr<double>(2, 2, {{0, 1}, {1}}, {{1, 2}, {3}}));
    for (const auto* wrong : {&lower, &upper}) {
        EXPECT_EQ(
            message_of([&] { symmetric_triple_product(context(), copy_of(unit), wrong->view()); }),
            "symmetric_triple_product: the pattern of the matrix is not symmetric: each stored "
            "entry, zeros too, needs a mirror image");
    }
}

}  // namespace tessera::test
