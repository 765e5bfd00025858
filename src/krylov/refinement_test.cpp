#include "krylov/test_systems.hpp"

namespace tessera::test {

namespace {

/// As `run`, with refinement; the preconditioner is a diagonal in float.
Solved<double> refine(const Context& context, const CsrMatrix<double>& matrix,
                      const std::vector<double>& b, const SolveOptions& options = {},
                      const std::vector<double>& start = {},
                      const RefinementOptions& refinement_options = {}) {
    const CsrMatrix<double> device_matrix = copy_to(context, matrix.view());
    const CsrMatrix<float> rounded = rounded_to_float(context, device_matrix.view());
    const Diagonal<float> m(context,
                            inverse_diagonal(rounded_to_float(Context::cpu(1), matrix.view())));
    const CsrOperator<double> a(context, device_matrix.view());
    const CsrOperator<float> low(context, rounded.view());
    const Buffer<double> right = copy_to_buffer(context, b);
    Buffer<double> x =
        copy_to_buffer(context, start.empty() ? std::vector<double>(b.size()) : start);
    Solved<double> solved;
    solved.report =
        refinement(context, a, low, &m, right.view(), x.view(), refinement_options, options);
    solved.x = copy_to_host(context, x);
    return solved;
}

}  // namespace

TEST(refinement, reaches_what_double_precision_can) {
    auto random = generator();
    const CsrMatrix<double> matrix = laplacian_2d<double>(40);
    const auto b = random_vector<double>(random, std::size_t(matrix.rows()));
    SolveOptions options;
    options.rtol = 1e-13;
    for (const std::string inner : {"cg", "fcg", "bicgstab", "idr:2"}) {
        const auto solved =
            refine(context(), matrix, b, options, {}, {.inner = parse_solver(inner)});
        EXPECT_EQ(solved.report.status, Status::converged) << inner << solved.report.message;
        const Residual found = residual(matrix, b, solved.x);
        EXPECT_LE(found.norm, 1e-13 * norm(b) + found.rounding) << inner;
        EXPECT_NEAR(solved.report.true_relative_residual, found.norm / norm(b),
                    found.rounding / norm(b));
        EXPECT_GE(solved.report.restarts, 3) << "13 digits by 3 at a time";
        EXPECT_EQ(Offset(solved.report.residuals.size()), solved.report.iterations + 1);
    }
}

TEST(refinement, a_correction_gains_the_digits_asked_for) {
    auto random = generator();
    const CsrMatrix<double> matrix = laplacian_2d<double>(24);
    const auto b = random_vector<double>(random, std::size_t(matrix.rows()));
    SolveOptions options;
    options.rtol = 0.9e-8;
    const auto coarse = refine(context(), matrix, b, options, {}, {.inner_rtol = 1e-2});
    const auto fine = refine(context(), matrix, b, options, {}, {.inner_rtol = 1e-4});
    // The last correction may be slightly insufficient: the inner residual is that of the rounded
    // matrix.
    EXPECT_LE(coarse.report.restarts + 1, 8 / 2 + 1);
    EXPECT_LE(fine.report.restarts + 1, 8 / 4 + 1);
    EXPECT_LT(fine.report.restarts, coarse.report.restarts);
    // b - A x at both ends of each correction, in either precision.
    EXPECT_EQ(coarse.report.operator_applications,
              coarse.report.iterations + 1 + 3 * (coarse.report.restarts + 1));
}

TEST(refinement, rounds_values_to_nearest) {
    const Context device = context();
    const CsrMatrix<double> given = copy_to(
        device,
        make_csr<double>(2, 3, {{0, 2}, {1}}, {{1 + 0x1p-24, -1 - 0x1.8p-23}, {1e300}}).view());
    CsrMatrix<float> rounded = rounded_to_float(device, given.view());
    EXPECT_EQ(rounded.columns(), 3);
    EXPECT_EQ(copy_to_host(device, rounded.row_offsets()), (std::vector<Offset>{0, 2, 3}));
    EXPECT_EQ(copy_to_host(device, rounded.column_indices()), (std::vector<Index>{0, 2, 1}));
    EXPECT_EQ(copy_to_host(device, rounded.values()),
              (std::vector<float>{1, -1 - 0x1p-22f, std::numeric_limits<float>::infinity()}));
}

TEST(refinement, starts_from_the_given_vector) {
    auto random = generator();
    const CsrMatrix<double> matrix = laplacian_2d<double>(16);
    const auto exact = random_vector<double>(random, std::size_t(matrix.rows()));
    const auto b = rounded_product(matrix, exact);
    const auto solved = refine(context(), matrix, b, {}, exact);
    EXPECT_EQ(solved.report.status, Status::converged);
    EXPECT_EQ(solved.report.iterations, 0);
    EXPECT_TRUE(same_bits(solved.x, exact));
    const auto zero = refine(context(), matrix, std::vector<double>(b.size()), {}, exact);
    EXPECT_EQ(zero.report.status, Status::converged);
    EXPECT_EQ(norm(zero.x), 0);
}

TEST(refinement, scales_small_and_large_residuals) {
    auto random = generator();
    const CsrMatrix<double> matrix = laplacian_2d<double>(16);
    auto b = random_vector<double>(random, std::size_t(matrix.rows()));
    const auto plain = refine(context(), matrix, b);
    for (const int exponent : {-900, -300, 300, 900}) {
        const double factor = std::ldexp(1.0, exponent);
        auto scaled = b;
        for (double& value : scaled) value *= factor;
        auto found = refine(context(), matrix, scaled);
        EXPECT_EQ(found.report.iterations, plain.report.iterations);
        for (double& value : found.x) value /= factor;
        EXPECT_TRUE(same_bits(found.x, plain.x)) << factor;
    }
}

TEST(refinement, a_solution_beyond_the_range_is_not_converged) {
    const CsrMatrix<double> matrix = make_csr<double>(2, 2, {{0}, {1}}, {{0.5}, {1}});
    const std::vector<double> start = {3, 4};
    const auto solved = refine(context(), matrix, {1.7e308, 1}, {}, start);
    EXPECT_EQ(solved.report.status, Status::non_finite);
    EXPECT_EQ(solved.x, start);
}

TEST(refinement, an_infinite_start_is_not_converged_where_no_entry_meets_it) {
    const CsrMatrix<double> matrix = make_csr<double>(2, 2, {{0}, {}}, {{2}, {}});
    EXPECT_EQ(refine(context(), matrix, {2, 0}, {}, {1, HUGE_VAL}).report.status,
              Status::non_finite);
}

TEST(refinement, a_correction_that_does_harm_is_taken_back) {
    const Context& context = test::context();
    const CsrMatrix<double> matrix = laplacian_2d<double>(10);
    const auto device_matrix = copy_to(context, matrix.view());
    auto opposite = copy_to_host(context, rounded_to_float(context, device_matrix.view()).view());
    for (float& value : opposite.values().view()) value = -value;
    const auto low_matrix = copy_to(context, opposite.view());
    const CsrOperator<double> a(context, device_matrix.view());
    const CsrOperator<float> low(context, low_matrix.view());
    const std::vector<double> start(std::size_t(matrix.rows()), 3), b(start.size(), 1);
    auto x = copy_to_buffer(context, start);
    RefinementOptions options;
    options.inner = parse_solver("bicgstab");
    const SolveReport report =
        refinement(context, a, low, nullptr, copy_to_buffer(context, b).view(), x.view(), options);
    EXPECT_EQ(report.status, Status::stagnated);
    EXPECT_EQ(copy_to_host(context, x), start);
}

TEST(refinement, a_residual_whose_square_underflows_is_not_zero) {
    const CsrMatrix<double> matrix = make_csr<double>(2, 2, {{0}, {1}}, {{1}, {1}});
    SolveOptions options;
    options.rtol = 1e-300;
    const std::vector<double> b = {1, 0x1p-600};
    const auto solved = refine(context(), matrix, b, options, {1, 0});
    EXPECT_NE(solved.report.status, Status::converged);
    EXPECT_EQ(solved.report.true_relative_residual, 0x1p-600);
}

TEST(refinement, obeys_limits_and_the_observer) {
    auto random = generator();
    const CsrMatrix<double> matrix = laplacian_2d<double>(30);
    const auto b = random_vector<double>(random, std::size_t(matrix.rows()));
    SolveOptions few;
    few.max_iterations = 7;
    const auto stopped = refine(context(), matrix, b, few);
    EXPECT_EQ(stopped.report.status, Status::max_iterations);
    EXPECT_EQ(stopped.report.iterations, 7);
    SolveOptions watched;
    watched.check_interval = 1;
    Offset seen = 0;
    watched.observer = [&seen](const Progress& progress) {
        EXPECT_GE(progress.iterations, seen);
        seen = progress.iterations;
        return progress.iterations < 30;
    };
    const auto interrupted = refine(context(), matrix, b, watched);
    EXPECT_EQ(interrupted.report.status, Status::interrupted);
    EXPECT_LE(interrupted.report.true_relative_residual, 1);
    SolveOptions no_time;
    no_time.max_seconds = 0;
    EXPECT_EQ(refine(context(), matrix, b, no_time).report.status, Status::max_seconds);
    auto corrupted = b;
    corrupted[3] = std::numeric_limits<double>::quiet_NaN();
    EXPECT_EQ(refine(context(), matrix, corrupted).report.status, Status::non_finite);
}

TEST(refinement, knows_the_limit_of_rounding) {
    auto random = generator();
    const CsrMatrix<double> matrix = laplacian_2d<double>(40);
    const auto b = random_vector<double>(random, std::size_t(matrix.rows()));
    SolveOptions options;
    options.rtol = 1e-18;
    const auto solved = refine(context(), matrix, b, options);
    EXPECT_EQ(solved.report.status, Status::accuracy_lost);
    EXPECT_LE(solved.report.true_relative_residual, 1e-13);
}

// Two nearly equal rows: rounded to float the matrix is singular or indefinite.
TEST(refinement, what_float_cannot_hold_ends_without_harm) {
    const CsrMatrix<double> matrix = matrix_of<double>(40, [](Index i, Index j) {
        return i / 2 != j / 2 ? 0.0 : i == j ? 1.0 : 1 - 1e-12;
    });
    auto random = generator();
    const auto b = random_vector<double>(random, 40);
    const auto solved = refine(context(), matrix, b);
    EXPECT_NE(solved.report.status, Status::converged);
    EXPECT_FALSE(solved.report.message.empty());
    EXPECT_LE(residual(matrix, b, solved.x).norm, norm(b) * (1 + 1e-10));
}

TEST(refinement, options_from_a_text) {
    const RefinementOptions plain = parse_refinement("refinement");
    EXPECT_NE(plain.inner, nullptr);
    EXPECT_EQ(plain.inner_rtol, 1e-3);
    const RefinementOptions other = parse_refinement("refinement:fcg,rtol=0.1");
    EXPECT_EQ(other.inner_rtol, 0.1);
    for (const char* wrong : {"cg", "refinement:cgs", "refinement,rtol=2", "refinement,atol=1"}) {
        EXPECT_THROW(parse_refinement(Spec(wrong)), InvalidArgument) << wrong;
    }
}

TEST(refinement, wrong_arguments_are_refused) {
    const CsrMatrix<double> matrix = laplacian_1d<double>(5);
    const std::vector<double> b(5, 1.0);
    EXPECT_THROW(refine(context(), matrix, std::vector<double>(4, 1.0)), InvalidArgument);
    EXPECT_THROW(refine(context(), matrix, b, {}, {}, {.inner_rtol = 0}), InvalidArgument);
    EXPECT_THROW(refine(context(), matrix, b, {}, {}, {.inner_rtol = 1}), InvalidArgument);
    SolveOptions options;
    options.rtol = -1;
    EXPECT_THROW(refine(context(), matrix, b, options), InvalidArgument);
}

}  // namespace tessera::test
