#include "precond/multigrid/hierarchy.hpp"

#include <cmath>

#include "support/messages.hpp"

namespace tessera::test {

using namespace multigrid;

namespace {

/// A generated problem with the coordinates of its nodes: `along` cells on the first axis, `size`
/// on the others, each with the edges `stretch`. Without `dimensions` they are not given.
struct Body {
    std::string text;
    int block = 1, dimensions = 0;
    Index along = 0, size = 0;
    std::array<double, 3> stretch{1, 1, 1};
    bool clamped = true;

    std::vector<double> points() const {
        std::vector<double> x;
        if (dimensions == 0) return x;
        for (Index i = clamped ? 1 : 0; i <= along; ++i) {
            for (Index j = 0; j <= size; ++j) {
                for (Index k = 0; k <= (dimensions == 3 ? size : 0); ++k) {
                    x.push_back(stretch[0] * i);
                    x.push_back(stretch[1] * j);
                    if (dimensions == 3) x.push_back(stretch[2] * k);
                }
            }
        }
        return x;
    }
    CsrMatrix<double> matrix(const std::string& option = "") const {
        return problems::generate<double>(host(), Spec(text + option)).matrix;
    }
    NearNullSpace near_null(Index rows) const {
        return dimensions > 0 ? rigid_body_modes(points(), dimensions)
                              : translations(rows / block, block);
    }
};

Body cube(Index size, const std::string& option = "") {
    return {"elasticity3d:" + std::to_string(size) + option, 3, 3, size, size};
}

Hierarchy hierarchy_of(const Body& body, const Options& options = {}, int threads = 2) {
    const auto matrix = body.matrix();
    const Context cpu = host(threads);
    return {cpu,
            to_bsr(cpu, matrix.view(), body.block, body.block),
            body.near_null(matrix.rows()),
            body.points(),
            body.dimensions,
            options};
}

/// Iterations of flexible CG to a true relative residual of 1e-8; -1: it does not converge.
Offset iterations(const CsrMatrix<double>& matrix, const Hierarchy& hierarchy) {
    const CsrOperator<double> a(host(), matrix.view());
    auto random = generator();
    const auto b = random_vector<double>(random, std::size_t(matrix.rows()));
    std::vector<double> r = b, z(b.size(), 0), p(b.size(), 0), q(b.size()), x(b.size(), 0), old = r;
    const auto product = [](const std::vector<double>& u, const std::vector<double>& v) {
        double sum = 0;
        for (std::size_t i = 0; i < u.size(); ++i) sum += u[i] * v[i];
        return sum;
    };
    double rz = 1;
    for (Offset k = 0; k < 100; ++k) {
        if (product(r, r) <= 1e-16 * product(b, b)) {
            a.apply(host(), x, q);
            for (std::size_t i = 0; i < b.size(); ++i) r[i] = b[i] - q[i];
            return product(r, r) <= 1.1e-16 * product(b, b) ? k : -1;
        }
        hierarchy.apply(host(), r, z);
        const double now = product(r, z);
        if (!(now > 0)) return -1;
        const double beta = k == 0 ? 0 : (now - product(z, old)) / rz;
        for (std::size_t i = 0; i < b.size(); ++i) p[i] = z[i] + beta * p[i];
        a.apply(host(), p, q);
        const double alpha = now / product(p, q);
        old = r;
        for (std::size_t i = 0; i < b.size(); ++i) {
            x[i] += alpha * p[i];
            r[i] -= alpha * q[i];
        }
        rz = now;
    }
    return -1;
}

}  // namespace

/// Bounds are those of a prototype of the method for larger systems.
TEST(hierarchy, iterations) {
    struct Case {
        Body body;
        Offset most;
    };
    const Case cases[] = {
        {cube(12), 13},
        {cube(10, ",poisson=0.45"), 23},
        {cube(10, ",contrast=1e4"), 15},
        {{"elasticity3d:10,stretch=1:1:10", 3, 3, 10, 10, {1, 1, 10}}, 18},
        {{"elasticity3d:10,stretch=10:1:1", 3, 3, 10, 10, {10, 1, 1}}, 22},
        {{"cantilever3d:4,length=16", 3, 3, 64, 4}, 16},
        {{"elasticity2d:60", 2, 2, 60, 60}, 15},
        {{"poisson2d:120"}, 15},
        {{"poisson3d:24"}, 14},
        {{"diffusion3d:24,checkerboard=1e4"}, 14},
    };
    for (const auto& [body, most] : cases) {
        SCOPED_TRACE(body.text);
        const Hierarchy hierarchy = hierarchy_of(body);
        EXPECT_GE(hierarchy.levels().size(), 2u);
        EXPECT_LE(hierarchy.operator_complexity(), 3.5);
        const Offset found = iterations(body.matrix(), hierarchy);
        EXPECT_GT(found, 0);
        EXPECT_LE(found, most);
    }
}

TEST(hierarchy, rotations_matter) {
    const Body body{"cantilever3d:4,length=16", 3, 3, 64, 4};
    const auto matrix = body.matrix();
    const Hierarchy without(host(), to_bsr(host(), matrix.view(), 3, 3),
                            translations(matrix.rows() / 3, 3), {}, 3, {});
    const Offset with = iterations(matrix, hierarchy_of(body));
    const Offset found = iterations(matrix, without);
    EXPECT_TRUE(found < 0 || found >= 3 * with) << found << " and " << with;
}

/// x^T M y = y^T M x up to rounding, and x^T M x > 0.
TEST(hierarchy, the_cycle_is_symmetric_and_positive) {
    const Body body = cube(8);
    const Hierarchy hierarchy = hierarchy_of(body, {.coarse_rows = 100});
    ASSERT_GE(hierarchy.levels().size(), 3u);
    auto random = generator();
    const auto n = std::size_t(hierarchy.rows());
    for (int trial = 0; trial < 5; ++trial) {
        const auto x = random_vector<double>(random, n), y = random_vector<double>(random, n);
        std::vector<double> mx(n), my(n);
        hierarchy.apply(host(), x, mx);
        hierarchy.apply(host(), y, my);
        double xmy = 0, ymx = 0, xmx = 0, size = 0;
        for (std::size_t i = 0; i < n; ++i) {
            xmy += x[i] * my[i];
            ymx += y[i] * mx[i];
            xmx += x[i] * mx[i];
            size += std::abs(x[i] * my[i]);
        }
        // Some ten levels of operations with sums of 81 and, densely solved, 100 terms.
        EXPECT_NEAR(xmy, ymx, 1e-11 * size);
        EXPECT_GT(xmx, 0);
    }
}

TEST(hierarchy, does_not_depend_on_threads) {
    // Enough nodes for several threads in every loop.
    for (const Body& body : {cube(17), Body{"poisson2d:200"}}) {
        SCOPED_TRACE(body.text);
        const Hierarchy one = hierarchy_of(body, {}, 1);
        auto random = generator();
        const auto r = random_vector<double>(random, std::size_t(one.rows()));
        std::vector<double> expected(r.size()), found(r.size());
        one.apply(host(1), r, expected);
        for (const int threads : {2, 3}) {
            hierarchy_of(body, {}, threads).apply(host(threads), r, found);
            EXPECT_EQ(found, expected);
        }
    }
}

TEST(hierarchy, coarse_matrices_are_symmetric) {
    const Hierarchy hierarchy = hierarchy_of(cube(10), {.coarse_rows = 100});
    ASSERT_GE(hierarchy.levels().size(), 3u);
    for (const Level& level : hierarchy.levels()) {
        const CsrMatrix<double> matrix = to_csr(host(), level.matrix.view());
        validate(matrix.view());
        const auto transposed = transpose(host(), matrix.view());
        EXPECT_TRUE(std::ranges::equal(matrix.view().column_indices_span(),
                                       transposed.view().column_indices_span()));
        if (&level == &hierarchy.levels().front()) continue;
        EXPECT_TRUE(
            std::ranges::equal(matrix.view().values_span(), transposed.view().values_span()));
    }
}

/// Without supports the six modes are found, and a right-hand side without them is solved.
TEST(hierarchy, a_free_body) {
    Body body{"elasticity3d:7,free", 3, 3, 7, 7};
    body.clamped = false;
    const auto matrix = body.matrix();
    const Hierarchy hierarchy = hierarchy_of(body, {.coarse_rows = 200});
    ASSERT_EQ(hierarchy.warnings().size(), 1u);
    expect_contains(hierarchy.warnings()[0], "6 near-null vectors are in the null space");
    const CsrOperator<double> a(host(), matrix.view());
    auto random = generator();
    const auto n = std::size_t(matrix.rows());
    std::vector<double> x = random_vector<double>(random, n), b(n), z(n), q(n);
    a.apply(host(), x, b);
    // Richardson's iteration, whose error in the energy norm a good cycle reduces by half.
    std::vector<double> solution(n, 0.0), r = b;
    const auto norm = [](const std::vector<double>& v) {
        double sum = 0;
        for (const double value : v) sum += value * value;
        return std::sqrt(sum);
    };
    for (int k = 0; k < 40; ++k) {
        hierarchy.apply(host(), r, z);
        for (std::size_t i = 0; i < n; ++i) solution[i] += z[i];
        a.apply(host(), solution, q);
        for (std::size_t i = 0; i < n; ++i) r[i] = b[i] - q[i];
    }
    EXPECT_LE(norm(r), 1e-8 * norm(b));
    Hierarchy updated = hierarchy_of(body, {.coarse_rows = 200});
    updated.update(host(), to_bsr(host(), matrix.view(), 3, 3));
    hierarchy.apply(host(), b, z);
    updated.apply(host(), b, q);
    EXPECT_EQ(q, z);
}

/// The scale of a matrix does not matter, nor do columns that are dropped or near-null vectors that
/// are zero.
TEST(hierarchy, scales_and_degenerate_bodies) {
    for (const double scale : {1e-12, 1e12}) {
        const Body body{"elasticity3d:8,stretch=1:30:30", 3, 3, 8, 8, {1, 30, 30}};
        auto matrix = body.matrix();
        for (double& value : matrix.values().view()) value *= scale;
        const Hierarchy hierarchy(host(), to_bsr(host(), matrix.view(), 3, 3),
                                  body.near_null(matrix.rows()), body.points(), 3,
                                  {.coarse_rows = 300});
        EXPECT_GT(iterations(matrix, hierarchy), 0) << scale;
    }
    const auto stiff = cube(6).matrix(",contrast=1e12");
    const Hierarchy clamped(host(), to_bsr(host(), stiff.view(), 3, 3),
                            cube(6).near_null(stiff.rows()), cube(6).points(), 3, {});
    EXPECT_TRUE(clamped.warnings().empty());
    const auto one = make_csr<double>(3, 3, {{0}, {1}, {2}}, {{1}, {1}, {1}});
    const Hierarchy single(host(), to_bsr(host(), one.view(), 3, 3), rigid_body_modes({1, 2, 3}, 3),
                           {1, 2, 3}, 3, {});
    std::vector<double> z(3);
    single.apply(host(), std::vector<double>{1, 2, 3}, z);
    EXPECT_EQ(z, (std::vector<double>{1, 2, 3}));
    EXPECT_TRUE(single.warnings().empty());
}

TEST(hierarchy, update_takes_new_values) {
    const Body body = cube(10);
    Hierarchy hierarchy = hierarchy_of(body, {.coarse_rows = 300});
    auto random = generator();
    const auto r = random_vector<double>(random, std::size_t(hierarchy.rows()));
    std::vector<double> before(r.size()), after(r.size());
    hierarchy.apply(host(), r, before);
    hierarchy.update(host(), to_bsr(host(), body.matrix().view(), 3, 3));
    hierarchy.apply(host(), r, after);
    EXPECT_EQ(after, before);
    const auto other = body.matrix(",contrast=10");
    hierarchy.update(host(), to_bsr(host(), other.view(), 3, 3));
    const Offset found = iterations(other, hierarchy);
    EXPECT_GT(found, 0);
    EXPECT_LE(found, 17);
}

/// A chain in which nodes stand alone: rows with a diagonal entry only.
TEST(hierarchy, isolated_nodes) {
    std::vector<std::vector<Index>> pattern;
    std::vector<std::vector<double>> values;
    const Index n = 200;
    for (Index i = 0; i < n; ++i) {
        pattern.emplace_back();
        values.emplace_back();
        for (Index j = std::max(i - 1, 0); j <= std::min(i + 1, n - 1); ++j) {
            if (j != i && (i % 10 == 3 || j % 10 == 3)) continue;
            pattern.back().push_back(j);
            values.back().push_back(j == i ? 2.001 : -1);
        }
    }
    const auto matrix = make_csr<double>(n, n, pattern, values);
    const Hierarchy hierarchy(host(), to_bsr(host(), matrix.view(), 1, 1), translations(n, 1), {},
                              1, {.coarse_rows = 20});
    EXPECT_GE(hierarchy.levels().size(), 2u);
    EXPECT_GT(iterations(matrix, hierarchy), 0);
}

TEST(hierarchy, wrong_matrices_are_named) {
    const auto indefinite = make_csr<double>(2, 2, {{0, 1}, {0, 1}}, {{-1, 0}, {0, 1}});
    const auto make = [&](const CsrMatrix<double>& matrix, const Options& options) {
        Hierarchy(host(), to_bsr(host(), matrix.view(), 1, 1), translations(matrix.rows(), 1), {},
                  1, options);
    };
    EXPECT_EQ(message_of([&] { make(indefinite, {.coarse_rows = 1}); }),
              "multigrid: the diagonal block of node 0 on level 0 is not positive definite");
    EXPECT_EQ(message_of([&] { make(indefinite, {}); }),
              "multigrid: the coarsest matrix is not positive definite (row 0)");
    EXPECT_EQ(message_of([&] { make(indefinite, {.smoothing_steps = 5}); }),
              "multigrid: the smoother takes 1 to 4 steps");
    // Nodes that are hardly coupled cannot be coarsened; the dense factor would be too large.
    expect_contains(
        message_of([&] {
            make(problems::generate<double>(host(), "diffusion3d:20,checkerboard=1e-12").matrix,
                 {.theta = 0.9});
        }),
        "unknowns are left on a level that cannot be coarsened");
    const auto cycle = make_csr<double>(3, 3, {{0, 1}, {1, 2}, {0, 2}}, {{2, 1}, {2, 1}, {1, 2}});
    EXPECT_EQ(message_of([&] { make(cycle, {.coarse_rows = 1}); }),
              "aggregate: the graph is not symmetric");
    const auto chain = problems::generate<double>(host(), "tridiagonal:30").matrix;
    EXPECT_EQ(message_of([&] {
                  Hierarchy(host(), to_bsr(host(), chain.view(), 1, 1), translations(29, 1), {}, 1,
                            {});
              }),
              "multigrid: the near-null space must have 30 rows of 1 to 8 numbers");
    EXPECT_EQ(message_of([&] {
                  Hierarchy(host(), to_bsr(host(), chain.view(), 1, 1), translations(30, 1),
                            {1, 2, 3}, 3, {});
              }),
              "multigrid: there must be 3 coordinates for each of 30 nodes");
    // As many blocks, elsewhere.
    Hierarchy moved(host(), to_bsr(host(), chain.view(), 1, 1), translations(30, 1), {}, 1, {});
    auto other = to_bsr(host(), chain.view(), 1, 1);
    other.column_indices().data()[1] = 2;
    EXPECT_EQ(message_of([&] { moved.update(host(), std::move(other)); }),
              "multigrid: update needs the pattern that the hierarchy was made for");
    Hierarchy good = hierarchy_of(cube(3));
    EXPECT_EQ(
        message_of([&] { good.update(host(), to_bsr(host(), cube(2).matrix().view(), 3, 3)); }),
        "multigrid: update needs the pattern that the hierarchy was made for");
}

}  // namespace tessera::test
