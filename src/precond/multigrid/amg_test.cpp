#include "base/concat.hpp"
#include "base/context_state.hpp"
#include "precond/multigrid/test_amg.hpp"

namespace tessera::test {

/// Bounds are 3 to 6 above the iterations that the method takes.
TEST(amg, iterations) {
    struct Case {
        Body body;
        Offset max_iterations;
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
    for (const auto& [body, max_iterations] : cases) {
        SCOPED_TRACE(body.text);
        const auto matrix = copy_to(context(), body.matrix());
        std::array<Offset, 2> found{};
        for (const bool single : {false, true}) {
            AmgOptions options = body.options(single);
            // The default of a CPU is so small here that slender bodies need 22 instead of 14
            // iterations.
            options.coarse_rows = 1000;
            const Amg<double> m(context(), matrix.view(), options);
            EXPECT_GE(m.levels().size(), 2u);
            EXPECT_LE(m.operator_complexity(), 3.5);
            found[std::size_t(single)] = iterations(matrix, m);
            EXPECT_GT(found[std::size_t(single)], 0);
            EXPECT_LE(found[std::size_t(single)], max_iterations);
        }
        EXPECT_LE(std::abs(found[0] - found[1]), 1);
    }
}

/// The type of stored values that the report names.
static std::string values_of(const Amg<double>& m) {
    const PreconditionerReport report = m.report();
    for (const ReportValue& entry : std::get<ReportValues>(report.values.back().value)) {
        if (entry.name == "values") return std::get<std::string>(entry.value);
    }
    return "";
}

/// 16 bits where the matrix has no tiny eigenvalues; else, and where that is wanted, more.
TEST(amg, types_of_values) {
    struct Case {
        Body body;
        const char* values;
    };
    const char* const scalar = context().on_gpu() ? "f16" : "f32";
    const Case cases[] = {
        {cube(10), "f16"},
        {cube(10, ",contrast=1e6"), "f32"},
        {{"cantilever3d:4,length=32", 3, 3, 128, 4}, "f32"},
        {{"elasticity3d:8,free", 3, 3, 8, 8, {1, 1, 1}, false}, "f32"},
        {{"poisson3d:16"}, scalar},
    };
    for (const auto& [body, values] : cases) {
        SCOPED_TRACE(body.text);
        const auto matrix = copy_to(context(), body.matrix());
        AmgOptions options = body.options();
        EXPECT_EQ(values_of(Amg<double>(context(), matrix.view(), options)), values);
        options.values = ValueFormat::working;
        EXPECT_EQ(values_of(Amg<double>(context(), matrix.view(), options)), "f32");
        options.values = ValueFormat::f16;
        EXPECT_EQ(values_of(Amg<double>(context(), matrix.view(), options)), "f16");
        options = body.options(false);
        EXPECT_EQ(values_of(Amg<double>(context(), matrix.view(), options)), "f64");
    }
    const auto small = copy_to(context(), cube(2).matrix());  // Solved directly, without a cycle.
    EXPECT_EQ(values_of(Amg<double>(context(), small.view(), cube(2).options())), "f32");
    AmgOptions one_level = cube(5).options();
    one_level.coarse_rows = 100;
    one_level.max_levels = 1;
    for (const auto values : {std::optional<ValueFormat>(), std::optional(ValueFormat::f16)}) {
        one_level.values = values;
        const auto direct = copy_to(context(), cube(5).matrix());
        EXPECT_EQ(values_of(Amg<double>(context(), direct.view(), one_level)), "f32");
    }
    // A level that is only smoothed says nothing of small eigenvalues.
    AmgOptions options = cube(10).options();
    options.max_levels = 1;
    const auto matrix = copy_to(context(), cube(10).matrix());
    EXPECT_EQ(values_of(Amg<double>(context(), matrix.view(), options)), "f32");
}

/// An update for which 16 bits are too few takes more, unless they are wanted.
TEST(amg, types_of_values_after_updates) {
    const auto matrix = copy_to(context(), cube(10).matrix());
    const auto contrast = copy_to(context(), cube(10).matrix(",contrast=1e6"));
    AmgOptions options = cube(10).options();
    Amg<double> automatic(context(), matrix.view(), options);
    options.values = ValueFormat::working;
    Amg<double> in_float(context(), matrix.view(), options);
    options.values = ValueFormat::f16;
    Amg<double> in_16_bits(context(), matrix.view(), options);
    automatic.update(context(), matrix.view());
    EXPECT_EQ(values_of(automatic), "f16");
    for (Amg<double>* m : {&automatic, &in_float, &in_16_bits})
        m->update(context(), contrast.view());
    EXPECT_EQ(values_of(automatic), "f32");
    EXPECT_EQ(values_of(in_16_bits), "f16");
    const Offset found = iterations(contrast, automatic);
    EXPECT_GT(found, 0);
    EXPECT_LE(found, iterations(contrast, in_float) + 1);
    EXPECT_GT(iterations(contrast, in_16_bits), found);
    for (Amg<double>* m : {&automatic, &in_float}) m->update(context(), matrix.view());
    EXPECT_EQ(values_of(automatic), "f32");
    const std::vector<double> ones(std::size_t(automatic.rows()), 1.0);
    EXPECT_TRUE(same_bits(applied(automatic, ones), applied(in_float, ones)));
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

/// So the first one may be in a capture.
TEST(amg, applications_do_not_allocate) {
    // Rows of a plate with a hole are padded to nodes of two unknowns.
    for (const Body& body : {cube(6), Body{"plate_hole:12", 0}, Body{"poisson2d:60"}}) {
        for (const bool single : {false, true}) {
            SCOPED_TRACE(concat(body.text, single ? " in float" : ""));
            const Context device = context().on_gpu() ? Context::cuda() : host();
            const auto matrix = copy_to(device, body.matrix());
            AmgOptions options = body.options(single);
            options.coarse_rows = 100;
            const Amg<double> m(device, matrix.view(), options);
            const auto n = std::size_t(m.rows());
            const Buffer<double> r = copy_to_buffer(device, std::vector<double>(n, 1));
            Buffer<double> z(device, Offset(n));
            dot<double>(device, r.view(), r.view(), z.data());  // Work space of sums.
            const Offset before = device.state().allocations;
            m.apply(device, r.view(), z.view());
            EXPECT_EQ(device.state().allocations, before);
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

TEST(amg, update_takes_new_values) {
    const Body body = cube(10);
    AmgOptions options = body.options();
    options.coarse_rows = 300;
    const auto matrix = copy_to(context(), body.matrix());
    Amg<double> m(context(), matrix.view(), options);
    auto random = generator();
    const auto r = random_vector<double>(random, std::size_t(m.rows()));
    const auto before = applied(m, r);
    // The first update makes the patterns of products anew, the second one uses them.
    for (int update = 0; update < 2; ++update) {
        m.update(context(), matrix.view());
        EXPECT_TRUE(same_bits(applied(m, r), before));
    }
    const auto other = copy_to(context(), body.matrix(",contrast=10"));
    m.update(context(), other.view());
    const Offset found = iterations(other, m);
    EXPECT_GT(found, 0);
    EXPECT_LE(found, 17);
}

/// The matrix itself counts; where it stays in its place there is no copy of its values.
TEST(amg, setups_take_some_times_the_memory_of_the_matrix) {
    for (const auto& [problem, block, stays, limit] : {std::tuple{"poisson3d:40", 1, false, 5.5},
                                                       {"elasticity3d:14", 3, false, 3.6},
                                                       {"poisson3d:40", 1, true, 4.7},
                                                       {"elasticity3d:14", 3, true, 3.0}}) {
        const Context where = Context::cpu(2);
        const auto matrix = copy_to(where, problems::generate<double>(host(), problem).matrix);
        const Offset bytes = where.memory_bytes();
        const Amg<double> m(where, matrix.view(), {.block = block, .matrix_stays = stays});
        EXPECT_LE(double(where.peak_memory_bytes()), limit * double(bytes)) << problem;
        EXPECT_LE(double(where.memory_bytes()), 0.95 * double(where.peak_memory_bytes()))
            << problem;
    }
}

TEST(amg, near_null_vectors_without_effect_are_named) {
    const auto matrix =
        copy_to(context(), problems::generate<double>(host(), "poisson2d:60").matrix);
    NearNullSpace space{3, {}};
    for (Index i = 0; i < matrix.rows(); ++i) {
        space.values.insert(space.values.end(), {1, 0, 2});
    }
    const Amg<double> m(context(), matrix.view(), {.block = 1, .near_null = space});
    ASSERT_GE(m.warnings().size(), 2u);
    expect_contains(m.warnings()[0], "near-null vector 2 is zero or depends");
    expect_contains(m.warnings()[1], "near-null vector 3 is zero or depends");
}

/// Options of the text that do not fit coordinates of the problem.
TEST(amg, texts_choose_the_nodes) {
    const auto problem = problems::generate<double>(host(), "elasticity3d:4");
    const auto matrix = copy_to(context(), problem.matrix);
    const auto made = [&](const std::string& text) {
        return parse_preconditioner("amg" + text)
            ->make(context(), matrix.view(), {.coordinates = problem.coordinates})
            ->describe();
    };
    EXPECT_EQ(made(""), "amg,block=3");
    EXPECT_EQ(made(",near_null=rigid_body"), "amg,block=3,near_null=rigid_body");
    EXPECT_EQ(made(",near_null=translations"), "amg,block=3,near_null=translations");
    EXPECT_EQ(made(",near_null=constant"), "amg,block=1,near_null=translations");
    EXPECT_EQ(made(",block=1"), "amg,block=1");
    EXPECT_EQ(made(",block=6"), "amg,block=6");
    expect_contains(message_of([&] { made(",near_null=rigid_body,block=1"); }), "a node has 1");
    expect_contains(message_of([&] { made(",near_null=rigid_bdy"); }), "did you mean 'rigid_body'");
    expect_contains(
        message_of(
            [&] { parse_preconditioner("amg,strength=distance")->make(context(), matrix.view()); }),
        "strength=distance needs the coordinates");
    expect_contains(message_of([&] { made(",strength=distance,block=1"); }),
                    "strength=distance needs the coordinates");
    const auto plane = problems::generate<double>(host(), "poisson2d:20");
    const auto with_points = [&](const std::string& text) {
        NodeCoordinates points{2};
        std::vector<double> values;
        for (int k = 0; k < 400; ++k) values.insert(values.end(), {k / 20 * 1.0, k % 20 * 9.0});
        points.values = std::move(values);
        const auto placed = copy_to(context(), plane.matrix);
        const auto m = parse_preconditioner("amg,coarse=10" + text)
                           ->make(context(), placed.view(), {.coordinates = points});
        return dynamic_cast<const Amg<double>&>(*m).levels()[1].nodes;
    };
    EXPECT_EQ(with_points(",block=1"), with_points(""));
    EXPECT_NE(with_points(",block=1"), with_points(",strength=frobenius"));
}

/// Near-null vectors from the caller are used unless the text names others.
TEST(amg, texts_yield_to_near_null_vectors) {
    const auto problem = problems::generate<double>(host(), "elasticity3d:4");
    const auto matrix = copy_to(context(), problem.matrix);
    const NearNullSpace modes = rigid_body_modes(problem.coordinates);
    const auto used = [&](const std::string& text) {
        const auto report = parse_preconditioner(text)
                                ->make(context(), matrix.view(), {.near_null = modes})
                                ->report();
        const auto& values = std::get<ReportValues>(report.values.at(0).value);
        return std::get<std::string>(values.at(0).value);
    };
    EXPECT_EQ(used("amg"), "given");
    EXPECT_EQ(used("amg,near_null=translations"), "translations");
    EXPECT_NO_THROW(
        parse_preconditioner("jacobi")->make(context(), matrix.view(), {.near_null = modes}));
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
                   "amg: the diagonal block of node 0 on level 0 is not positive definite; for "
                   "indefinite matrices use direct or block_ldlt, with sqmr or gmres");
    EXPECT_THROW(Amg<double>(context(), indefinite.view(), {.block = 1}), NotPositiveDefinite);
    expect_message(indefinite, {.block = 1, .smoothing_steps = 1},
                   "amg: the smoother takes 2 to 16 products");
    expect_message(indefinite, {.block = 1, .values = ValueFormat::bf16},
                   "amg: values in the cycle are working or f16");
    expect_message(on_device(make_csr<double>(2, 2, {{0, 1}, {0, 1}}, {{1, 2}, {2, 1}})),
                   {.block = 1},
                   "amg: the coarsest matrix is not positive definite; for indefinite matrices use "
                   "direct or block_ldlt, with sqmr or gmres");
    auto infinite = problems::generate<double>(host(), "poisson2d:50").matrix;
    infinite.values().data()[1] = std::numeric_limits<double>::infinity();
    expect_contains(message_of([&] {
                        const auto matrix = on_device(infinite);
                        Amg<double>(context(), matrix.view(), {.block = 1});
                    }),
                    "values that are not finite");
    expect_message(
        on_device(make_csr<double>(3, 3, {{0, 1}, {1, 2}, {0, 2}}, {{2, 1}, {2, 1}, {1, 2}})),
        {.block = 1, .coarse_rows = 1}, "amg: the matrix is not symmetric");
    const auto chain = on_device(problems::generate<double>(host(), "tridiagonal:30").matrix);
    expect_message(chain, {.block = 1, .near_null = translations(29, 1)},
                   "amg: the near-null space must have 30 rows of 1 to 8 numbers");
    expect_message(chain, {.block = 1, .coordinates = NodeCoordinates{3, {1, 2, 3}}},
                   "amg: there must be 3 coordinates for each of 30 nodes");
    expect_message(on_device(make_csr<double>(0, 0, {}, {})),
                   {.coordinates = NodeCoordinates{3, {1, 2, 3}}},
                   "amg: there must be 3 coordinates for each of 0 nodes");
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
