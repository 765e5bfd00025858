#include "base/context_state.hpp"
#include "sparse/test_sparse_matrices.hpp"

namespace tessera {
namespace {

using test::format;

const std::vector<std::string> formats = {"csr",
                                          "ell",
                                          "sell:32",
                                          "bcsr:3",
                                          "sbell:2",
                                          "sbell:3,sort_window=1",
                                          "sbell:3,sort_window=all",
                                          "sbell:3,slice=7",
                                          "sbell:3,values=f16,sort_window=1",
                                          "sbell:2,values=bf16",
                                          "sbell:3,values=f16,slice=7",
                                          "sbell:6,values=f32"};

/// f(operator, rows) for square matrices in all formats.
template <class T, class F>
void for_operators(const Context& context, F&& f) {
    auto random = test::generator();
    std::vector<CsrMatrix<T>> matrices;
    matrices.push_back(test::random_csr<T>(random, 0, 0, 0));
    matrices.push_back(test::random_csr<T>(random, 1, 1, 1));
    matrices.push_back(test::random_blocks<T>(random, 33, 33, 3, 12));
    if (!test::fewer_run()) {
        matrices.push_back(test::random_csr<T>(random, 1031, 1031, 30));
        matrices.push_back(test::random_blocks<T>(random, 700, 700, 6, 9));
    }
    for (const CsrMatrix<T>& host : matrices) {
        const CsrMatrix<T> matrix = copy_to(context, host.view());
        for (const std::string& text : formats) {
            SCOPED_TRACE(text + ", " + std::to_string(host.rows()) + " rows");
            f(*make_operator(context, matrix.view(), format(text)), std::size_t(host.rows()));
            if (testing::Test::HasFatalFailure()) return;
        }
    }
}

template <class T>
std::vector<T> unread(std::size_t n) {
    return std::vector<T>(n, std::numeric_limits<T>::quiet_NaN());
}

/// |x|^T |y| and x^T y.
template <class A, class B>
std::pair<long double, long double> dot_of(const std::vector<A>& x, const std::vector<B>& y) {
    long double size = 0, sum = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        size += std::abs((long double)x[i] * y[i]);
        sum += (long double)x[i] * y[i];
    }
    return {size, sum};
}

template <class T>
void check_steps() {
    const Context context = test::context();
    auto random = test::generator();
    const std::vector<RecurrenceStep<T>> steps = {{1, 0, 0, 0},
                                                  {T(-0.7), T(1.5), 0, 0},
                                                  {T(0.5), T(-2), 0, T(0.25)},
                                                  {T(-1.25), T(0.3), T(-0.6), T(2)},
                                                  {T(2), 0, T(1.5), 0}};
    for_operators<T>(context, [&](const Operator<T>& a, std::size_t n) {
        const Buffer<T> x = copy_to_buffer(context, test::random_vector<T>(random, n));
        Buffer<T> q(context, Offset(n)), expected(context, Offset(n));
        a.apply(context, x.view(), q.view());
        for (const RecurrenceStep<T>& step : steps) {
            const auto vector = [&](T coefficient) {
                return copy_to_buffer(context, coefficient == T(0)
                                                   ? unread<T>(n)
                                                   : test::random_vector<T>(random, n));
            };
            Buffer<T> y = vector(step.gamma), r = vector(step.delta), work(context, Offset(n));
            Buffer<T> next = copy_to_buffer(context, unread<T>(n));
            const auto read = [](const Buffer<T>& buffer) { return buffer.view(); };
            recurrence_step<T>(context, step, read(q), x.view(), read(y), read(r), expected.view());
            const std::vector<T> values = copy_to_host(context, expected);
            a.apply_step(context, step, x.view(), read(y), read(r), next.view(), work.view());
            ASSERT_EQ(copy_to_host(context, next), values);
            // r may be x, and next y.
            recurrence_step<T>(context, step, read(q), x.view(), read(y), x.view(),
                               expected.view());
            a.apply_step(context, step, x.view(), read(y), x.view(), y.view(), work.view());
            ASSERT_EQ(copy_to_host(context, y), copy_to_host(context, expected));
        }
    });
}

TEST(spmv_steps, are_a_product_and_a_step_to_the_last_bit) {
    check_steps<double>();
    check_steps<float>();
}

template <class T>
void check_dots() {
    const Context context = test::context();
    auto random = test::generator();
    for_operators<T>(context, [&](const Operator<T>& a, std::size_t n) {
        const auto xs = test::random_vector<T>(random, n);
        const Buffer<T> x = copy_to_buffer(context, xs);
        Buffer<T> y(context, Offset(n)), product(context, Offset(n));
        Buffer<T> xy = copy_to_buffer(context, std::vector<T>{T(-7), T(-7), T(-7)});
        a.apply(context, x.view(), product.view());
        a.apply_dot(context, x.view(), y.view(), xy.data());
        a.apply_dot(context, x.view(), y.view(), xy.data() + 1);
        const auto ys = copy_to_host(context, y), found = copy_to_host(context, xy);
        ASSERT_EQ(ys, copy_to_host(context, product));
        const auto [size, sum] = dot_of(xs, ys);
        ASSERT_LE(std::abs(double(found[0] - sum)), test::gamma<T>(double(n) + 1) * double(size));
        ASSERT_EQ(found[0], found[1]) << "another run, another sum";
        ASSERT_EQ(found[2], T(-7)) << "written beyond the result";
    });
}

TEST(spmv_steps, products_with_their_dots) {
    check_dots<double>();
    check_dots<float>();
}

/// A NaN propagates to all affected results, through sums and steps alike.
TEST(spmv_steps, not_a_number_is_seen) {
    const Context context = test::context();
    auto random = test::generator();
    const CsrMatrix<double> matrix =
        copy_to(context, test::random_blocks<double>(random, 40, 40, 3, 9).view());
    for (const std::string& text : formats) {
        const auto a = make_operator(context, matrix.view(), format(text));
        auto xs = test::random_vector<double>(random, 120);
        xs[77] = std::numeric_limits<double>::quiet_NaN();
        const Buffer<double> x = copy_to_buffer(context, xs);
        Buffer<double> y(context, 120), xy(context, 1);
        a->apply_dot(context, x.view(), y.view(), xy.data());
        EXPECT_TRUE(std::isnan(copy_to_host(context, xy)[0])) << text;
    }
}

TEST(spmv_steps, neither_allocate_nor_wait) {
    const Context context = test::context();
    auto random = test::generator();
    const CsrMatrix<double> matrix =
        copy_to(context, test::random_blocks<double>(random, 100, 100, 3, 9).view());
    const Buffer<double> x = copy_to_buffer(context, test::random_vector<double>(random, 300));
    const Buffer<double> r = copy_to_buffer(context, test::random_vector<double>(random, 300));
    for (const std::string& text : formats) {
        const auto a = make_operator(context, matrix.view(), format(text));
        Buffer<double> y(context, 300), work(context, 300);
        Buffer<double> xy(context, 1);
        const auto run = [&] {
            a->apply_dot(context, x.view(), y.view(), xy.data());
            a->apply_step(context, {2, -1, 0.5, 3}, x.view(), y.view(), r.view(), y.view(),
                          work.view());
        };
        run();
        const auto ys = copy_to_host(context, y), sums = copy_to_host(context, xy);
        fill(context, 0.0, y.view());
        const Offset before = context.state().allocations;
        const auto graph = context.capture(run);
        graph();
        EXPECT_EQ(context.state().allocations, before) << text;
        EXPECT_EQ(copy_to_host(context, y), ys) << text;
        EXPECT_EQ(copy_to_host(context, xy), sums) << text;
    }
}

TEST(spmv_steps, sums_do_not_depend_on_threads) {
    if (test::context().on_gpu()) GTEST_SKIP() << "threads are the CPU's";
    auto random = test::generator();
    const CsrMatrix<double> matrix = test::random_blocks<double>(random, 3000, 3000, 3, 20);
    const auto x = test::random_vector<double>(random, 9000);
    std::vector<double> first;
    for (const int threads : {1, 2, 5}) {
        const Context context = Context::cpu(threads);
        const auto a = make_operator(context, matrix.view(), format("sbell:3"));
        std::vector<double> y(9000);
        double xy = 0;
        a->apply_dot(context, x, y, &xy);
        y.push_back(xy);
        if (first.empty()) first = y;
        EXPECT_EQ(y, first) << threads;
    }
}

TEST(spmv_steps, need_square_matrices_and_equal_sizes) {
    const Context context = test::context();
    auto random = test::generator();
    const CsrMatrix<double> wide =
        copy_to(context, test::random_csr<double>(random, 4, 6, 3).view());
    const CsrMatrix<double> square =
        copy_to(context, test::random_csr<double>(random, 4, 4, 3).view());
    const auto a = make_operator(context, wide.view(), format("sbell:2"));
    const auto b = make_operator(context, square.view(), format("sbell:2"));
    const Buffer<double> six(context, 6), four(context, 4);
    Buffer<double> y(context, 4), xy(context, 1);
    EXPECT_THROW(a->apply_dot(context, six.view(), y.view(), xy.data()), InvalidArgument);
    EXPECT_THROW(b->apply_dot(context, six.view(), y.view(), xy.data()), InvalidArgument);
    EXPECT_THROW(b->apply_step(context, {1, 0, 0, 0}, four.view(), four.view(), six.view(),
                               y.view(), y.view()),
                 InvalidArgument);
}

}  // namespace
}  // namespace tessera
