#include "base/context_state.hpp"
#include "precond/polynomial/test_polynomials.hpp"

namespace tessera::test {

namespace {

template <class T>
std::vector<double> applied(const Context& device, const Operator<T>& m, const std::vector<T>& r) {
    const Buffer<T> in = copy_to_buffer(device, r);
    Buffer<T> out(device, m.rows());
    m.apply(device, in.view(), out.view());
    const auto z = copy_to_host(device, out);
    return {z.begin(), z.end()};
}

}  // namespace

/// |x^T M y - y^T M x| is of the size of rounding errors, and x^T M x positive.
TEST(polynomial_precond, is_symmetric_and_positive) {
    const Context device = context();
    auto random = generator();
    const Case system = problem(device, "elasticity2d:20,element=t3,jitter=0.5");
    const std::size_t n = std::size_t(system.matrix.rows());
    for (const std::string& text : variants) {
        SCOPED_TRACE(text);
        const auto m = make<double>(device, system.matrix.view(), text);
        const auto x = random_vector<double>(random, n), y = random_vector<double>(random, n);
        const auto mx = applied<double>(device, m, x), my = applied<double>(device, m, y);
        double xmy = 0, ymx = 0, xmx = 0, ymy = 0;
        for (std::size_t i = 0; i < n; ++i) {
            xmy += x[i] * my[i];
            ymx += y[i] * mx[i];
            xmx += x[i] * mx[i];
            ymy += y[i] * my[i];
        }
        EXPECT_GT(xmx, 0);
        // Rounding of the steps of a polynomial of degree 6 with rows of at most 18 entries; the
        // residuals stay below 1, and s within a factor of about 40 of its least value.
        const bool single = text.find("f32") != std::string::npos;
        const double unit = single ? gamma<float>(1) : gamma<double>(1);
        EXPECT_LE(std::abs(xmy - ymx), 40 * 6 * 30 * unit * std::sqrt(xmx * ymy));
    }
}

/// The operator fused with a dot is bitwise equal, and r^T z within its bound.
TEST(polynomial_precond, applied_with_its_dot) {
    const Context device = context();
    auto random = generator();
    const Case system = problem(device, "elasticity2d:12");
    const std::size_t n = std::size_t(system.matrix.rows());
    const auto rs = random_vector<double>(random, n);
    const Buffer<double> r = copy_to_buffer(device, rs);
    Buffer<double> z(device, Offset(n)), rz(device, 1);
    for (const std::string& text : variants) {
        SCOPED_TRACE(text);
        const auto m = make<double>(device, system.matrix.view(), text);
        const auto expected = applied<double>(device, m, rs);
        m.apply_dot(device, r.view(), z.view(), rz.data());
        const auto zs = copy_to_host(device, z);
        EXPECT_EQ(zs, expected);
        double sum = 0, size = 0;
        for (std::size_t i = 0; i < n; ++i) {
            sum += rs[i] * zs[i];
            size += std::abs(rs[i] * zs[i]);
        }
        EXPECT_LE(std::abs(copy_to_host(device, rz)[0] - sum), 2 * gamma<double>(double(n)) * size);
    }
}

TEST(polynomial_precond, neither_allocates_nor_waits) {
    const Context device = context();
    auto random = generator();
    const Case system = problem(device, "elasticity2d:12");
    const Offset n = system.matrix.rows();
    const Buffer<double> r = copy_to_buffer(device, random_vector<double>(random, std::size_t(n)));
    Buffer<double> z(device, n), rz(device, 1);
    for (const std::string& text : variants) {
        const auto m = make<double>(device, system.matrix.view(), text);
        m.apply_dot(device, r.view(), z.view(), rz.data());
        const auto expected = copy_to_host(device, z), sum = copy_to_host(device, rz);
        fill(device, 0.0, z.view());
        fill(device, 0.0, rz.view());
        const Offset before = device.state().allocations;
        const auto graph =
            device.capture([&] { m.apply_dot(device, r.view(), z.view(), rz.data()); });
        graph();
        EXPECT_EQ(device.state().allocations, before) << text;
        EXPECT_EQ(copy_to_host(device, z), expected) << text;
        EXPECT_EQ(copy_to_host(device, rz), sum) << text;
    }
}

/// Sliced formats and CSR use different kernels for one polynomial.
TEST(polynomial_precond, formats_agree_in_all_degrees) {
    const Context device = context();
    auto random = generator();
    const Case system = problem(device, "elasticity2d:10");
    const std::size_t n = std::size_t(system.matrix.rows());
    const auto r = random_vector<double>(random, n);
    for (const char* kind :
         {"neumann", "least_squares", "chebyshev", "chebyshev4", "chebyshev4_optimal"}) {
        for (int degree = 1; degree <= 16; ++degree) {
            // s is between 1/5 and the square of degree + 1 on an interval to 3, and every step
            // rounds values that are at most a few times as large.
            const double size = double((degree + 1) * (degree + 1));
            const auto text = kind + (":" + std::to_string(degree)) + ",bound=3";
            const auto full =
                applied<double>(device, make<double>(device, system.matrix.view(), text), r);
            double norm = 0;
            for (const double value : full) norm += value * value;
            for (const auto& [more, unit] : std::vector<std::pair<std::string, double>>{
                     {",format=sbell:2", gamma<double>(1)},
                     {",format=bcsr:2", gamma<double>(1)},
                     {",format=ell", gamma<double>(1)},
                     {",precision=f32", gamma<float>(1)},
                     {",precision=f32,format=sbell:2", gamma<float>(1)}}) {
                const auto found = applied<double>(
                    device, make<double>(device, system.matrix.view(), text + more), r);
                double difference = 0;
                for (std::size_t i = 0; i < n; ++i) difference += std::pow(found[i] - full[i], 2);
                EXPECT_LE(std::sqrt(difference), 30 * degree * unit * size * std::sqrt(norm))
                    << text << more;
            }
        }
    }
}

TEST(polynomial_precond, update_takes_new_values) {
    const Context device = context();
    auto given = problems::generate<double>(host(), "elasticity2d:8");
    const CsrMatrix<double> before = copy_to(device, given.matrix.view());
    const std::vector<double> ones(std::size_t(before.rows()), 1);
    for (const std::string& text : variants) {
        SCOPED_TRACE(text);
        auto m = make<double>(device, before.view(), text);
        auto changed = problems::generate<double>(host(), "elasticity2d:8");
        for (double& value : changed.matrix.values().view()) value *= 16;
        const CsrMatrix<double> after = copy_to(device, changed.matrix.view());
        m.update(device, after.view());
        const auto fresh = make<double>(device, after.view(), text);
        EXPECT_EQ(applied<double>(device, m, ones), applied<double>(device, fresh, ones));
        const CsrMatrix<double> other =
            copy_to(device, make_csr<double>(1, 1, {{0}}, {{4}}).view());
        EXPECT_THROW(m.update(device, other.view()), InvalidArgument);
    }
}

TEST(polynomial_precond, texts) {
    const Context device = context();
    const Case system = problem(device, "poisson2d:6");
    const auto describe = [&](const std::string& text) {
        return make_preconditioner<double>(device, Spec(text), system.matrix.view())->describe();
    };
    EXPECT_EQ(describe("least_squares"), "least_squares:6,bound=lanczos:20,scaling=jacobi");
    EXPECT_EQ(describe("neumann:3,bound=gershgorin"), "neumann:3,bound=gershgorin,scaling=jacobi");
    EXPECT_EQ(describe("neumann:3,lower=ritz"),
              "neumann:3,bound=lanczos:20,lower=ritz,scaling=jacobi");
    EXPECT_EQ(describe("chebyshev:4,bound=2.5,precision=f32"),
              "chebyshev:4,bound=2.5,lower=ratio:30,precision=f32,scaling=jacobi");
    EXPECT_EQ(describe("chebyshev:4,lower=0.01,scaling=none"),
              "chebyshev:4,bound=lanczos:20,lower=0.01,scaling=none");
    EXPECT_EQ(describe("least_squares:2,format=sbell:2,values=f16"),
              "least_squares:2,bound=lanczos:20,format=sbell:2,values=f16,scaling=jacobi");
    EXPECT_EQ(describe("least_squares:2,alpha=1,beta=0,scaling=none,bound=lanczos:30"),
              "least_squares:2,alpha=1,beta=0,bound=lanczos:30,scaling=none");
    // The description read again gives the same description.
    for (const std::string& text : variants) EXPECT_EQ(describe(describe(text)), describe(text));
    for (const char* wrong :
         {"least_squares:0", "least_squares:17", "least_squares:6,bound=often",
          "least_squares:6,bound=-1", "least_squares:6,bound=lanczos:0", "least_squares:6,lower=1",
          "chebyshev:6,lower=ratio:1", "chebyshev:6,lower=3,bound=2", "chebyshev:6,alpha=1",
          "least_squares:6,scaling=rows", "least_squares:6,scaling=jacobi:3",
          "least_squares:6,precision=f16", "least_squares:6,sing=1",
          "least_squares:6,format=slices", "least_squares:6,values=f8"}) {
        EXPECT_THROW(describe(wrong), InvalidArgument) << wrong;
    }
}

TEST(polynomial_precond, matrices_that_cannot_be_scaled) {
    const Context device = context();
    const CsrMatrix<double> given =
        make_csr<double>(3, 3, {{0, 1}, {0, 1}, {2}}, {{2, 1}, {1, -2}, {1}});
    const CsrMatrix<double> matrix = copy_to(device, given.view());
    for (const char* text : {"least_squares:4", "chebyshev:4,precision=f32"}) {
        const auto m = make<double>(device, matrix.view(), text);
        EXPECT_EQ(m.singular_blocks(), 1);
        EXPECT_EQ(m.report().first_not_positive, 1);
        const Case system{copy_to(device, given.view()), {1, 1, 1}};
        EXPECT_EQ(solve(device, system, text).status, Status::singular_block);
    }
}

TEST(polynomial_precond, empty_and_single_rows) {
    const Context device = context();
    for_reals([&](auto real) {
        using T = decltype(real);
        const CsrMatrix<T> nothing = copy_to(device, make_csr<T>(0, 0, {}, {}).view());
        const CsrMatrix<T> one = copy_to(device, make_csr<T>(1, 1, {{0}}, {{4}}).view());
        for (const std::string& text : variants) {
            SCOPED_TRACE(text);
            EXPECT_TRUE(applied<T>(device, make<T>(device, nothing.view(), text), {}).empty());
            const auto z = applied<T>(device, make<T>(device, one.view(), text), {T(2)});
            EXPECT_GT(z[0], 0);
            EXPECT_LE(z[0], 1);
        }
    });
}

}  // namespace tessera::test
