#include "support/test.hpp"

namespace tessera {
namespace {

// Sizes around the vector widths, the chunk of a partial sum (4096) and several chunks.
const std::vector<std::size_t> sizes = {0,   1,    2,    3,    7,    8,    15,    31,    33,
                                        255, 1000, 4095, 4096, 4097, 8191, 12289, 65537, 300001};

/// A sum of products, and of their magnitudes.
struct ExactSum {
    long double value = 0, size = 0;

    /// Vectors with coefficient 0 are not read.
    void add(double coefficient, double element) {
        if (coefficient == 0) return;
        value += (long double)coefficient * element;
        size += std::abs((long double)coefficient * element);
    }
};

template <class T>
class OnDevice {
  public:
    OnDevice(const Context& context, const std::vector<T>& host)
        : context_(context), buffer_(copy_to_buffer(context, host)) {}
    std::span<T> span() { return buffer_.view(); }
    std::span<const T> read() { return std::as_const(buffer_).view(); }
    std::vector<T> host() { return copy_to_host(context_, buffer_); }
    T* data() { return buffer_.data(); }

  private:
    Context context_;
    Buffer<T> buffer_;
};

template <class T>
void check_dots(int count) {
    const Context context = test::context();
    auto random = test::generator();
    for (const std::size_t n : sizes) {
        if (count > 3 && n > 13000) continue;
        OnDevice<T> x(context, test::random_vector<T>(random, n * std::size_t(count)));
        OnDevice<T> y(context, test::random_vector<T>(random, n));
        OnDevice<T> results(context, std::vector<T>(std::size_t(count) + 1, T(-7)));
        dots(context, count, x.read(), y.read(), results.data());
        const auto xs = x.host(), ys = y.host(), found = results.host();
        for (int j = 0; j < count; ++j) {
            ExactSum exact;
            for (std::size_t i = 0; i < n; ++i) exact.add(xs[std::size_t(j) * n + i], ys[i]);
            const double bound = test::gamma<T>(4096 + 20) * double(exact.size);
            EXPECT_LE(std::abs(double(found[std::size_t(j)] - exact.value)), bound)
                << n << " " << j;
        }
        EXPECT_EQ(found.back(), T(-7)) << "written beyond the results";
    }
}

TEST(vector_ops, dots_within_the_bound) {
    for (const int count : {1, 2, 5, 8, 9, 17}) {
        check_dots<double>(count);
        check_dots<float>(count);
    }
}

TEST(vector_ops, dots_of_many_vectors) {
    // More groups of eight than one launch takes.
    const Context context = test::context();
    const std::size_t n = 5;
    const int count = 1100;
    std::vector<double> xs(n * count);
    for (std::size_t i = 0; i < xs.size(); ++i) xs[i] = double(i / n);
    OnDevice<double> x(context, xs), y(context, std::vector<double>(n, 2.0));
    OnDevice<double> results(context, std::vector<double>(count));
    dots(context, count, x.read(), y.read(), results.data());
    const auto found = results.host();
    for (int j = 0; j < count; ++j) EXPECT_EQ(found[std::size_t(j)], 10.0 * j);
}

TEST(vector_ops, dots_do_not_depend_on_threads_or_neighbours) {
    auto random = test::generator();
    const auto xs = test::random_vector<double>(random, 3 * 100003);
    const auto ys = test::random_vector<double>(random, 100003);
    std::vector<double> first;
    for (const int threads : {1, 2, 3, 7}) {
        const Context context = test::context().on_gpu() ? test::context() : Context::cpu(threads);
        OnDevice<double> x(context, xs), y(context, ys), one(context, std::vector<double>(1));
        OnDevice<double> all(context, std::vector<double>(3));
        dots(context, 3, x.read(), y.read(), all.data());
        dot(context, x.read().subspan(100003, 100003), y.read(), one.data());
        const auto found = all.host();
        if (first.empty()) first = found;
        EXPECT_EQ(found, first) << threads;
        EXPECT_EQ(one.host()[0], first[1]) << "one dot differs from the same among three";
    }
}

template <class T>
void check_axpbypcz() {
    const Context context = test::context();
    auto random = test::generator();
    const T nan = std::numeric_limits<T>::quiet_NaN();
    for (const std::size_t n : sizes) {
        for (const T alpha : {T(0), T(1), T(-1.5)}) {
            for (const T beta : {T(0), T(0.75)}) {
                for (const T gamma : {T(0), T(1), T(2.5)}) {
                    // A vector whose coefficient is 0 must not be read: it holds NaN.
                    const auto make = [&](T coefficient) {
                        return coefficient == T(0) ? std::vector<T>(n, nan)
                                                   : test::random_vector<T>(random, n);
                    };
                    OnDevice<T> x(context, make(alpha)), y(context, make(beta));
                    OnDevice<T> z(context, make(gamma));
                    OnDevice<T> scalars(context, std::vector<T>{alpha, beta, gamma});
                    const auto xs = x.host(), ys = y.host(), zs = z.host();
                    axpbypcz(context, Scalar<T>(scalars.data()), x.read(), Scalar<T>(beta),
                             y.read(), Scalar<T>(scalars.data() + 2), z.span());
                    const auto found = z.host();
                    for (std::size_t i = 0; i < n; ++i) {
                        ExactSum exact;
                        exact.add(alpha, xs[i]);
                        exact.add(beta, ys[i]);
                        exact.add(gamma, zs[i]);
                        ASSERT_LE(std::abs(double(found[i] - exact.value)),
                                  test::gamma<T>(4) * double(exact.size))
                            << n << " " << i;
                    }
                }
            }
        }
    }
}

TEST(vector_ops, axpbypcz_and_unread_vectors) {
    check_axpbypcz<double>();
    check_axpbypcz<float>();
}

TEST(vector_ops, axpby_may_alias) {
    const Context context = test::context();
    OnDevice<double> x(context, std::vector<double>(5000, 3.0));
    axpby(context, 2.0, x.read(), 1.0, x.span());
    EXPECT_EQ(x.host(), std::vector<double>(5000, 9.0));
}

TEST(vector_ops, combine_sums_in_any_number_of_passes) {
    const Context context = test::context();
    auto random = test::generator();
    for (const int count : {0, 1, 7, 8, 9, 20}) {
        for (const std::size_t n : {std::size_t(0), std::size_t(1), std::size_t(5003)}) {
            for (const double beta : {0.0, 1.0, -2.0}) {
                OnDevice<double> x(context,
                                   test::random_vector<double>(random, n * std::size_t(count)));
                OnDevice<double> c(context,
                                   test::random_vector<double>(random, std::size_t(count)));
                OnDevice<double> y(context, beta == 0 ? std::vector<double>(n, std::nan(""))
                                                      : test::random_vector<double>(random, n));
                const auto xs = x.host(), cs = c.host(), ys = y.host();
                combine(context, count, x.read(), c.data(), beta, y.span());
                const auto found = y.host();
                for (std::size_t i = 0; i < n; ++i) {
                    ExactSum exact;
                    exact.add(beta, ys[i]);
                    for (std::size_t j = 0; j < std::size_t(count); ++j) {
                        exact.add(cs[j], xs[j * n + i]);
                    }
                    ASSERT_LE(std::abs(double(found[i] - exact.value)),
                              test::gamma<double>(count + 3) * double(exact.size));
                }
            }
        }
    }
}

TEST(vector_ops, axpy_pair_dot_equals_its_parts) {
    const Context context = test::context();
    auto random = test::generator();
    for (const std::size_t n : sizes) {
        for (const double alpha : {0.0, 0.3}) {
            OnDevice<double> p(context, test::random_vector<double>(random, n));
            OnDevice<double> q(context, test::random_vector<double>(random, n));
            OnDevice<double> x(context, test::random_vector<double>(random, n));
            OnDevice<double> r(context, test::random_vector<double>(random, n));
            OnDevice<double> x2(context, x.host()), r2(context, r.host());
            OnDevice<double> rr(context, {0.0}), a(context, {alpha});
            axpy_pair_dot(context, Scalar<double>(a.data()), p.read(), q.read(), x.span(), r.span(),
                          rr.data());
            axpby(context, alpha, p.read(), 1.0, x2.span());
            axpby(context, -alpha, q.read(), 1.0, r2.span());
            EXPECT_EQ(x.host(), x2.host());
            EXPECT_EQ(r.host(), r2.host());
            long double exact = 0;
            for (const double element : r.host()) exact += (long double)element * element;
            EXPECT_LE(std::abs(double(rr.host()[0] - exact)),
                      test::gamma<double>(4116) * double(exact));
        }
    }
}

TEST(vector_ops, fill_and_multiply_elementwise) {
    const Context context = test::context();
    auto random = test::generator();
    for (const std::size_t n : sizes) {
        OnDevice<float> y(context, std::vector<float>(n, 0.f));
        fill(context, 2.5f, y.span());
        EXPECT_EQ(y.host(), std::vector<float>(n, 2.5f));
        OnDevice<float> d(context, test::random_vector<float>(random, n));
        multiply_elementwise(context, d.read(), y.read(), y.span());
        const auto ds = d.host(), found = y.host();
        for (std::size_t i = 0; i < n; ++i) EXPECT_EQ(found[i], 2.5f * ds[i]);
    }
}

template <class T>
void check_recurrence_step() {
    const Context context = test::context();
    auto random = test::generator();
    const std::vector<RecurrenceStep<T>> steps = {
        {1, T(0.5), T(-2), 1}, {T(0.7), 0, 3, T(0.2)}, {T(-3), T(-0.3), 0, 0}, {T(2), 0, 0, 1}};
    for (const std::size_t n : sizes) {
        for (const RecurrenceStep<T>& step : steps) {
            // Vectors that must not be read hold NaN.
            const auto vector = [&](T coefficient) {
                return coefficient == T(0) ? std::vector<T>(n, T(NAN))
                                           : test::random_vector<T>(random, n);
            };
            OnDevice<T> q(context, vector(1)), x(context, vector(step.beta)),
                y(context, vector(step.gamma)), r(context, vector(step.delta));
            const auto qs = q.host(), xs = x.host(), ys = y.host(), rs = r.host();
            OnDevice<T> next(context, std::vector<T>(n, T(NAN)));
            recurrence_step<T>(context, step, q.read(), x.read(), y.read(), r.read(), next.span());
            recurrence_step<T>(context, step, q.read(), x.read(), y.read(), r.read(), y.span());
            const auto found = next.host();
            EXPECT_EQ(found, y.host());
            for (std::size_t i = 0; i < n; ++i) {
                ExactSum exact;
                exact.add(step.alpha, qs[i]);
                exact.add(step.beta, xs[i]);
                exact.add(step.gamma, ys[i]);
                exact.add(step.delta, rs[i]);
                ASSERT_LE(std::abs(double(found[i] - exact.value)),
                          test::gamma<T>(5) * double(exact.size))
                    << n << " " << i;
            }
        }
    }
}

TEST(vector_ops, recurrence_step) {
    check_recurrence_step<double>();
    check_recurrence_step<float>();
}

/// One fused pass is bitwise equal to two.
template <class T>
void check_multiply_dot() {
    const Context context = test::context();
    auto random = test::generator();
    for (const std::size_t n : sizes) {
        OnDevice<T> d(context, test::random_vector<T>(random, n)),
            x(context, test::random_vector<T>(random, n)),
            y(context, std::vector<T>(n, std::numeric_limits<T>::quiet_NaN())),
            separate(context, std::vector<T>(n)), sums(context, std::vector<T>{T(-7), T(-7)});
        multiply_elementwise_dot<T>(context, d.read(), x.read(), y.span(), sums.data());
        multiply_elementwise<T>(context, d.read(), x.read(), separate.span());
        dot<T>(context, x.read(), separate.read(), sums.data() + 1);
        EXPECT_EQ(y.host(), separate.host()) << n;
        EXPECT_EQ(sums.host()[0], sums.host()[1]) << n;
    }
    OnDevice<T> two(context, std::vector<T>(2)), three(context, std::vector<T>(3));
    EXPECT_THROW(
        multiply_elementwise_dot<T>(context, two.read(), three.read(), three.span(), two.data()),
        InvalidArgument);
}

TEST(vector_ops, multiply_elementwise_dot) {
    check_multiply_dot<double>();
    check_multiply_dot<float>();
}

TEST(vector_ops, conversions_keep_what_a_norm_apart_is_in_range) {
    const Context context = test::context();
    auto random = test::generator();
    for (const double size : {1e-300, 1e-40, 1.0, 1e60, 1e300}) {
        for (const std::size_t n : {std::size_t(0), std::size_t(1), std::size_t(5003)}) {
            auto values = test::random_vector<double>(random, n);
            for (double& value : values) value *= size;
            OnDevice<double> x(context, values);
            OnDevice<double> square(context, {size > 1e-150 && size < 1e150 ? size * size : 1.0});
            OnDevice<float> y(context, std::vector<float>(n));
            OnDevice<double> back(context, std::vector<double>(n));
            convert<double, float>(context, x.read(), y.span(), square.data());
            convert<float, double>(context, y.read(), back.span(), square.data());
            const auto returned = back.host();
            const bool fits = size > 1e-150 && size < 1e150;
            for (std::size_t i = 0; fits && i < n; ++i) {
                ASSERT_NEAR(returned[i], values[i],
                            test::gamma<float>(2) * std::abs(values[i]) + 1e-37 * size);
            }
            convert<double, float>(context, x.read(), y.span());
            const auto found = y.host();
            for (std::size_t i = 0; i < n; ++i) EXPECT_EQ(found[i], float(values[i]));
        }
    }
}

TEST(vector_ops, random_sequences_are_seeded_by_element) {
    const Context context = test::context();
    OnDevice<double> a(context, std::vector<double>(10000)), b(context, std::vector<double>(100));
    fill_uniform(context, 7, a.span());
    fill_uniform(context, 7, b.span());
    const auto as = a.host(), bs = b.host();
    EXPECT_TRUE(std::equal(bs.begin(), bs.end(), as.begin()));
    double mean = 0;
    for (const double element : as) {
        ASSERT_GE(element, 0.0);
        ASSERT_LT(element, 1.0);
        mean += element / 10000;
    }
    EXPECT_NEAR(mean, 0.5, 5 / std::sqrt(12.0 * 10000));
    // The CPU's uniform sequence, bit for bit; the normal one to the last bits of log and cos.
    std::vector<double> host(10000);
    fill_uniform(test::host(), 7, std::span<double>(host));
    EXPECT_EQ(host, as);
    fill_normal(context, 7, a.span());
    fill_normal(test::host(), 7, std::span<double>(host));
    const auto normals = a.host();
    double square = 0;
    for (std::size_t i = 0; i < host.size(); ++i) {
        EXPECT_LE(std::abs(normals[i] - host[i]), 1e3 * std::numeric_limits<double>::epsilon());
        square += normals[i] * normals[i] / 10000;
    }
    EXPECT_NEAR(square, 1.0, 5 * std::sqrt(2.0 / 10000));
}

TEST(vector_ops, sizes_that_differ_are_refused) {
    const Context context = test::context();
    OnDevice<double> x(context, std::vector<double>(3)), y(context, std::vector<double>(4));
    EXPECT_THROW(axpby(context, 1.0, x.read(), 1.0, y.span()), InvalidArgument);
    EXPECT_THROW(dot(context, x.read(), y.read(), y.data()), InvalidArgument);
}

TEST(vector_ops, a_graph_repeats_its_work) {
    const Context context = test::context();
    OnDevice<double> x(context, std::vector<double>(9000, 1.0)),
        y(context, std::vector<double>(9000));
    OnDevice<double> result(context, std::vector<double>(1));
    const auto work = [&] {
        axpby(context, 1.0, x.read(), 1.0, y.span());
        dot(context, x.read(), y.read(), result.data());
    };
    work();
    const auto graph = context.capture(work);
    EXPECT_EQ(result.host()[0], 9000.0) << "capture must not run the work";
    for (int k = 0; k < 4; ++k) graph();
    EXPECT_EQ(result.host()[0], 5 * 9000.0);
}

}  // namespace
}  // namespace tessera
