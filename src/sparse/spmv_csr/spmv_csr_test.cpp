#include <algorithm>
#include <set>

#include "support/test.hpp"

namespace tessera {
namespace {

struct Rows {
    Index columns;
    std::vector<std::size_t> lengths;
};

/// Row lengths of relevant shapes: none, short, around the vector widths, dense rows.
std::vector<Rows> shapes() {
    std::vector<Rows> all = {{0, {}}, {5, {}}, {1, {1}}, {7, {0, 0, 7, 0, 3}}};
    Rows ramp{200, {}};
    for (std::size_t k = 0; k <= 200; ++k) ramp.lengths.push_back(k);
    all.push_back(ramp);
    all.push_back({64, std::vector<std::size_t>(1000, 3)});
    all.push_back({100, std::vector<std::size_t>(500, 81)});
    Rows dense{150000, std::vector<std::size_t>(300, 2)};
    dense.lengths[0] = 150000;
    dense.lengths[150] = 2049;
    dense.lengths[151] = 2048;
    dense.lengths[299] = 66000;
    all.push_back(dense);
    return all;
}

template <class T>
CsrMatrix<T> random_matrix(std::mt19937_64& random, const Rows& rows) {
    std::vector<std::vector<Index>> pattern;
    std::vector<std::vector<T>> values;
    for (const std::size_t length : rows.lengths) {
        std::set<Index> columns;
        if (2 * length > std::size_t(rows.columns)) {
            for (Index c = 0; c < Index(length); ++c) columns.insert(c);
        }
        std::uniform_int_distribution<Index> column(0, std::max<Index>(0, rows.columns - 1));
        while (columns.size() < length) columns.insert(column(random));
        pattern.emplace_back(columns.begin(), columns.end());
        values.push_back(test::random_vector<T>(random, length));
    }
    return test::make_csr<T>(Index(rows.lengths.size()), rows.columns, pattern, values);
}

template <class T>
void check(T alpha, T beta) {
    const Context context = test::context();
    auto random = test::generator();
    for (const Rows& rows : shapes()) {
        const CsrMatrix<T> host = random_matrix<T>(random, rows);
        const CsrView<T> a = host.view();
        const CsrMatrix<T> matrix = copy_to(context, a);
        const auto xs = test::random_vector<T>(random, std::size_t(rows.columns));
        const auto ys =
            beta == T(0) ? std::vector<T>(rows.lengths.size(), std::numeric_limits<T>::quiet_NaN())
                         : test::random_vector<T>(random, rows.lengths.size());
        const Buffer<T> x = copy_to_buffer(context, xs);
        SpmvPlan plan = plan_spmv(context, matrix.view());
        for (const int lanes : {plan.lanes_per_row, 1, 2, 4, 8, 16, 32}) {
            plan.lanes_per_row = lanes;
            Buffer<T> y = copy_to_buffer(context, ys);
            multiply(context, matrix.view(), plan, alpha, x.view(), beta, y.view());
            const auto found = copy_to_host(context, y);
            for (Index i = 0; i < a.rows; ++i) {
                long double sum = 0, size = 0;
                for (Offset k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) {
                    const long double product =
                        (long double)a.values[k] * xs[std::size_t(a.column_indices[k])];
                    sum += product;
                    size += std::abs(product);
                }
                sum *= alpha;
                size *= std::abs(alpha);
                if (beta != T(0)) {
                    sum += (long double)beta * ys[std::size_t(i)];
                    size += std::abs((long double)beta * ys[std::size_t(i)]);
                }
                const double bound =
                    test::gamma<T>(double(a.row_offsets[i + 1] - a.row_offsets[i]) + 2) *
                    double(size);
                ASSERT_LE(std::abs(double(found[std::size_t(i)] - sum)), bound)
                    << "row " << i << " of " << a.rows << ", lanes " << lanes;
            }
        }
    }
}

TEST(spmv_csr, product_within_the_componentwise_bound) {
    check<double>(1.0, 0.0);
    check<float>(1.0f, 0.0f);
}

TEST(spmv_csr, alpha_and_beta) {
    check<double>(-0.5, 1.0);
    check<float>(2.0f, -0.25f);
}

TEST(spmv_csr, result_does_not_depend_on_threads) {
    if (test::context().on_gpu()) GTEST_SKIP() << "threads are the CPU's";
    auto random = test::generator();
    for (const Rows& rows : shapes()) {
        const CsrMatrix<double> matrix = random_matrix<double>(random, rows);
        const auto x = test::random_vector<double>(random, std::size_t(rows.columns));
        std::vector<double> first(rows.lengths.size());
        for (const int threads : {1, 2, 5}) {
            const Context context = Context::cpu(threads);
            std::vector<double> y(rows.lengths.size());
            multiply(context, matrix.view(), plan_spmv(context, matrix.view()), 1.0,
                     std::span<const double>(x), 0.0, std::span<double>(y));
            if (threads == 1) first = y;
            EXPECT_EQ(y, first) << threads;
        }
    }
}

TEST(spmv_csr, wrong_sizes_are_refused) {
    const Context context = test::context();
    auto random = test::generator();
    const CsrMatrix<double> matrix =
        copy_to(context, random_matrix<double>(random, {4, {1, 2, 3}}).view());
    const SpmvPlan plan = plan_spmv(context, matrix.view());
    Buffer<double> x(context, 3), y(context, 3);
    EXPECT_THROW(
        multiply(context, matrix.view(), plan, 1.0, std::as_const(x).view(), 0.0, y.view()),
        InvalidArgument);
}

}  // namespace
}  // namespace tessera
