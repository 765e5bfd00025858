#include <filesystem>
#include <fstream>
#include <numeric>

#include "base/check_time.hpp"
#include "krylov/test_systems.hpp"
#include "support/messages.hpp"
#include "tessera/amg.hpp"
#include "tessera/device_group.hpp"

namespace tessera::test {

namespace {

/// Groups of one thread each, or the GPUs in turn.
DeviceGroup group_of(int size) {
    std::vector<Context> contexts;
    for (int k = 0; k < size; ++k) {
        contexts.push_back(context().on_gpu() ? Context::cuda(k % int(cuda_devices().size()))
                                              : Context::cpu(1));
    }
    return DeviceGroup(std::move(contexts));
}

struct GroupSolved {
    DeviceGroupReport report;
    std::vector<double> x;
};

GroupSolved solve_on(int size, const CsrMatrix<double>& matrix, const std::vector<double>& b,
                     const PreconditionerInputs& inputs = {}, const SolveOptions& options = {},
                     const MethodConfig& method = MethodConfig(), std::vector<double> x = {}) {
    const Offset n = matrix.rows();
    const int count = n == 0 ? 1 : int(Offset(b.size()) / n);
    x.resize(b.size());
    GroupSolved solved;
    solved.report =
        solve(group_of(size), method, matrix.view(), Vectors<const double>(b.data(), n, count, n),
              Vectors<double>(x.data(), n, count, n), inputs, options);
    solved.x = std::move(x);
    return solved;
}

double relative_residual(const CsrView<double>& a, std::span<const double> b,
                         std::span<const double> x) {
    double residual = 0, square = 0;
    for (Index i = 0; i < a.rows; ++i) {
        double left = b[std::size_t(i)];
        for (Offset k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) {
            left -= a.values[k] * x[std::size_t(a.column_indices[k])];
        }
        residual += left * left;
        square += b[std::size_t(i)] * b[std::size_t(i)];
    }
    return std::sqrt(residual / square);
}

Offset iterations_of_one(const CsrMatrix<double>& matrix, const std::vector<double>& b,
                         const NodeCoordinates& coordinates) {
    const CsrMatrix<double> own = copy_to(context(), matrix);
    Solver<double> solver(context(), "fcg", "amg");
    solver.use_coordinates(coordinates);
    solver.setup(own.view());
    const Buffer<double> right = copy_to_buffer(context(), b);
    Buffer<double> x = copy_to_buffer(context(), std::vector<double>(b.size()));
    return solver.solve(right.view(), x.view()).iterations;
}

}  // namespace

TEST(solve_on_devices, solves_in_the_iterations_of_one) {
    auto random = generator();
    struct Problem {
        const char* text;
        const char* partition;
        int block;
    };
    for (const Problem& given :
         {Problem{"elasticity3d:17", "coordinates", 3}, Problem{"poisson2d:110", "ordering", 1}}) {
        SCOPED_TRACE(given.text);
        const auto problem = problems::generate<double>(host(), Spec(given.text));
        const CsrView<double> a = problem.matrix.view();
        const auto b = random_vector<double>(random, std::size_t(a.rows));
        const Offset alone = iterations_of_one(problem.matrix, b, problem.coordinates);
        PreconditionerInputs inputs;
        inputs.coordinates = problem.coordinates;
        for (const int size : {1, 2, 3}) {
            SCOPED_TRACE(size);
            const GroupSolved found = solve_on(size, problem.matrix, b, inputs);
            const DeviceGroupReport& report = found.report;
            ASSERT_EQ(report.solves.size(), 1U);
            EXPECT_EQ(report.solves[0].status, Status::converged);
            EXPECT_NEAR(double(report.solves[0].iterations), double(alone), 2);
            EXPECT_LE(relative_residual(a, b, found.x), 1.001e-8);
            EXPECT_EQ(report.solver, "fcg");
            EXPECT_EQ(report.preconditioner, "amg,block=" + std::to_string(given.block));
            EXPECT_EQ(report.partition, given.partition);
            EXPECT_EQ(report.setup.values.front().name, "amg");
            ASSERT_EQ(int(report.devices.size()), size);
            Offset rows = 0, nonzeros = 0;
            for (const DeviceShare& share : report.devices) {
                EXPECT_NEAR(double(share.rows), double(a.rows) / size, given.block);
                EXPECT_EQ(share.neighbours > 0, size > 1);
                EXPECT_EQ(share.received_bytes > 0, size > 1);
                EXPECT_GT(share.wait_seconds, 0);
                EXPECT_GT(share.peak_memory_bytes, 12 * share.nonzeros);
                rows += share.rows;
                nonzeros += share.nonzeros;
            }
            EXPECT_EQ(rows, a.rows);
            EXPECT_EQ(nonzeros, a.nonzeros);
        }
    }
}

TEST(solve_on_devices, inputs_and_options_of_the_text) {
    const auto problem = problems::generate<double>(host(), "elasticity2d:20");
    const CsrView<double> a = problem.matrix.view();
    auto random = generator();
    const auto b = random_vector<double>(random, std::size_t(a.rows));
    PreconditionerInputs inputs;
    inputs.coordinates = problem.coordinates;
    const GroupSolved given = solve_on(2, problem.matrix, b, inputs);

    const std::string file = testing::TempDir() + "devices_coordinates.mtx";
    const NodeCoordinates& points = problem.coordinates;
    const std::size_t nodes = points.values.size() / 2;
    std::ofstream out(file);
    out.precision(17);
    out << "%%MatrixMarket matrix array real general\n" << nodes << " 2\n";
    for (std::size_t axis = 0; axis < 2; ++axis) {
        for (std::size_t k = 0; k < nodes; ++k) out << points.values[2 * k + axis] << '\n';
    }
    out.close();
    const GroupSolved read =
        solve_on(2, problem.matrix, b, {}, {}, MethodConfig("auto", "amg,coordinates=" + file));
    EXPECT_EQ(read.report.partition, "coordinates");
    EXPECT_EQ(read.x, given.x);
    std::filesystem::remove(file);

    // The modes that coordinates would give, without them.
    PreconditionerInputs modes;
    modes.near_null = rigid_body_modes(points);
    const GroupSolved by_modes = solve_on(2, problem.matrix, b, modes);
    EXPECT_EQ(by_modes.report.partition, "ordering");
    EXPECT_TRUE(by_modes.report.setup.warnings.empty());
    EXPECT_NEAR(double(by_modes.report.solves[0].iterations),
                double(given.report.solves[0].iterations), 2);

    const GroupSolved plain = solve_on(2, problem.matrix, b, {}, {.rtol = 1e-5},
                                       MethodConfig("cg", "amg,smoother=chebyshev4_optimal:3"));
    EXPECT_EQ(plain.report.solver, "cg");
    expect_contains(plain.report.preconditioner, "smoother=chebyshev4_optimal:3");
    EXPECT_LE(relative_residual(a, b, plain.x), 1.001e-5);
    ASSERT_EQ(plain.report.setup.warnings.size(), 1U);
    expect_contains(plain.report.setup.warnings[0], "no coordinates are known");
}

TEST(solve_on_devices, several_right_hand_sides_and_their_starts) {
    const auto problem = problems::generate<double>(host(), "poisson2d:30");
    const auto n = std::size_t(problem.matrix.rows());
    auto random = generator();
    const auto b = random_vector<double>(random, 2 * n);
    const GroupSolved once = solve_on(2, problem.matrix, b, {}, {.rtol = 1e-9});
    ASSERT_EQ(once.report.solves.size(), 2U);
    for (const std::size_t j : {0, 1}) {
        const auto part = [&](const std::vector<double>& all) {
            return std::span(all).subspan(j * n, n);
        };
        EXPECT_LE(relative_residual(problem.matrix.view(), part(b), part(once.x)), 1.001e-9);
    }
    const GroupSolved again =
        solve_on(2, problem.matrix, b, {}, {.rtol = 1e-8}, MethodConfig(), once.x);
    for (const SolveReport& each : again.report.solves) EXPECT_EQ(each.iterations, 0);
    EXPECT_EQ(again.x, once.x);
}

TEST(device_group_solver, solves_and_updates) {
    const auto problem = problems::generate<double>(host(), "elasticity3d:12");
    const CsrMatrix<double>& a = problem.matrix;
    CsrMatrix<double> other = copy_to(host(), a);
    for (Index i = 0; i < a.rows(); ++i) {
        for (Offset k = a.view().row_offsets[i]; k < a.view().row_offsets[i + 1]; ++k) {
            other.values().data()[k] *= a.view().column_indices[k] == i ? 3.5 : 3;
        }
    }
    auto random = generator();
    const Offset n = a.rows();
    const auto b = random_vector<double>(random, std::size_t(2 * n));
    PreconditionerInputs inputs;
    inputs.coordinates = problem.coordinates;
    DeviceGroupSolver solver(group_of(3));
    EXPECT_FALSE(solver.has_matrix());
    const auto solved = [&] {
        std::vector<double> x(b.size());
        const auto reports = solver.solve(Vectors<const double>(b.data(), n, 2, n),
                                          Vectors<double>(x.data(), n, 2, n));
        EXPECT_EQ(reports.size(), 2U);
        for (const SolveReport& report : reports) EXPECT_EQ(report.status, Status::converged);
        return x;
    };
    const auto residual = [&](const CsrMatrix<double>& matrix, const std::vector<double>& x) {
        return relative_residual(matrix.view(), std::span(b).first(std::size_t(n)),
                                 std::span(x).first(std::size_t(n)));
    };
    EXPECT_THROW(solved(), InvalidArgument);
    solver.setup(a.view(), inputs);
    const std::vector<double> first = solved();
    EXPECT_EQ(solved(), first);
    EXPECT_LE(residual(a, first), 1.001e-8);
    EXPECT_EQ(solve_on(3, a, b, inputs).x, first);
    solver.update(other.view());
    EXPECT_EQ(solver.report().devices.size(), 3U);
    EXPECT_TRUE(solver.report().solves.empty());
    const std::vector<double> second = solved();
    EXPECT_LE(residual(other, second), 1.001e-8);
    EXPECT_EQ(solver.report().solves.size(), 2U);
    solver.update(a.view());
    EXPECT_EQ(solved(), first);

    // Updates that fail, and setups after them.
    CsrMatrix<double> bad = copy_to(host(), a);
    for (Offset k = a.view().row_offsets[4]; k < a.view().row_offsets[5]; ++k) {
        if (a.view().column_indices[k] == 4) bad.values().data()[k] = -1;
    }
    EXPECT_THROW(solver.update(bad.view()), InvalidArgument);
    EXPECT_TRUE(solver.has_matrix());
    EXPECT_EQ(solved(), first);
    // A diagonal block that is not definite, of a positive diagonal.
    for (const auto& [row, column] : {std::pair<Index, Index>{3, 4}, {4, 3}, {4, 4}}) {
        for (Offset k = a.view().row_offsets[row]; k < a.view().row_offsets[row + 1]; ++k) {
            if (a.view().column_indices[k] == column) {
                bad.values().data()[k] = row == column ? 1e-3 : 1e3;
            }
        }
    }
    EXPECT_THROW(solver.update(bad.view()), NotPositiveDefinite);
    EXPECT_FALSE(solver.has_matrix());
    EXPECT_THROW(solved(), InvalidArgument);
    {
        const TimeLimit limit(0);
        EXPECT_THROW(solver.update(a.view()), Stopped);
    }
    solver.update(a.view());
    EXPECT_EQ(solved(), first);
    {
        const TimeLimit limit(0);
        EXPECT_THROW(solver.setup(a.view(), inputs), Stopped);
    }
    EXPECT_FALSE(solver.has_matrix());
    expect_contains(message_of<InvalidArgument>([&] { solver.update(a.view()); }), "call setup");
    DeviceGroupSolver moved = std::move(solver);
    moved.setup(a.view(), inputs);
    solver = std::move(moved);
    EXPECT_EQ(solved(), first);
    EXPECT_THROW(static_cast<void>(moved.has_matrix()), InvalidArgument);
}

TEST(device_group_solver, patterns_of_as_many_entries_are_refused) {
    const Index n = 90;
    // A chain of rows in their order, or with two of them exchanged.
    const auto chain = [](bool exchanged) {
        return matrix_of<double>(n, [=](Index i, Index j) {
            const auto place = [=](Index k) {
                if (!exchanged || (k != 0 && k != n / 4)) return k;
                return k == 0 ? n / 4 : 0;  // Both belong to the first rank.
            };
            const Index distance = std::abs(place(i) - place(j));
            return distance == 0 ? 4.0 : distance == 1 ? -1.0 : 0.0;
        });
    };
    const CsrMatrix<double> a = chain(false), other = chain(true);
    ASSERT_EQ(a.nonzeros(), other.nonzeros());
    DeviceGroupSolver solver(group_of(2));
    solver.setup(a.view());
    expect_contains(message_of<InvalidArgument>([&] { solver.update(other.view()); }), "pattern");
    solver.update(a.view());
    EXPECT_TRUE(solver.has_matrix());
}

TEST(device_group_solver, setups_that_end_anywhere_leave_no_matrix) {
    const auto problem = problems::generate<double>(host(), "poisson2d:44");
    DeviceGroupSolver solver(group_of(4));
    for (int step = 0; step < 60; ++step) {
        const TimeLimit limit(step * 5e-4);
        try {
            solver.setup(problem.matrix.view());
            continue;
        } catch (const Stopped&) {
        }
        EXPECT_FALSE(solver.has_matrix());
        const UseTimeLimit none(nullptr);
        EXPECT_THROW(solver.update(problem.matrix.view()), InvalidArgument);
    }
}

TEST(device_group_solver, observers) {
    const auto problem = problems::generate<double>(host(), "poisson2d:60");
    const Offset n = problem.matrix.rows();
    const std::vector<double> b(std::size_t(n), 1);
    DeviceGroupSolver solver(group_of(2));
    solver.setup(problem.matrix.view());
    std::vector<double> x(b.size(), 0.5);
    const auto solve_with = [&](const SolveOptions& options) {
        return solver.solve(Vectors<const double>(b.data(), n, 1, n),
                            Vectors<double>(x.data(), n, 1, n), options);
    };
    SolveOptions options;
    options.observer = [](const Progress&) -> bool { throw OutOfMemory("in the observer"); };
    EXPECT_THROW(solve_with(options), OutOfMemory);
    EXPECT_EQ(x, std::vector<double>(b.size(), 0.5));
    options.observer = [&](const Progress&) {
        EXPECT_THROW(solver.update(problem.matrix.view()), InUse);
        EXPECT_THROW(solve_with({}), InUse);
        return true;
    };
    const auto reports = solve_with(options);
    EXPECT_EQ(reports[0].status, Status::converged);
    std::ranges::fill(x, 0.5);
    options = {.max_seconds = 0};
    EXPECT_EQ(solve_with(options)[0].status, Status::max_seconds);
    EXPECT_TRUE(solver.has_matrix());
}

TEST(solve_on_devices, observers_and_time_limits) {
    const auto problem = problems::generate<double>(host(), "poisson2d:60");
    const std::vector<double> b(std::size_t(problem.matrix.rows()), 1), start(b.size(), 0.5);
    std::vector<Offset> seen;
    SolveOptions options;
    options.observer = [&](const Progress& progress) {
        seen.push_back(progress.iterations);
        return progress.iterations < 3;
    };
    const GroupSolved stopped = solve_on(3, problem.matrix, b, {}, options);
    EXPECT_EQ(stopped.report.solves[0].status, Status::interrupted);
    EXPECT_EQ(stopped.report.solves[0].iterations, 3);
    EXPECT_EQ(std::ranges::count(seen, 3), 1);

    for (const double seconds : {0.0, 1e-9}) {
        const GroupSolved late =
            solve_on(3, problem.matrix, b, {}, {.max_seconds = seconds}, MethodConfig(), start);
        EXPECT_EQ(late.report.solves[0].status, Status::max_seconds);
        EXPECT_EQ(late.x, start);
    }

    {
        const TimeLimit limit(0);
        EXPECT_THROW(solve_on(2, problem.matrix, b), Stopped);
    }

    options.observer = [](const Progress&) -> bool { throw OutOfMemory("in the observer"); };
    std::vector<double> x = start;
    const Offset n = problem.matrix.rows();
    EXPECT_THROW(solve(group_of(2), MethodConfig(), problem.matrix.view(),
                       Vectors<const double>(b.data(), n, 1, n), Vectors<double>(x.data(), n, 1, n),
                       {}, options),
                 OutOfMemory);
    EXPECT_EQ(x, start);
}

TEST(solve_on_devices, says_what_is_not_possible) {
    const auto problem = problems::generate<double>(host(), "poisson2d:6");
    const std::vector<double> b(std::size_t(problem.matrix.rows()), 1);
    const auto refused = [&](const CsrMatrix<double>& matrix, const MethodConfig& method,
                             const SolveOptions& options, const PreconditionerInputs& inputs = {}) {
        const std::vector<double> ones(std::size_t(matrix.rows()), 1);
        return message_of<InvalidArgument>(
            [&] { solve_on(2, matrix, ones, inputs, options, method); });
    };
    const CsrMatrix<double>& a = problem.matrix;
    expect_contains(refused(a, MethodConfig("gmres:30"), {}), "fcg or cg, not gmres");
    expect_contains(refused(a, MethodConfig("cg", "jacobi"), {}), "amg, not jacobi");
    expect_contains(refused(a, MethodConfig("cg", "none"), {}), "amg, not none");
    expect_contains(refused(a, MethodConfig("cg", "amg", "sell"), {}), "leave out format");
    expect_contains(refused(a, MethodConfig(), {.left_preconditioning = true}), "on the right");
    const auto generated = [](const char* text) {
        return problems::generate<double>(host(), text).matrix;
    };
    expect_contains(refused(generated("convection2d:8"), MethodConfig(), {}), "is not symmetric");
    expect_contains(refused(generated("stokes:6"), MethodConfig(), {}), "diagonal entries");
    PreconditionerInputs inputs;
    inputs.coordinates = NodeCoordinates{3, {1, 2, 3}};
    expect_contains(refused(a, MethodConfig(), {}, inputs), "coordinates");
    std::vector<Index> unknowns(36);  // The last unknown of the last node is missing.
    std::iota(unknowns.begin(), unknowns.end(), 0);
    inputs.coordinates = NodeCoordinates{1, std::vector<double>(37, 0.5), unknowns};
    expect_contains(refused(a, MethodConfig(), {}, inputs), "nodes lack unknowns");
    inputs.coordinates = {};
    inputs.near_null = NearNullSpace{1, {1, 2, 3}};
    expect_contains(refused(a, MethodConfig(), {}, inputs), "near-null vectors must have 36 rows");
    expect_contains(message_of<InvalidArgument>([&] {
                        solve(group_of(2), MethodConfig(), a.view(),
                              Vectors<const double>(b.data(), 35, 1, 35), Vectors<double>());
                    }),
                    "b must have 36 elements, not 35");
}

TEST(solve_on_devices, tiny_systems) {
    for (const Index n : {0, 1, 2}) {
        std::vector<std::vector<Index>> pattern;
        std::vector<std::vector<double>> values;
        for (Index i = 0; i < n; ++i) {
            pattern.push_back({i});
            values.push_back({2.0});
        }
        const GroupSolved found = solve_on(3, make_csr<double>(n, n, pattern, values),
                                           std::vector<double>(std::size_t(n), 1));
        EXPECT_EQ(found.report.solves.at(0).status, Status::converged);
        for (const double value : found.x) EXPECT_NEAR(value, 0.5, 1e-8);
    }
}

/// One block of 23 equal rows: no node has as many unknowns.
TEST(solve_on_devices, a_dense_matrix) {
    const CsrMatrix<double> dense =
        matrix_of<double>(23, [](Index i, Index j) { return i == j ? 31.0 : 1.0; });
    const GroupSolved found = solve_on(2, dense, std::vector<double>(23, 53));
    EXPECT_EQ(found.report.solves.at(0).status, Status::converged);
    for (const double value : found.x) EXPECT_NEAR(value, 1, 1e-6);
}

}  // namespace tessera::test
