#include <stdexcept>

#include "base/context_state.hpp"
#include "krylov/driver/test_several_vectors.hpp"
#include "support/messages.hpp"

// Solvers with several right-hand sides at once.
namespace tessera::test {

namespace {

template <class T>
struct SolvedVectors {
    std::vector<SolveReport> reports;
    HostVectors<T> x;
};

template <class T>
SolvedVectors<T> solve_together(Solver<T>& solver, const HostVectors<T>& b,
                                const SolveOptions& options = {}) {
    const Context& where = context();
    SolvedVectors<T> solved{{}, HostVectors<T>(b.size_, b.count_)};
    for (int j = 0; j < b.count_; ++j) std::ranges::fill(solved.x[j], T(0));
    const Buffer<T> right = copy_to_buffer(where, b.values);
    Buffer<T> x = copy_to_buffer(where, solved.x.values);
    solved.reports = solver.solve({right.data(), b.size_, b.count_, b.leading()},
                                  solved.x.view(x.data()), options);
    solved.x.values = copy_to_host(where, x);
    return solved;
}

template <class T>
SolveReport solve_alone(Solver<T>& solver, std::span<const T> b, std::vector<T>& x,
                        const SolveOptions& options = {}) {
    const Buffer<T> right = copy_to_buffer(context(), b);
    Buffer<T> solution = copy_to_buffer(context(), std::vector<T>(b.size()));
    SolveReport report = solver.solve(right.view(), solution.view(), options);
    x = copy_to_host(context(), solution);
    return report;
}

/// ||b - A x|| / ||b|| in extended precision.
template <class T>
double relative_residual(const CsrView<T>& a, std::span<const T> b, std::span<const T> x) {
    long double sum = 0, size = 0;
    for (Index i = 0; i < a.rows; ++i) {
        long double r = b[std::size_t(i)];
        for (Offset k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) {
            r -= (long double)a.values[k] * x[std::size_t(a.column_indices[k])];
        }
        sum += r * r;
        size += (long double)b[std::size_t(i)] * b[std::size_t(i)];
    }
    return double(std::sqrt(sum / size));
}

/// Right-hand sides that need different numbers of iterations: smooth and rough ones, a unit
/// vector, and those of the matrix times a constant.
template <class T>
HostVectors<T> uneven_right_hand_sides(const CsrView<T>& a, int count) {
    HostVectors<T> b = random_vectors<T>(a.rows, count);
    for (int j = 0; j < count; ++j) {
        for (Index i = 0; i < a.rows; ++i) {
            T& value = b[j][std::size_t(i)];
            if (j % 4 == 1) value = T(std::sin(0.02 * (i + 1)));
            if (j % 4 == 2) value = T(i == 5 * j ? 1 : 0);
            if (j % 4 == 3) value = T(i % 2 == 0 ? 1e-6 : -1e-6);
        }
    }
    return b;
}

/// On the CPU the solutions and the reports are those of solves of their own.
template <class T>
void expect_own_ends(const std::string& name, const std::string& preconditioner,
                     const std::string& format, int count, bool left = false) {
    SCOPED_TRACE(name + " " + preconditioner + " " + format + " " + std::to_string(count));
    const CsrMatrix<T> host = test_matrix<T>();
    const CsrMatrix<T> matrix = copy_to(context(), host);
    SolveOptions options;
    options.rtol = sizeof(T) == 4 ? 1e-4 : 1e-9;
    options.left_preconditioning = left;
    Solver<T> solver(context(), name, preconditioner, format);
    solver.setup(matrix);
    HostVectors<T> b = uneven_right_hand_sides(host.view(), count);
    SolvedVectors<T> together = solve_together(solver, b, options);
    ASSERT_EQ(together.reports.size(), std::size_t(count));
    EXPECT_TRUE(together.x.pads_are_whole());
    for (int j = 0; j < count; ++j) {
        const SolveReport& report = together.reports[std::size_t(j)];
        std::vector<T> x;
        const SolveReport alone = solve_alone<T>(solver, b[j], x, options);
        EXPECT_EQ(report.status, Status::converged) << report.message;
        EXPECT_LE(relative_residual<T>(host.view(), b[j], together.x[j]),
                  *options.rtol * (1 + 1e-3));
        EXPECT_EQ(report.residuals.size(), std::size_t(report.iterations) + 1);
        if (context().on_gpu() || alone.restarts > 0) continue;
        EXPECT_EQ(report.iterations, alone.iterations) << j;
        EXPECT_EQ(report.operator_applications, alone.operator_applications) << j;
        EXPECT_EQ(report.residuals, alone.residuals) << j;
        const std::span<T> found = together.x[j];
        EXPECT_TRUE(same_bits(x, std::vector<T>(found.begin(), found.end()))) << j;
    }
}

TEST(several_vectors, every_solver_ends_each_by_itself) {
    for (const std::string& name : all_solvers()) {
        const bool stationary = parse_solver(name)->is_stationary();
        expect_own_ends<double>(name, stationary ? "block_jacobi:64" : "jacobi", "csr",
                                stationary ? 1 : 5);
    }
}

TEST(several_vectors, preconditioners_and_formats) {
    for (const char* name : {"cg", "fcg", "idr:4", "idr:2,smoothing"}) {
        for (const char* preconditioner :
             {"none", "block_jacobi:8", "chebyshev:4", "block_ldlt:4"}) {
            expect_own_ends<double>(name, preconditioner, "csr", 8);
            expect_own_ends<float>(name, preconditioner, "sbell:2", 3);
        }
    }
    expect_own_ends<double>("cg", "chebyshev:4", "csr", 19);
    expect_own_ends<double>("idr", "block_jacobi:8", "csr", 6, true);
}

TEST(several_vectors, ends_differ) {
    const CsrMatrix<double> host = test_matrix<double>();
    const CsrMatrix<double> matrix = copy_to(context(), host);
    Solver<double> solver(context(), "cg", "jacobi");
    solver.setup(matrix);
    HostVectors<double> b = uneven_right_hand_sides(host.view(), 6);
    std::ranges::fill(b[1], 0.0);
    b[2][7] = std::numeric_limits<double>::quiet_NaN();
    for (double& value : b[4]) value *= 1e200;  // The squares overflow.
    SolvedVectors<double> solved = solve_together(solver, b);
    const auto& reports = solved.reports;
    EXPECT_EQ(reports[1].status, Status::converged);
    EXPECT_EQ(reports[1].iterations, 0);
    EXPECT_EQ(reports[2].status, Status::non_finite);
    for (const int j : {0, 3, 4, 5}) {
        EXPECT_EQ(reports[std::size_t(j)].status, Status::converged) << j;
        EXPECT_LE(relative_residual<double>(host.view(), b[j], solved.x[j]), 1.001e-8) << j;
    }
    EXPECT_NE(reports[0].iterations, reports[3].iterations);
    SolveOptions few;
    few.max_iterations = 3;
    for (const SolveReport& report :
         solve_together(solver, random_vectors<double>(361, 3), few).reports) {
        EXPECT_EQ(report.status, Status::max_iterations);
        EXPECT_EQ(report.iterations, 3);
    }
}

TEST(several_vectors, observers_know_the_vector_and_end_its_solve) {
    const CsrMatrix<double> matrix = copy_to(context(), test_matrix<double>());
    for (const char* name : {"cg", "gmres"}) {
        Solver<double> solver(context(), name, "jacobi");
        solver.setup(matrix);
        std::vector<int> calls(4, 0);
        SolveOptions options;
        options.check_interval = 1;
        options.observer = [&](const Progress& progress) {
            ++calls.at(std::size_t(progress.vector));
            return progress.vector != 2;
        };
        const auto solved = solve_together(solver, random_vectors<double>(361, 4), options);
        for (std::size_t j = 0; j < 4; ++j) {
            const bool stopped = j == 2;
            EXPECT_EQ(solved.reports[j].status, stopped ? Status::interrupted : Status::converged)
                << name << j;
            EXPECT_EQ(calls[j], stopped ? 1 : solved.reports[j].iterations) << name << j;
        }
        options.observer = [](const Progress&) -> bool { throw std::runtime_error("enough"); };
        EXPECT_THROW(solve_together(solver, random_vectors<double>(361, 4), options),
                     std::runtime_error);
        for (const SolveReport& report :
             solve_together(solver, random_vectors<double>(361, 4)).reports) {
            EXPECT_EQ(report.status, Status::converged) << name;
        }
    }
}

TEST(several_vectors, a_changed_preconditioner_restarts_the_others) {
    const CsrMatrix<double> host = test_matrix<double>();
    const CsrMatrix<double> matrix = copy_to(context(), host);
    Solver<double> solver(context(), "cg", "neumann:1,bound=0.6");
    solver.setup(matrix);
    HostVectors<double> b = uneven_right_hand_sides(host.view(), 5);
    SolvedVectors<double> solved = solve_together(solver, b);
    Offset recoveries = 0;
    for (int j = 0; j < 5; ++j) {
        const SolveReport& report = solved.reports[std::size_t(j)];
        recoveries += report.recoveries;
        EXPECT_EQ(report.status, Status::converged) << report.message;
        EXPECT_LE(relative_residual<double>(host.view(), b[j], solved.x[j]), 1.001e-8) << j;
    }
    EXPECT_GT(recoveries, 0);
}

TEST(several_vectors, later_solves_allocate_nothing) {
    const CsrMatrix<double> matrix = copy_to(context(), test_matrix<double>());
    for (const char* name : {"cg", "idr:4", "sqmr"}) {
        for (const char* preconditioner : {"jacobi", "chebyshev:4", "block_ldlt:4"}) {
            Solver<double> solver(context(), name, preconditioner);
            solver.setup(matrix);
            const HostVectors<double> b = random_vectors<double>(361, 8);
            solve_together(solver, b);
            const Offset allocations = context().state().allocations;
            solve_together(solver, b);
            solve_together(solver, random_vectors<double>(361, 3));
            EXPECT_EQ(context().state().allocations, allocations + 4) << "more than b and x";
        }
    }
}

TEST(several_vectors, counts_that_differ_are_refused) {
    const CsrMatrix<double> matrix = copy_to(context(), test_matrix<double>());
    Buffer<double> x(context(), 2000), y(context(), 2000);
    fill<double>(context(), 1.0, x.view());
    const Vectors<const double> three{x.data(), 361, 3, 361};
    for (const char* text : {"jacobi", "block_jacobi:4", "chebyshev:3", "block_ldlt:4"}) {
        const auto m = make_preconditioner(context(), text, matrix);
        EXPECT_THROW(m->apply_vectors(context(), three, {y.data(), 361, 2, 361}), InvalidArgument);
        EXPECT_THROW(m->apply_vectors(context(), three, {y.data(), 361, 3, 0}), InvalidArgument);
        m->apply_vectors(context(), {x.data(), 361, 1, 0}, {y.data(), 361, 1, 0});
    }
}

/// Pointers and sizes in braces are one vector.
TEST(several_vectors, one_vector_in_braces) {
    const CsrMatrix<double> matrix = copy_to(context(), test_matrix<double>());
    const Buffer<double> b = copy_to_buffer(context(), std::vector<double>(361, 1.0));
    Buffer<double> x = copy_to_buffer(context(), std::vector<double>(361, 0.0));
    Solver<double> solver(context(), "cg", "jacobi");
    solver.setup(matrix);
    EXPECT_EQ(solver.solve({b.data(), 361}, {x.data(), 361}).status, Status::converged);
    multiply(context(), matrix.view(), plan_spmv(context(), matrix.view()), 1.0, {b.data(), 361},
             0.0, {x.data(), 361});
}

TEST(several_vectors, unusable_preconditioners_and_wrong_vectors) {
    CsrMatrix<double> host = test_matrix<double>();
    Solver<double> solver(context(), "cg", "block_jacobi:4");
    Buffer<double> b(context(), 2000), x(context(), 2000);
    fill<double>(context(), 1.0, b.view());
    const auto solve = [&](Vectors<const double> right, Vectors<double> solution) {
        return solver.solve(right, solution);
    };
    const Vectors<const double> right{b.data(), 361, 2, 361};
    const Vectors<double> solution{x.data(), 361, 2, 400};
    expect_contains(message_of([&] { solve(right, solution); }), "there is no matrix");
    const CsrMatrix<double> first = copy_to(context(), host);
    solver.setup(first);
    const auto expect_refused = [&](Vectors<const double> from, Vectors<double> to,
                                    const char* message) {
        expect_contains(message_of([&] { solve(from, to); }), message);
    };
    expect_refused(right, {x.data(), 361, 3, 361}, "b has 2 vectors, x has 3");
    expect_refused({b.data(), 360, 2, 361}, solution, "b must have 361 elements, not 360");
    expect_refused({b.data(), 361, 2, 360}, solution, "leading dimension of 360, below the 361");
    expect_refused({b.data(), 361, 2, std::numeric_limits<Offset>::max()}, solution,
                   "b has a leading dimension of 9223372036854775807");
    expect_refused({nullptr, 361, 2, 361}, solution, "b is null");
    expect_refused(right, {x.data(), 361, -1, 361}, "negative number of vectors");
    expect_refused({b.data(), 361, 1, 0}, {b.data(), 361, 1, 0}, "x overlaps b");
    expect_refused(right, {b.data() + 721, 361, 2, 361}, "x overlaps b");
    // Vectors of b and x in turns.
    for (const SolveReport& report :
         solve({b.data(), 361, 2, 722}, {b.data() + 361, 361, 2, 722})) {
        EXPECT_EQ(report.status, Status::converged);
    }
    EXPECT_TRUE(solver
                    .solve(Vectors<const double>{b.data(), 361, 0, 361},
                           Vectors<double>{x.data(), 361, 0, 361})
                    .empty());
    std::ranges::fill(host.values().view(), 0.0);
    const CsrMatrix<double> zeros = copy_to(context(), host);
    solver.setup(zeros);
    const auto reports = solve(right, solution);
    ASSERT_EQ(reports.size(), 2u);
    for (const SolveReport& report : reports) EXPECT_EQ(report.status, Status::singular_block);
}

}  // namespace

}  // namespace tessera::test
