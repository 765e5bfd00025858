#include <stdexcept>

#include "base/context_state.hpp"
#include "krylov/test_systems.hpp"
#include "support/messages.hpp"

namespace tessera::test {

namespace {

const std::vector<std::string> preconditioners = {
    "none",        "jacobi",      "block_jacobi:4", "block_jacobi:4,precision=adaptive",
    "chebyshev:3", "block_ldlt:4"};
const std::vector<std::string> formats = {"csr", "sbell:2", "sell"};

/// Positive definite, and so are its preconditioners; `scale` gives other values.
template <class T>
CsrMatrix<T> system_matrix(double scale) {
    CsrMatrix<T> matrix = laplacian_2d<T>(12);
    const std::span<T> values = matrix.values().view();
    const CsrView<T> view = matrix.view();
    for (Index i = 0; i < view.rows; ++i) {
        for (Offset k = view.row_offsets[i]; k < view.row_offsets[i + 1]; ++k) {
            if (view.column_indices[k] == i) values[std::size_t(k)] += T(scale * (1 + i % 7));
        }
    }
    return matrix;
}

template <class T>
struct Outcome {
    SolveReport report;
    std::vector<T> x;

    bool operator==(const Outcome& other) const {
        return report.status == other.report.status &&
               report.iterations == other.report.iterations &&
               report.residuals == other.report.residuals && same_bits(x, other.x);
    }
};

template <class T>
Outcome<T> solve_with(Solver<T>& solver, const std::vector<T>& b,
                      const SolveOptions& options = {}) {
    const Buffer<T> right = copy_to_buffer(context(), b);
    Buffer<T> x = copy_to_buffer(context(), std::vector<T>(b.size()));
    Outcome<T> outcome;
    outcome.report = solver.solve(right.view(), x.view(), options);
    outcome.x = copy_to_host(context(), x);
    return outcome;
}

/// What the free functions give.
template <class T>
Outcome<T> solve_once(const std::string& name, const std::string& preconditioner,
                      const std::string& format, const CsrMatrix<T>& matrix,
                      const std::vector<T>& b, const SolveOptions& options = {}) {
    const auto a = make_operator(context(), matrix, parse_format(format));
    const auto m = parse_preconditioner(preconditioner)
                       ->make(context(), matrix.view(), {.format = parse_format(format)});
    const Buffer<T> right = copy_to_buffer(context(), b);
    Buffer<T> x = copy_to_buffer(context(), std::vector<T>(b.size()));
    Outcome<T> outcome;
    outcome.report = solve<T>(context(), name, *a, m.get(), right.view(), x.view(), options);
    outcome.x = copy_to_host(context(), x);
    return outcome;
}

template <class T>
void expect_solves_repeat(const std::string& name, const std::string& preconditioner,
                          const std::string& format, bool left) {
    SCOPED_TRACE(name + " " + preconditioner + " " + format + (left ? " left" : ""));
    auto random = generator();
    const CsrMatrix<T> first = copy_to(context(), system_matrix<T>(0.5));
    const CsrMatrix<T> second = copy_to(context(), system_matrix<T>(0.25));
    const auto b = random_vector<T>(random, std::size_t(first.rows()));
    const auto c = random_vector<T>(random, std::size_t(first.rows()));
    SolveOptions options;
    options.rtol = sizeof(T) == 4 ? 1e-4 : 1e-9;
    options.left_preconditioning = left;
    Solver<T> solver(context(), name, preconditioner, format);
    solver.setup(first);
    const auto before = solve_with(solver, b, options);
    EXPECT_EQ(before.report.status, Status::converged) << before.report.message;
    EXPECT_TRUE(before == solve_once(name, preconditioner, format, first, b, options));
    EXPECT_TRUE(solve_with(solver, c, options) ==
                solve_once(name, preconditioner, format, first, c, options));
    EXPECT_TRUE(solve_with(solver, b, options) == before);
    solver.update(second);
    const Offset allocations = context().state().allocations;
    const auto after = solve_with(solver, b, options);
    EXPECT_EQ(context().state().allocations, allocations + 2) << "more than b and x";
    EXPECT_NE(after.report.residuals, before.report.residuals);
    // A new block LDL^T may choose another order of the rows.
    if (preconditioner.starts_with("block_ldlt")) {
        EXPECT_EQ(after.report.status, Status::converged) << after.report.message;
    } else {
        EXPECT_TRUE(after == solve_once(name, preconditioner, format, second, b, options));
    }
}

TEST(solver, solves_repeat_and_allocate_nothing) {
    for (const std::string& name : all_solvers()) {
        const auto solver = parse_solver(name);
        for (const std::string& preconditioner : preconditioners) {
            if (solver->is_stationary() && preconditioner == "none") continue;
            for (const bool left : {false, true}) {
                if (left && (!solver->allows_left() || preconditioner == "none")) continue;
                expect_solves_repeat<double>(name, preconditioner, "csr", left);
            }
        }
    }
    for (const std::string& format : formats) {
        expect_solves_repeat<float>("cg", "chebyshev:3", format, false);
        expect_solves_repeat<double>("cg", "block_jacobi:4", format, false);
    }
}

TEST(solver, starts_from_x_and_changes_its_options) {
    auto random = generator();
    const CsrMatrix<double> matrix = copy_to(context(), system_matrix<double>(0.5));
    const auto b = random_vector<double>(random, std::size_t(matrix.rows()));
    Solver<double> solver(context(), "gmres:10", "jacobi");
    solver.setup(matrix);
    SolveOptions right, left;
    left.left_preconditioning = true;
    left.check_interval = 3;
    const auto by_right = solve_with(solver, b, right);
    const auto by_left = solve_with(solver, b, left);
    EXPECT_TRUE(by_left == solve_once("gmres:10", "jacobi", "csr", matrix, b, left));
    EXPECT_TRUE(by_right == solve_with(solver, b, right));
    // A huge right-hand side is scaled; the next one is not.
    auto huge = b;
    for (double& value : huge) value *= 0x1p900;
    auto scaled = solve_with(solver, huge, right);
    for (double& value : scaled.x) value *= 0x1p-900;
    EXPECT_TRUE(scaled == by_right);
    EXPECT_TRUE(by_right == solve_with(solver, b, right));
    // From the solution nothing is left to do.
    Buffer<double> x = copy_to_buffer(context(), by_right.x);
    EXPECT_EQ(solver.solve(copy_to_buffer(context(), b).view(), x.view()).iterations, 0);
    EXPECT_EQ(copy_to_host(context(), x), by_right.x);
}

TEST(solver, an_exception_of_the_observer_leaves_x_and_the_solver) {
    auto random = generator();
    const CsrMatrix<double> matrix = copy_to(context(), system_matrix<double>(0.5));
    const auto b = random_vector<double>(random, std::size_t(matrix.rows()));
    const auto start = random_vector<double>(random, b.size());
    const Buffer<double> right = copy_to_buffer(context(), b);
    for (const std::string name : {"cg", "idr:4"}) {
        Solver<double> solver(context(), name, "jacobi");
        solver.setup(matrix);
        const auto undisturbed = solve_with(solver, b);
        SolveOptions options;
        options.check_interval = 2;
        options.observer = [](const Progress& progress) -> bool {
            if (progress.iterations >= 4) throw std::runtime_error("enough");
            return true;
        };
        Buffer<double> x = copy_to_buffer(context(), start);
        EXPECT_EQ(
            message_of<std::runtime_error>([&] { solver.solve(right.view(), x.view(), options); }),
            "enough");
        EXPECT_EQ(copy_to_host(context(), x), start) << name;
        EXPECT_TRUE(solve_with(solver, b) == undisturbed) << name;
    }
}

/// 4 x - the neighbours on a line, without a matrix. `counted`: it may not be captured.
class Stencil final : public Operator<double> {
  public:
    Stencil(Index rows, bool counted) : rows_(rows), counted_(counted) {}
    Index rows() const override { return rows_; }
    Index columns() const override { return rows_; }
    bool can_be_captured() const override { return !counted_; }
    void apply(const Context& context, std::span<const double> x,
               std::span<double> y) const override {
        ++calls;
        const std::size_t n = x.size();
        axpby<double>(context, 4.0, x, 0.0, y);
        axpby<double>(context, -1.0, x.first(n - 1), 1.0, y.subspan(1));
        axpby<double>(context, -1.0, x.subspan(1), 1.0, y.first(n - 1));
    }
    mutable int calls = 0;

  private:
    Index rows_;
    bool counted_;
};

TEST(solver, operators_without_a_matrix_work_in_every_solver) {
    constexpr Index n = 300;
    auto random = generator();
    const auto b = random_vector<double>(random, n);
    const CsrMatrix<double> matrix =
        copy_to(context(), matrix_of<double>(n, [](Index i, Index j) {
                    return i == j ? 4.0 : std::abs(i - j) == 1 ? -1.0 : 0.0;
                }));
    const auto m = make_preconditioner<double>(context(), "block_jacobi:8", matrix);
    const Buffer<double> right = copy_to_buffer(context(), b);
    for (const std::string& name : all_solvers()) {
        for (const bool counted : {false, true}) {
            const Stencil stencil(n, counted);
            Buffer<double> x = copy_to_buffer(context(), std::vector<double>(n));
            const SolveReport report =
                solve<double>(context(), name, stencil, m.get(), right.view(), x.view());
            EXPECT_EQ(report.status, Status::converged) << name << report.message;
            const auto residuals =
                residual(copy_to_host(context(), matrix.view()), b, copy_to_host(context(), x));
            EXPECT_LE(residuals.norm, 1e-8 * norm(b) + residuals.rounding) << name;
            if (counted) {
                EXPECT_GE(stencil.calls, report.operator_applications) << name;
            }
        }
    }
}

TEST(solver, a_preconditioner_that_cannot_be_used_ends_the_solve_at_its_start) {
    const CsrMatrix<double> matrix =
        copy_to(context(), make_csr<double>(2, 2, {{0}, {1}}, {{1}, {0}}));
    Solver<double> solver(context(), "cg", "jacobi");
    solver.setup(matrix);
    const auto outcome = solve_with(solver, {1, 1});
    EXPECT_EQ(outcome.report.status, Status::singular_block);
    expect_contains(outcome.report.message, "so the solve was not started");
    EXPECT_EQ(solver.singular_blocks(), 1);
    EXPECT_EQ(outcome.x, std::vector<double>({0, 0}));
}

TEST(solver, a_failed_setup_or_update_leaves_no_matrix_and_no_memory) {
    const CsrMatrix<double> symmetric = copy_to(context(), laplacian_2d<double>(12));
    const CsrMatrix<double> other = copy_to(context(), laplacian_2d<double>(12, 1.0));
    const Offset before = context().memory_bytes();
    Solver<double> solver(context(), "sqmr", "block_ldlt:4");
    const auto expect_no_matrix = [&] {
        EXPECT_FALSE(solver.has_matrix());
        EXPECT_EQ(message_of([&] { solver.preconditioner(); }),
                  "Solver: there is no matrix; call setup first");
    };
    expect_contains(message_of([&] { solver.setup(other); }), "is not symmetric");
    expect_no_matrix();
    EXPECT_LT(context().memory_bytes(), before + (1 << 20)) << "scratch memory may stay";
    solver.setup(symmetric);
    expect_contains(message_of([&] { solver.update(other); }), "is not symmetric");
    expect_no_matrix();
    solver.setup(symmetric);
    EXPECT_EQ(solve_with(solver, std::vector<double>(144, 1.0)).report.status, Status::converged);
}

TEST(solver, an_inverse_out_of_the_range_of_its_precision_is_an_error) {
    const CsrMatrix<double> matrix = copy_to(context(), system_matrix<double>(0.5));
    const auto scaled = [](double factor) {
        CsrMatrix<double> result = system_matrix<double>(0.5);
        for (double& value : result.values().view()) value *= factor;
        return copy_to(context(), result.view());
    };
    const std::string message =
        "the inverse of a block has a value outside the range of the precision in which it is "
        "stored; use precision=adaptive, or scale the system";
    for (const double factor : {1e-42, 1e42}) {
        const CsrMatrix<double> other = scaled(factor);
        for (const std::string name : {"cg", "auto"}) {
            for (const std::string precision : {"f32", "bf16", "f16"}) {
                Solver<double> solver(context(), name, "block_jacobi:4,precision=" + precision);
                EXPECT_EQ(message_of([&] { solver.setup(other); }), message) << name;
                EXPECT_FALSE(solver.has_matrix());
                solver.setup(matrix);
                EXPECT_EQ(message_of([&] { solver.update(other); }), message) << name;
                EXPECT_FALSE(solver.has_matrix());
            }
        }
        Solver<double> adaptive(context(), "cg", "block_jacobi:4,precision=adaptive");
        adaptive.setup(other);
        EXPECT_EQ(solve_with(adaptive, std::vector<double>(144, 1.0)).report.status,
                  Status::converged);
    }
    // Inverses outside the range of f16 alone, as of steel in pascals.
    for (const double factor : {1e-6, 2e11}) {
        Solver<double> solver(context(), "cg", "block_jacobi:4,precision=f16");
        const CsrMatrix<double> other = scaled(factor);
        solver.setup(other);
        EXPECT_EQ(solve_with(solver, std::vector<double>(144, 1.0)).report.status,
                  Status::converged);
    }
}

TEST(solver, the_observer_must_not_call_its_solver) {
    const CsrMatrix<double> matrix = copy_to(context(), system_matrix<double>(0.5));
    const std::vector<double> ones(std::size_t(matrix.rows()), 1.0);
    const Buffer<double> b = copy_to_buffer(context(), ones);
    Solver<double> solver(context(), "cg", "jacobi");
    solver.setup(matrix);
    Buffer<double> x = copy_to_buffer(context(), std::vector<double>(ones.size()));
    Buffer<double> y = copy_to_buffer(context(), ones);
    SolveOptions options;
    int refused = 0;
    options.observer = [&](const Progress&) {
        for (const auto& call : {std::function<void()>([&] { solver.solve(b.view(), y.view()); }),
                                 std::function<void()>([&] { solver.setup(matrix); }),
                                 std::function<void()>([&] { solver.update(matrix); })}) {
            refused += message_of<InUse>(call).starts_with("the solver is in use by another call");
        }
        return true;
    };
    EXPECT_EQ(solver.solve(b.view(), x.view(), options).status, Status::converged);
    EXPECT_GE(refused, 3);
    EXPECT_EQ(copy_to_host(context(), x), solve_with(solver, ones).x);
}

TEST(solver, nothing_of_a_solve_reaches_the_next_one) {
    const CsrMatrix<double> matrix = copy_to(context(), system_matrix<double>(0.5));
    const std::size_t n = std::size_t(matrix.rows());
    Solver<double> solver(context(), "cg", "jacobi");
    solver.setup(matrix);
    std::vector<double> b(n, 1.0);
    b[3] = std::numeric_limits<double>::quiet_NaN();
    EXPECT_EQ(solve_with(solver, b).report.status, Status::non_finite);
    const auto zero = solve_with(solver, std::vector<double>(n)).report;
    EXPECT_EQ(zero.status, Status::converged);
    EXPECT_EQ(zero.relative_residual, 0);
    // A polynomial that raised its bound is the one of the report.
    Solver<double> raised(context(), "cg", "chebyshev:3,bound=0.5");
    raised.setup(matrix);
    const auto polynomial_recoveries = [&] {
        const ReportValues& values = raised.preconditioner_report().values;
        for (const ReportValue& value : std::get<ReportValues>(values.at(0).value)) {
            if (value.name == "recoveries") return std::get<Offset>(value.value);
        }
        return Offset(-1);
    };
    EXPECT_EQ(polynomial_recoveries(), 0);
    const auto first = solve_with(raised, std::vector<double>(n, 1.0)).report;
    EXPECT_GT(first.recoveries, 0);
    EXPECT_EQ(polynomial_recoveries(), first.recoveries);
}

TEST(solver, wrong_calls_are_named) {
    const CsrMatrix<double> host_matrix = system_matrix<double>(0.5);
    const CsrMatrix<double> matrix = copy_to(context(), host_matrix);
    Buffer<double> b(context(), matrix.rows()), x(context(), matrix.rows());
    fill(context(), 1.0, b.view());
    fill(context(), 0.0, x.view());
    Solver<double> solver(context(), "cg", "jacobi");
    const std::string none = "Solver::solve: there is no matrix; call setup first";
    EXPECT_EQ(message_of([&] { solver.solve(b.view(), x.view()); }), none);
    EXPECT_EQ(message_of([&] { solver.update(matrix); }),
              "Solver::update: there is no matrix; call setup first");
    EXPECT_EQ(message_of([&] { solver.preconditioner_report(); }),
              "Solver: there is no matrix; call setup first");
    solver.setup(matrix);
    EXPECT_EQ(message_of([&] { solver.solve(b.view().first(3), x.view()); }),
              "solve: b must have 144 elements, not 3");
    EXPECT_EQ(message_of([&] { solver.update(CsrMatrix<double>().view()); }),
              "Solver::update: the matrix has no row offsets (null, or a moved-from matrix)");
    const CsrMatrix<double> other = copy_to(context(), laplacian_2d<double>(11));
    EXPECT_EQ(message_of([&] { solver.update(other); }),
              "Solver::update: the matrix must have the pattern of that in setup");
    EXPECT_EQ(solver.solve(b.view(), x.view()).status, Status::converged);
    SolveOptions left;
    left.left_preconditioning = true;
    expect_contains(message_of([&] { solver.solve(b.view(), x.view(), left); }),
                    "this solver does not support left preconditioning");
    const CsrMatrix<double> wide = make_csr<double>(1, 2, {{0}}, {{1}});
    EXPECT_EQ(message_of([&] { solver.setup(wide); }),
              context().on_gpu() ? "Solver::setup: the array of row offsets is not in the memory "
                                   "of the Context (copy_to and "
                                   "copy_to_buffer put it there)"
                                 : "Solver::setup: the matrix must be square");
    EXPECT_TRUE(solver.has_matrix());
    EXPECT_EQ(solver.solve(b.view(), x.view()).status, Status::converged);
    solver.setup(matrix);
    Solver<double> moved = std::move(solver);
    EXPECT_EQ(message_of([&] { solver.setup(matrix); }), "Solver: used after it was moved from");
    EXPECT_EQ(moved.solve(b.view(), x.view()).status, Status::converged);
    EXPECT_NE(message_of([] { Solver<double>(context(), "cgs"); }), "accepted");
    EXPECT_NE(message_of([] { Solver<double>(context(), "cg", "jacoby"); }), "accepted");
    EXPECT_NE(message_of([] { Solver<double>(context(), "cg", "none", "coo"); }), "accepted");
}

}  // namespace
}  // namespace tessera::test
