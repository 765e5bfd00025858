#include "base/context_state.hpp"
#include "sparse/stored_value.hpp"
#include "sparse/test_sparse_matrices.hpp"

namespace tessera {
namespace {

using test::format;

/// A x and |A| |x| in long double, and the entries that each row reads.
struct SlicedProduct {
    std::vector<long double> product, size;
    std::vector<Index> entries;
};

/// Algorithm 4 of the paper, but pads are skipped and entries beyond the matrix are not read; for a
/// matrix in host memory.
template <class T>
SlicedProduct sliced_product(const SlicedView<T>& matrix, const T* x) {
    const SlicedPattern& a = matrix.pattern;
    const std::size_t rows = std::size_t(a.rows);
    SlicedProduct result{std::vector<long double>(rows), std::vector<long double>(rows),
                         std::vector<Index>(rows)};
    const Offset area = Offset(a.block) * a.block, height = a.slice_height;
    with_stored<T>(matrix.format, [&](auto tag) {
        const auto* const values = static_cast<const typename decltype(tag)::type*>(matrix.values);
        for (Offset p = 0; p < a.positions(); ++p) {
            const Offset slice = p / height, lane = p % height;
            const Offset block_row = a.block_row(p);
            for (Index k = 0; k < a.row_lengths[p]; ++k) {
                const Offset slot = a.slice_offsets[slice] + k * height + lane;
                for (Offset e = 0; e < area; ++e) {
                    const Offset row = block_row * a.block + e / a.block;
                    const Offset column =
                        Offset(a.block_column(slice, slot)) * a.block + e % a.block;
                    if (row >= a.rows || column >= a.columns) continue;
                    const Offset at = a.slice_offsets[slice] * area + (k * area + e) * height;
                    const long double value = widen_to<T>(values[at + lane]);
                    result.product[std::size_t(row)] += value * x[column];
                    result.size[std::size_t(row)] += std::abs(value * x[column]);
                    ++result.entries[std::size_t(row)];
                }
            }
        }
    });
    return result;
}

std::vector<std::string> formats() {
    std::vector<std::string> texts = {"ell",
                                      "sell:96",
                                      "bcsr:3",
                                      "sbell:2,sort_window=1",
                                      "sbell:3,slice=64,sort_window=1",
                                      "sbell:3,slice=64,sort_window=all",
                                      "sbell:3,index=32",
                                      "sbell:2,slice=1,index=16"};
    if (test::fewer_run()) return texts;
    for (const char* text : {"sbell:2",
                             "sell:32",
                             "sell:64",
                             "sell:5,sort_window=16",
                             "sell:5,index=32",
                             "sbell:2,sort_window=1,index=32",
                             "sbell:3,slice=64,sort_window=1,index=32",
                             "sbell:6,slice=32,index=32",
                             "bell:2",
                             "bell:3",
                             "bcsr:1",
                             "bcsr:2",
                             "bcsr:6",
                             "sbell:1,slice=16",
                             "sbell:3",
                             "sbell:3,slice=96",
                             "sbell:3,slice=7",
                             "sbell:4,sort_window=50",
                             "sbell:6",
                             "sbell:6,slice=32"}) {
        texts.emplace_back(text);
    }
    return texts;
}

/// Entry by entry within the bound, also against CSR if the values are not rounded.
template <class T>
void check_product(const Context& context, const CsrView<T>& a, const SlicedMatrix<T>& matrix,
                   T alpha, T beta, std::mt19937_64& random) {
    const auto xs = test::random_vector<T>(random, std::size_t(a.columns));
    const auto ys = beta == T(0)
                        ? std::vector<T>(std::size_t(a.rows), std::numeric_limits<T>::quiet_NaN())
                        : test::random_vector<T>(random, std::size_t(a.rows));
    const Buffer<T> x = copy_to_buffer(context, xs);
    Buffer<T> y = copy_to_buffer(context, ys);
    multiply(context, matrix, alpha, x.view(), beta, y.view());
    const auto found = copy_to_host(context, y);
    SlicedProduct expected = sliced_product(test::host_sliced(context, matrix).view, xs.data());
    const auto check = [&](const char* reference) {
        for (std::size_t i = 0; i < found.size(); ++i) {
            long double sum = alpha * expected.product[i];
            long double size = std::abs(alpha) * expected.size[i];
            if (beta != T(0)) {
                sum += (long double)beta * ys[i];
                size += std::abs((long double)beta * ys[i]);
            }
            const double bound = test::gamma<T>(expected.entries[i] + 2) * double(size);
            ASSERT_LE(std::abs(double(found[i] - sum)), bound) << "row " << i << reference;
        }
    };
    check(" against the sliced reference");
    if (matrix.options().values != ValueFormat::working) return;
    for (Index i = 0; i < a.rows; ++i) {
        const std::size_t row = std::size_t(i);
        expected.product[row] = expected.size[row] = 0;
        expected.entries[row] = Index(a.row_offsets[i + 1] - a.row_offsets[i]);
        for (Offset k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) {
            const long double product =
                (long double)a.values[k] * xs[std::size_t(a.column_indices[k])];
            expected.product[row] += product;
            expected.size[row] += std::abs(product);
        }
    }
    check(" against CSR");
}

template <class T>
void check_products(T alpha, T beta, const std::string& more = "") {
    const Context context = test::context();
    auto random = test::generator();
    for (const CsrMatrix<T>& host : test::format_matrices<T>(random)) {
        const CsrMatrix<T> matrix = copy_to(context, host.view());
        for (const std::string& text : formats()) {
            SCOPED_TRACE(text + more + ", " + std::to_string(host.rows()) + " rows");
            check_product(context, host.view(),
                          SlicedMatrix<T>::from_csr(context, matrix.view(), format(text + more)),
                          alpha, beta, random);
            if (testing::Test::HasFatalFailure()) return;
        }
    }
}

TEST(spmv_sliced, product_within_the_componentwise_bound) {
    check_products<double>(1.0, 0.0);
    check_products<float>(1.0f, 0.0f);
}

TEST(spmv_sliced, alpha_and_beta) {
    check_products<double>(-0.5, 1.0);
    check_products<float>(2.0f, -0.25f);
}

TEST(spmv_sliced, narrow_values) {
    for (const std::string values : {",values=f32", ",values=f16", ",values=bf16"}) {
        check_products<double>(1.0, 0.0, values);
        check_products<float>(-1.0f, 0.5f, values);
    }
}

TEST(spmv_sliced, vectors_need_no_alignment) {
    const Context context = test::context();
    auto random = test::generator();
    const CsrMatrix<double> matrix =
        copy_to(context, test::random_blocks<double>(random, 50, 50, 2, 9).view());
    const auto sliced = SlicedMatrix<double>::from_csr(context, matrix.view(), format("sbell:2"));
    const auto xs = test::random_vector<double>(random, 101);
    const Buffer<double> aligned =
        copy_to_buffer(context, std::vector<double>(xs.begin() + 1, xs.end()));
    const Buffer<double> shifted = copy_to_buffer(context, xs);
    Buffer<double> y(context, 100), z(context, 101);
    fill(context, 0.0, z.view());
    multiply(context, sliced, 1.0, aligned.view(), 0.0, y.view());
    multiply(context, sliced, 1.0, shifted.view().subspan(1), 0.0, z.view().subspan(1));
    const auto first = copy_to_host(context, y);
    const auto second = copy_to_host(context, z);
    EXPECT_TRUE(std::equal(first.begin(), first.end(), second.begin() + 1));
}

/// Columns of 16 and of 32 bits name the same blocks, so that products are bitwise equal; here with
/// columns beyond 65535.
TEST(spmv_sliced, bits_of_columns_do_not_matter) {
    const Context context = test::context();
    auto random = test::generator();
    for (const Index block : {1, 2, 3, 6}) {
        const Index block_rows = 100, shift = 70000;
        std::vector<std::vector<Index>> pattern;
        std::vector<std::vector<double>> values;
        for (Index i = 0; i < block_rows * block; ++i) {
            const Index first = (shift + i / block) * block;
            pattern.emplace_back();
            for (const Index c : {0, 1, 40, 41, 65000, 65001, 65002}) {
                for (Index j = 0; j < block; ++j) pattern.back().push_back(first + c * block + j);
            }
            values.push_back(test::random_vector<double>(random, pattern.back().size()));
        }
        const Index columns = (shift + block_rows + 65002) * block + (block - 1);
        const CsrMatrix<double> host =
            test::make_csr<double>(block_rows * block, columns, pattern, values);
        const CsrMatrix<double> matrix = copy_to(context, host.view());
        const Buffer<double> x =
            copy_to_buffer(context, test::random_vector<double>(random, std::size_t(columns)));
        const std::string size = std::to_string(block);
        for (const std::string& text :
             {"sbell:" + size, "sbell:" + size + ",slice=5", "sbell:" + size + ",slice=1",
              "sbell:" + size + ",values=f16", "sbell:" + size + ",slice=5,values=f16",
              "sbell:" + size + ",slice=16,values=f16,sort_window=all"}) {
            const auto product = [&](const std::string& more) {
                const auto sliced =
                    SlicedMatrix<double>::from_csr(context, matrix.view(), format(text + more));
                Buffer<double> y(context, host.rows());
                multiply(context, sliced, 1.0, x.view(), 0.0, y.view());
                return copy_to_host(context, y);
            };
            EXPECT_EQ(product(",index=16"), product(",index=32")) << text;
        }
        check_product(context, host.view(),
                      SlicedMatrix<double>::from_csr(context, matrix.view(),
                                                     format("sbell:" + size + ",index=16")),
                      1.0, 0.0, random);
    }
}

/// Block rows with consecutive columns, which the CPU reads contiguously; the last blocks reach
/// past the matrix, and a NaN at the end of x affects the last rows only.
TEST(spmv_sliced, runs_of_blocks) {
    const Context context = test::context();
    auto random = test::generator();
    for (const Index rows : {131, 192}) {
        std::vector<std::vector<Index>> pattern;
        std::vector<std::vector<double>> values;
        for (Index i = 0; i < rows; ++i) {
            pattern.emplace_back();
            for (const Index shift : {-60, -7, -1, 0, 1, 7, 60}) {
                if (i + shift >= 0 && i + shift < rows) pattern.back().push_back(i + shift);
            }
            values.push_back(test::random_vector<double>(random, pattern.back().size()));
        }
        const CsrMatrix<double> host = test::make_csr<double>(rows, rows, pattern, values);
        const CsrMatrix<double> matrix = copy_to(context, host.view());
        for (const std::string text : {"sell", "sbell:2", "sbell:3", "sbell:4", "sbell:6"}) {
            SCOPED_TRACE(text);
            const auto sliced =
                SlicedMatrix<double>::from_csr(context, matrix.view(), format(text));
            check_product(context, host.view(), sliced, 1.0, 0.0, random);
            if (testing::Test::HasFatalFailure()) return;
            std::vector<double> xs(std::size_t(rows), 1.0);
            xs.back() = std::numeric_limits<double>::quiet_NaN();
            const Buffer<double> x = copy_to_buffer(context, xs);
            Buffer<double> y(context, rows);
            multiply(context, sliced, 1.0, x.view(), 0.0, y.view());
            const auto found = copy_to_host(context, y);
            for (Index i = 0; i < rows - 60 - 2 * 6; ++i) {
                EXPECT_TRUE(std::isfinite(found[std::size_t(i)])) << i;
            }
            EXPECT_TRUE(std::isnan(found.back()));
        }
    }
}

/// Pads do not read x: NaN and infinities affect only rows whose blocks hold their column.
template <class T>
void check_strangers(const std::string& text) {
    const Context context = test::context();
    auto random = test::generator();
    const CsrMatrix<T> host = test::random_blocks<T>(random, 90, 90, 3, 14);
    const CsrView<T> a = host.view();
    const CsrMatrix<T> matrix = copy_to(context, a);
    const auto sliced = SlicedMatrix<T>::from_csr(context, matrix.view(), format(text));
    const Index block = sliced.options().block;
    for (const Index column : {0, 100, 269}) {
        auto xs = test::random_vector<T>(random, 270);
        xs[std::size_t(column)] = column == 100 ? std::numeric_limits<T>::infinity()
                                                : std::numeric_limits<T>::quiet_NaN();
        const Buffer<T> x = copy_to_buffer(context, xs);
        Buffer<T> y(context, 270);
        multiply(context, sliced, 1, x.view(), 0, y.view());
        const auto found = copy_to_host(context, y);
        for (Index i = 0; i < a.rows; ++i) {
            bool holds = false;
            for (Index r = i / block * block; r < std::min(a.rows, i / block * block + block);
                 ++r) {
                for (Offset k = a.row_offsets[r]; k < a.row_offsets[r + 1]; ++k) {
                    holds = holds || a.column_indices[k] / block == column / block;
                }
            }
            EXPECT_EQ(!std::isfinite(found[std::size_t(i)]), holds) << text << " row " << i;
        }
    }
}

TEST(spmv_sliced, pads_read_no_strangers) {
    for (const std::string text : {"ell", "sbell:2", "sell:32", "bell:3", "bcsr:3", "sbell:3",
                                   "sbell:3,values=f16,sort_window=1", "sbell:3,slice=7", "sbell:6",
                                   "sbell:3,slice=32,sort_window=all"}) {
        check_strangers<double>(text);
        check_strangers<float>(text);
    }
}

/// The sum of a row depends on the row only, not on other rows or its position.
TEST(spmv_sliced, rows_do_not_see_their_neighbours) {
    const Context context = test::context();
    auto random = test::generator();
    const CsrMatrix<float> large = test::random_blocks<float>(random, 200, 70, 3, 15);
    const CsrView<float> a = large.view();
    const Buffer<float> x = copy_to_buffer(context, test::random_vector<float>(random, 210));
    const std::size_t shift = 33;  // Number of rows, so that slots and lanes change, too.
    std::vector<std::vector<Index>> pattern;
    std::vector<std::vector<float>> values;
    for (Index i = Index(shift); i < a.rows; ++i) {
        pattern.emplace_back(a.column_indices + a.row_offsets[i],
                             a.column_indices + a.row_offsets[i + 1]);
        values.emplace_back(a.values + a.row_offsets[i], a.values + a.row_offsets[i + 1]);
    }
    const CsrMatrix<float> rest =
        test::make_csr<float>(a.rows - Index(shift), a.columns, pattern, values);
    const auto product = [&](const CsrView<float>& matrix, const std::string& text) {
        const CsrMatrix<float> device_matrix = copy_to(context, matrix);
        const auto sliced =
            SlicedMatrix<float>::from_csr(context, device_matrix.view(), format(text));
        Buffer<float> y(context, matrix.rows);
        multiply(context, sliced, 1.0f, x.view(), 0.0f, y.view());
        return copy_to_host(context, y);
    };
    for (const std::string text :
         {"ell", "sell:32", "bcsr:3", "sbell:3,slice=32", "sbell:3,slice=32,values=f16",
          "sbell:3,slice=64,sort_window=all"}) {
        const auto all = product(a, text);
        const auto some = product(rest.view(), text);
        EXPECT_TRUE(std::equal(some.begin(), some.end(), all.begin() + Offset(shift))) << text;
    }
}

TEST(spmv_sliced, result_does_not_depend_on_threads) {
    if (test::context().on_gpu()) GTEST_SKIP() << "threads are the CPU's";
    auto random = test::generator();
    const CsrMatrix<double> matrix = test::random_blocks<double>(random, 3000, 3000, 3, 20);
    const auto x = test::random_vector<double>(random, 9000);
    for (const std::string text : {"ell", "bell:3", "sbell:3", "bcsr:3"}) {
        std::vector<double> first;
        for (const int threads : {1, 2, 5}) {
            const Context context = Context::cpu(threads);
            const auto sliced =
                SlicedMatrix<double>::from_csr(context, matrix.view(), format(text));
            std::vector<double> y(9000);
            multiply(context, sliced, 1.0, std::span<const double>(x), 0.0, std::span<double>(y));
            if (threads == 1) first = y;
            EXPECT_EQ(y, first) << text << " " << threads;
        }
    }
}

TEST(spmv_sliced, operators_neither_allocate_nor_wait) {
    const Context context = test::context();
    auto random = test::generator();
    const CsrMatrix<double> host = test::random_blocks<double>(random, 100, 100, 3, 9);
    const CsrMatrix<double> matrix = copy_to(context, host.view());
    const auto xs = test::random_vector<double>(random, 300);
    const Buffer<double> x = copy_to_buffer(context, xs);
    for (const std::string text : {"csr", "ell", "sbell:3", "bcsr:3", "sell:32"}) {
        const auto made = make_operator(context, matrix.view(), format(text));
        EXPECT_EQ(made->rows(), 300);
        EXPECT_EQ(made->columns(), 300);
        Buffer<double> y(context, 300);
        fill(context, 7.0, y.view());
        const Offset before = context.state().allocations;
        const auto graph = context.capture([&] { made->apply(context, x.view(), y.view()); });
        graph();
        EXPECT_EQ(context.state().allocations, before) << text;
        const auto found = copy_to_host(context, y);
        for (Index i = 0; i < 300; ++i) {
            long double sum = 0, size = 0;
            const CsrView<double> a = host.view();
            for (Offset k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) {
                sum += (long double)a.values[k] * xs[std::size_t(a.column_indices[k])];
                size += std::abs(a.values[k] * xs[std::size_t(a.column_indices[k])]);
            }
            const double bound =
                test::gamma<double>(double(a.row_offsets[i + 1] - a.row_offsets[i]) + 2);
            ASSERT_LE(std::abs(double(found[std::size_t(i)] - sum)), bound * double(size)) << text;
        }
    }
}

TEST(spmv_sliced, wrong_sizes_are_refused) {
    const Context context = test::context();
    auto random = test::generator();
    const CsrMatrix<double> matrix =
        copy_to(context, test::random_csr<double>(random, 4, 6, 3).view());
    const auto sliced = SlicedMatrix<double>::from_csr(context, matrix.view(), format("sbell:2"));
    Buffer<double> four(context, 4), six(context, 6);
    EXPECT_THROW(multiply(context, sliced, 1.0, std::as_const(four).view(), 0.0, four.view()),
                 InvalidArgument);
    EXPECT_THROW(multiply(context, sliced, 1.0, std::as_const(six).view(), 0.0, six.view()),
                 InvalidArgument);
}

}  // namespace
}  // namespace tessera
