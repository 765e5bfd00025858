#include "tessera/detail/bsr.hpp"

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
    return to_bsr(host(), csr.view(), height, width);
}

template <class T>
std::vector<double> dense(const BsrView<T>& matrix) {
    const CsrMatrix<T> csr = to_csr(host(), matrix);
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
                auto product = multiply(host(), a.view(), b.view());
                const auto [expected, sizes] =
                    dense_product(dense(a.view()), dense(b.view()), std::size_t(9 * height),
                                  std::size_t(7 * inner), std::size_t(5 * width));
                expect_close(product.view(), expected, sizes, 7 * inner + 2);
                validate(to_csr(host(), product.view()).view());
                const auto values = copy_to_host(host(), product.values());
                std::ranges::fill(product.values().view(), T(-1));
                update_product(host(), a.view(), b.view(), product);
                EXPECT_EQ(copy_to_host(host(), product.values()), values);
                const auto many_threads = multiply(host(3), a.view(), b.view());
                EXPECT_EQ(std::vector<T>(many_threads.view().values,
                                         many_threads.view().values + values.size()),
                          values);
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
    return to_bsr(host(), make_csr<T>(Index(n), Index(n), pattern, values).view(), size, size);
}

template <class T>
void check_triple_products() {
    auto random = generator();
    for (const int size : {1, 2, 3, 6}) {
        for (const int width : {1, 3, 6}) {
            SCOPED_TRACE(std::to_string(size) + std::to_string(width));
            const auto a = random_symmetric<T>(random, 11, size);
            const auto p = random_bsr<T>(random, 11, 4, size, width, 2);
            auto products = triple_product(host(), p.view(), a.view());
            const auto rows = std::size_t(11 * size), columns = std::size_t(4 * width);
            const auto [ap, ap_sizes] =
                dense_product(dense(a.view()), dense(p.view()), rows, rows, columns);
            const auto transposed = dense(transpose(host(), p.view()).view());
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
            const auto values = copy_to_host(host(), products.result.values());
            BsrMatrix<T> other = to_bsr(host(), to_csr(host(), a.view()).view(), size, size);
            for (T& value : other.values().view()) value *= 4;
            update(host(), p.view(), other.view(), products);
            const auto updated = copy_to_host(host(), products.result.values());
            for (std::size_t e = 0; e < values.size(); ++e) ASSERT_EQ(updated[e], 4 * values[e]);
        }
    }
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
    const auto expected = triple_product(host(1), a.view(), a.view());
    for (const int threads : {2, 3}) {
        const auto found = triple_product(host(threads), a.view(), a.view());
        EXPECT_TRUE(std::ranges::equal(
            std::span(found.result.view().values, std::size_t(found.result.entries())),
            std::span(expected.result.view().values, std::size_t(expected.result.entries()))));
    }
}

TEST(bsr, conversion_and_transpose) {
    auto random = generator();
    const auto a = random_bsr<double>(random, 6, 8, 3, 2, 3);
    const auto csr = to_csr(host(), a.view());
    validate(csr.view());
    const auto back = to_bsr(host(), csr.view(), 3, 2);
    EXPECT_EQ(dense(back.view()), dense(a.view()));
    const auto twice = transpose(host(), transpose(host(), a.view()).view());
    EXPECT_EQ(dense(twice.view()), dense(a.view()));
    const auto flipped = to_csr(host(), transpose(host(), a.view()).view());
    validate(flipped.view());
    EXPECT_TRUE(std::ranges::equal(flipped.view().values_span(),
                                   transpose(host(), csr.view()).view().values_span()));
}

TEST(bsr, sizes_that_do_not_agree_are_refused) {
    auto random = generator();
    const auto a = random_bsr<double>(random, 4, 4, 3, 3, 2);
    const auto b = random_bsr<double>(random, 4, 4, 2, 3, 2);
    EXPECT_EQ(message_of([&] { multiply(host(), a.view(), b.view()); }),
              "multiply: the block columns of A are not the block rows of B");
    const auto csr = to_csr(host(), a.view());
    EXPECT_EQ(message_of([&] { to_bsr(host(), csr.view(), 5, 3); }),
              "to_bsr: blocks of 5 x 3 do not divide a matrix of 12 x 12");
    EXPECT_EQ(message_of([&] { to_bsr(host(), csr.view(), 9, 3); }),
              "to_bsr: blocks have 1 to 8 rows and columns");
    const auto lower =
        to_bsr(host(), make_csr<double>(2, 2, {{0}, {0, 1}}, {{1}, {2, 3}}).view(), 1, 1);
    const auto unit = to_bsr(host(), make_csr<double>(2, 2, {{0}, {1}}, {{1}, {1}}).view(), 1, 1);
    const auto upper =
        to_bsr(host(), make_csr<double>(2, 2, {{0, 1}, {1}}, {{1, 2}, {3}}).view(), 1, 1);
    for (const auto* wrong : {&lower, &upper}) {
        EXPECT_EQ(message_of([&] { triple_product(host(), unit.view(), wrong->view()); }),
                  "triple_product: the matrix has no symmetric pattern");
    }
}

}  // namespace tessera::test
