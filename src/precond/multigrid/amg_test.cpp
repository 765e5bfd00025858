#include "tessera/amg.hpp"

#include <cmath>

#include "krylov/test_systems.hpp"
#include "support/messages.hpp"

namespace tessera::test {

namespace {

/// A generated problem with the coordinates of its nodes: `along` cells on the first axis, `size`
/// on the others, each with the edges `stretch`. Without `dimensions` they are not given.
struct Body {
    std::string text;
    int block = 1, dimensions = 0;
    Index along = 0, size = 0;
    std::array<double, 3> stretch{1, 1, 1};
    bool clamped = true;

    NodeCoordinates points() const {
        NodeCoordinates x{dimensions, {}};
        if (dimensions == 0) return {};
        for (Index i = clamped ? 1 : 0; i <= along; ++i) {
            for (Index j = 0; j <= size; ++j) {
                for (Index k = 0; k <= (dimensions == 3 ? size : 0); ++k) {
                    x.values.push_back(stretch[0] * i);
                    x.values.push_back(stretch[1] * j);
                    if (dimensions == 3) x.values.push_back(stretch[2] * k);
                }
            }
        }
        return x;
    }
    CsrMatrix<double> matrix(const std::string& option = "") const {
        return problems::generate<double>(host(), Spec(text + option)).matrix;
    }
    AmgOptions options(bool single = true) const {
        AmgOptions made;
        made.block = block;
        made.coordinates = points();
        made.single_precision = single;
        return made;
    }
};

Body cube(Index size, const std::string& option = "") {
    return {"elasticity3d:" + std::to_string(size) + option, 3, 3, size, size};
}

/// Iterations of flexible CG to a true relative residual of 1e-8; -1: it does not converge.
Offset iterations(const CsrMatrix<double>& matrix, const Operator<double>& m) {
    const CsrOperator<double> a(context(), matrix.view());
    auto random = generator();
    const auto given = random_vector<double>(random, std::size_t(matrix.rows()));
    const Buffer<double> b = copy_to_buffer(context(), given);
    Buffer<double> x = copy_to_buffer(context(), std::vector<double>(given.size(), 0.0));
    const SolveReport report = solve<double>(context(), "fcg", a, &m, b.view(), x.view());
    EXPECT_LE(report.true_relative_residual, 1.001e-8);
    return report.status == Status::converged ? report.iterations : -1;
}

std::vector<double> applied(const Operator<double>& m, const std::vector<double>& r) {
    const Buffer<double> from = copy_to_buffer(context(), r);
    Buffer<double> to(context(), Offset(r.size()));
    m.apply(context(), from.view(), to.view());
    return copy_to_host(context(), to);
}

double product(const std::vector<double>& u, const std::vector<double>& v) {
    double sum = 0;
    for (std::size_t i = 0; i < u.size(); ++i) sum += u[i] * v[i];
    return sum;
}

}  // namespace

/// Bounds are those of a prototype of the method for larger systems.
TEST(amg, iterations) {
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
        const auto matrix = copy_to(context(), body.matrix());
        std::array<Offset, 2> found{};
        for (const bool single : {false, true}) {
            const Amg<double> m(context(), matrix.view(), body.options(single));
            EXPECT_GE(m.levels().size(), 2u);
            EXPECT_LE(m.operator_complexity(), 3.5);
            found[std::size_t(single)] = iterations(matrix, m);
            EXPECT_GT(found[std::size_t(single)], 0);
            EXPECT_LE(found[std::size_t(single)], most);
        }
        EXPECT_LE(std::abs(found[0] - found[1]), 1);
    }
}

TEST(amg, rotations_matter) {
    const Body body{"cantilever3d:4,length=16", 3, 3, 64, 4};
    const auto matrix = copy_to(context(), body.matrix());
    const Amg<double> rotations(context(), matrix.view(), body.options());
    const Amg<double> without(context(), matrix.view(), {.block = 3});
    const Offset with = iterations(matrix, rotations), found = iterations(matrix, without);
    EXPECT_TRUE(found < 0 || found >= 3 * with) << found << " and " << with;
}

/// x^T M y = y^T M x up to rounding, and x^T M x > 0.
TEST(amg, is_symmetric_and_positive) {
    const Body body = cube(8);
    const auto matrix = copy_to(context(), body.matrix());
    for (const bool single : {false, true}) {
        AmgOptions options = body.options(single);
        options.coarse_rows = 100;
        const Amg<double> m(context(), matrix.view(), options);
        ASSERT_GE(m.levels().size(), 3u);
        auto random = generator();
        const auto n = std::size_t(m.rows());
        for (int trial = 0; trial < 5; ++trial) {
            const auto x = random_vector<double>(random, n), y = random_vector<double>(random, n);
            const auto mx = applied(m, x), my = applied(m, y);
            double size = 0;
            for (std::size_t i = 0; i < n; ++i) size += std::abs(x[i] * my[i]);
            // Some ten levels of operations with sums of 81 and, densely solved, 100 terms.
            EXPECT_NEAR(product(x, my), product(y, mx), (single ? 1e-5 : 1e-11) * size);
            EXPECT_GT(product(x, mx), 0);
        }
    }
}

TEST(amg, several_vectors_as_one_by_one) {
    const auto matrix = copy_to(context(), cube(6).matrix());
    for (const bool single : {false, true}) {
        AmgOptions options = cube(6).options(single);
        options.coarse_rows = 100;
        const Amg<double> m(context(), matrix.view(), options);
        auto random = generator();
        const Offset n = m.rows();
        const auto values = random_vector<double>(random, std::size_t(3 * n));
        const Buffer<double> r = copy_to_buffer(context(), values);
        Buffer<double> z(context(), 3 * n);
        m.apply_vectors(context(), {r.data(), n, 3, n}, {z.data(), n, 3, n});
        const auto together = copy_to_host(context(), z);
        for (std::size_t j = 0; j < 3; ++j) {
            const auto first = std::ptrdiff_t(j) * n;
            EXPECT_TRUE(same_bits(
                applied(m, {values.begin() + first, values.begin() + first + n}),
                std::vector<double>(together.begin() + first, together.begin() + first + n)));
        }
    }
}

TEST(amg, does_not_depend_on_threads) {
    // Enough nodes for several threads in every loop.
    for (const Body& body : {cube(17), Body{"poisson2d:200"}}) {
        SCOPED_TRACE(body.text);
        const auto matrix = body.matrix();
        const auto apply = [&](int threads) {
            const Amg<double> m(host(threads), matrix.view(), body.options());
            auto random = generator();
            const auto r = random_vector<double>(random, std::size_t(m.rows()));
            std::vector<double> z(r.size());
            m.apply(host(threads), r, z);
            return z;
        };
        const auto expected = apply(1);
        for (const int threads : {2, 3}) EXPECT_TRUE(same_bits(apply(threads), expected));
    }
}

TEST(amg, single_precision_matrices) {
    const Body body = cube(8);
    const auto matrix = copy_to(context(), problems::generate<float>(host(), body.text).matrix);
    const CsrOperator<float> a(context(), matrix.view());
    const Amg<float> m(context(), matrix.view(), body.options());
    const Buffer<float> b = copy_to_buffer(context(), std::vector<float>(std::size_t(a.rows()), 1));
    Buffer<float> x = copy_to_buffer(context(), std::vector<float>(std::size_t(a.rows()), 0));
    SolveOptions options;
    options.rtol = 1e-4;
    const auto report = solve<float>(context(), "fcg", a, &m, b.view(), x.view(), options);
    EXPECT_EQ(report.status, Status::converged);
    EXPECT_LE(report.iterations, 13);
}

/// Without supports the six modes are found, and a right-hand side without them is solved.
TEST(amg, a_free_body) {
    Body body{"elasticity3d:7,free", 3, 3, 7, 7};
    body.clamped = false;
    const auto matrix = copy_to(context(), body.matrix());
    const CsrOperator<double> a(context(), matrix.view());
    for (const bool single : {false, true}) {
        AmgOptions options = body.options(single);
        options.coarse_rows = 200;
        Amg<double> m(context(), matrix.view(), options);
        ASSERT_EQ(m.warnings().size(), 1u);
        expect_contains(m.warnings()[0], "6 near-null vectors are in the null space");
        auto random = generator();
        const auto b = applied(a, random_vector<double>(random, std::size_t(m.rows())));
        // Richardson's iteration, whose error in the energy norm a good cycle reduces by half.
        std::vector<double> solution(b.size(), 0.0), r = b;
        for (int k = 0; k < 40; ++k) {
            const auto z = applied(m, r);
            for (std::size_t i = 0; i < b.size(); ++i) solution[i] += z[i];
            const auto q = applied(a, solution);
            for (std::size_t i = 0; i < b.size(); ++i) r[i] = b[i] - q[i];
        }
        EXPECT_LE(product(r, r), 1e-16 * product(b, b));
        const auto before = applied(m, b);
        m.update(context(), matrix.view());
        EXPECT_TRUE(same_bits(applied(m, b), before));
        EXPECT_EQ(m.warnings().size(), 1u);
    }
}

/// The scale of a matrix does not matter, nor do columns that are dropped or near-null vectors that
/// are zero.
TEST(amg, scales_and_degenerate_bodies) {
    for (const double scale : {1e-12, 1e12}) {
        const Body body{"elasticity3d:8,stretch=1:30:30", 3, 3, 8, 8, {1, 30, 30}};
        auto scaled = body.matrix();
        for (double& value : scaled.values().view()) value *= scale;
        const auto matrix = copy_to(context(), scaled);
        AmgOptions options = body.options();
        options.coarse_rows = 300;
        EXPECT_GT(iterations(matrix, Amg<double>(context(), matrix.view(), options)), 0) << scale;
    }
    const auto stiff = copy_to(context(), cube(6).matrix(",contrast=1e12"));
    EXPECT_TRUE(Amg<double>(context(), stiff.view(), cube(6).options()).warnings().empty());
    const auto one = copy_to(context(), make_csr<double>(3, 3, {{0}, {1}, {2}}, {{1}, {1}, {1}}));
    const Amg<double> single(context(), one.view(), {.coordinates = {3, {1, 2, 3}}});
    EXPECT_EQ(applied(single, {1, 2, 3}), (std::vector<double>{1, 2, 3}));
    EXPECT_TRUE(single.warnings().empty());
    const auto nothing = copy_to(context(), make_csr<double>(0, 0, {}, {}));
    const Amg<double> empty(context(), nothing.view());
    EXPECT_TRUE(applied(empty, {}).empty());
}

TEST(amg, update_takes_new_values) {
    const Body body = cube(10);
    AmgOptions options = body.options();
    options.coarse_rows = 300;
    const auto matrix = copy_to(context(), body.matrix());
    Amg<double> m(context(), matrix.view(), options);
    auto random = generator();
    const auto r = random_vector<double>(random, std::size_t(m.rows()));
    const auto before = applied(m, r);
    m.update(context(), matrix.view());
    EXPECT_TRUE(same_bits(applied(m, r), before));
    const auto other = copy_to(context(), body.matrix(",contrast=10"));
    m.update(context(), other.view());
    const Offset found = iterations(other, m);
    EXPECT_GT(found, 0);
    EXPECT_LE(found, 17);
}

/// A chain in which nodes stand alone: rows with a diagonal entry only.
TEST(amg, isolated_nodes) {
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
    const auto matrix = copy_to(context(), make_csr<double>(n, n, pattern, values));
    const Amg<double> m(context(), matrix.view(), {.block = 1, .coarse_rows = 20});
    EXPECT_GE(m.levels().size(), 2u);
    EXPECT_GT(iterations(matrix, m), 0);
}

TEST(amg, wrong_matrices_are_named) {
    const auto on_device = [](const CsrMatrix<double>& matrix) {
        return copy_to(context(), matrix);
    };
    const auto expect_message = [&](const CsrMatrix<double>& matrix, const AmgOptions& options,
                                    const char* message) {
        EXPECT_EQ(message_of([&] { Amg<double>(context(), matrix.view(), options); }), message);
    };
    const auto indefinite = on_device(make_csr<double>(2, 2, {{0, 1}, {0, 1}}, {{-1, 0}, {0, 1}}));
    expect_message(indefinite, {.block = 1},
                   "amg: the diagonal block of node 0 on level 0 is not positive definite");
    expect_message(indefinite, {.block = 1, .smoothing_steps = 1},
                   "amg: the smoother takes 2 to 16 products");
    expect_message(on_device(make_csr<double>(2, 2, {{0, 1}, {0, 1}}, {{1, 2}, {2, 1}})),
                   {.block = 1}, "amg: the coarsest matrix is not positive definite (row 1)");
    // Nodes that are hardly coupled cannot be coarsened; the dense inverse would be too large.
    expect_contains(
        message_of([&] {
            const auto matrix = on_device(
                problems::generate<double>(host(), "diffusion3d:20,checkerboard=1e-12").matrix);
            Amg<double>(context(), matrix.view(), {.block = 1, .theta = 0.9});
        }),
        "unknowns are left on a level that cannot be coarsened");
    expect_message(
        on_device(make_csr<double>(3, 3, {{0, 1}, {1, 2}, {0, 2}}, {{2, 1}, {2, 1}, {1, 2}})),
        {.block = 1, .coarse_rows = 1}, "aggregate: the graph is not symmetric");
    const auto chain = on_device(problems::generate<double>(host(), "tridiagonal:30").matrix);
    expect_message(chain, {.block = 1, .near_null = translations(29, 1)},
                   "amg: the near-null space must have 30 rows of 1 to 8 numbers");
    expect_message(chain, {.block = 1, .coordinates = {3, {1, 2, 3}}},
                   "amg: there must be 3 coordinates for each of 30 nodes");
    expect_message(chain, {.block = 4},
                   "amg: nodes of 4 unknowns do not divide a matrix of 30 rows");
    expect_message(chain, {.block = 9}, "amg: a node has 1 to 8 unknowns");
    // As many entries, elsewhere.
    Amg<double> moved(context(), chain.view(), {.block = 1});
    CsrMatrix<double> other = problems::generate<double>(host(), "tridiagonal:30").matrix;
    other.column_indices().data()[1] = 2;
    const auto elsewhere = on_device(other);
    EXPECT_EQ(message_of([&] { moved.update(context(), elsewhere.view()); }),
              "amg: update needs the pattern that the hierarchy was made for");
    const auto small = on_device(problems::generate<double>(host(), "tridiagonal:20").matrix);
    EXPECT_EQ(message_of([&] { moved.update(context(), small.view()); }),
              "amg: update needs a matrix of the size that it was set up with");
    auto spoilt = problems::generate<double>(host(), "tridiagonal:30").matrix;
    spoilt.values().data()[0] = -1;
    const auto negative = on_device(spoilt);
    expect_contains(message_of([&] { moved.update(context(), negative.view()); }),
                    "is not positive definite");
    EXPECT_EQ(message_of([&] { applied(moved, std::vector<double>(30, 1.0)); }),
              "amg: there is no hierarchy, as an update failed");
    moved.update(context(), chain.view());
    EXPECT_GT(iterations(chain, moved), 0);
}

}  // namespace tessera::test
