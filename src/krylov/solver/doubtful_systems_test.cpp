#include <array>
#include <cmath>
#include <map>

#include "krylov/test_systems.hpp"
#include "tessera/detail/accurate_residual.hpp"
#include "tessera/problems.hpp"
#include "tessera/solver.hpp"

// Systems at the limits of double precision, by auto.
namespace tessera::test {

namespace {

struct Solved {
    SolveReport report;
    std::vector<double> x;
    std::string preconditioner;
    int failed = 0;          ///< Attempts.
    int failed_factors = 0;  ///< Attempts with exact factors that failed after some iterations.
    int by_lu = 0;           ///< Attempts with LU of a symmetric matrix.
};

Solved solve_auto(const CsrMatrix<double>& matrix, const std::vector<double>& right) {
    const CsrMatrix<double> placed = copy_to(context(), matrix);
    const Buffer<double> b = copy_to_buffer(context(), right);
    Buffer<double> x = copy_to_buffer(context(), std::vector<double>(right.size()));
    Solved solved;
    Solver<double> solver(context());
    solver.on_attempt([&](const AttemptEvent& event) {
        solved.by_lu += event.kind == AttemptEvent::Kind::ready &&
                        event.attempt.preconditioner.ends_with("symmetric=off");
        solved.failed += event.kind == AttemptEvent::Kind::failed;
        solved.failed_factors += event.kind == AttemptEvent::Kind::failed &&
                                 event.attempt.preconditioner.starts_with("direct") &&
                                 event.outcome.starts_with("accuracy_lost");
    });
    solver.setup(placed);
    solved.report = solver.solve(b.view(), x.view());
    solved.x = copy_to_host(context(), x);
    solved.preconditioner = solver.attempts()[std::size_t(solver.attempt())].preconditioner;
    return solved;
}

double accurate_relative_residual(const CsrMatrix<double>& matrix, const std::vector<double>& b,
                                  const std::vector<double>& x) {
    return norm(accurate_residual<double>(host(), matrix.view(), b, x)) / norm(b);
}

/// Elements of x grow by 2.1 from row to row: A x has rounding errors that are a share of b, which
/// a residual in plain double precision repeats and so does not show.
TEST(doubtful_systems, rounding_errors_of_a_product_do_not_hide_the_residual) {
    for (const Index n : {32, 36, 40}) {
        const auto matrix = matrix_of<double>(n, [](Index i, Index j) {
            return i == j ? 1.0 : i == j + 1 ? -2.1 : 0.0;
        });
        const std::vector<double> b(std::size_t(n), 1.0 / 3);
        const Solved solved = solve_auto(matrix, b);
        const double residual = accurate_relative_residual(matrix, b, solved.x);
        ASSERT_GT(residual, 1e-8);
        EXPECT_EQ(solved.report.status, Status::rounding_limit) << solved.report.message;
        EXPECT_NEAR(solved.report.true_relative_residual, residual, 0.01 * residual);
    }
}

/// Entries (i, j), j >= i, of a symmetric matrix.
struct Entry {
    Index i, j;
    double value;
};

CsrMatrix<double> symmetric_of(Index n, const std::vector<Entry>& entries) {
    std::vector<double> dense(std::size_t(n) * std::size_t(n), 0.0);
    for (const auto& [i, j, value] : entries) {
        dense[std::size_t(i * n + j)] = dense[std::size_t(j * n + i)] = value;
    }
    return matrix_of<double>(n, [&](Index i, Index j) { return dense[std::size_t(i * n + j)]; });
}

/// Two stages of an optimal control problem: rounding errors of row 7 are larger than the
/// residuals of the others, which one solve with exact factors leaves.
TEST(doubtful_systems, exact_factors_go_on_until_each_row_is_solved) {
    const auto matrix = symmetric_of(14, {{0, 0, 1.0894894879922463},
                                          {0, 8, -1.5970711271542528},
                                          {0, 9, 0.08706672487430957},
                                          {0, 10, 0.712432245763122},
                                          {1, 1, 1162.7337658811496},
                                          {1, 8, -1},
                                          {1, 11, -1.2735832192732435},
                                          {1, 13, -1.1783788297741036},
                                          {2, 9, -1},
                                          {2, 11, 1.7789290475302926},
                                          {2, 12, 1},
                                          {3, 3, 442518.6582947214},
                                          {3, 10, -1},
                                          {3, 13, 1.6224934065648098},
                                          {4, 11, -1.5970711271542528},
                                          {4, 12, 0.08706672487430957},
                                          {4, 13, 0.712432245763122},
                                          {5, 5, 1.0314919555760693e-09},
                                          {5, 11, -1},
                                          {6, 6, 124420130.19589165},
                                          {6, 12, -1},
                                          {7, 7, 209411786.58166048},
                                          {7, 13, -1}});
    const std::vector<double> b = {
        19049.647411033846,     -1537137.480488472,     0.0008071392212932798, 2.0147631737229466,
        -0.0004514545809759744, -0.0003264864689314423, 194.43847459594846,    126006503368669.97,
        1332.4034055903073,     2423.357687862235,      -0.06315525828093768,  -174118.52206127677,
        -2423.403889662675,     -600146.7915529101};
    const Solved solved = solve_auto(matrix, b);
    EXPECT_EQ(solved.report.status, Status::converged) << solved.report.message;
    EXPECT_LE(solved.report.backward_error, 1e-14);
}

/// Fluxes through the edges of a grid that is closed, and pressures in its cells, which are free by
/// a constant; permeabilities differ by up to 1e12.
CsrMatrix<double> closed_reservoir(std::mt19937_64& random, Index side) {
    std::uniform_real_distribution<double> exponent(-6, 6);
    const Index fluxes = side * (side - 1), n = 2 * fluxes + side * side;
    std::vector<Entry> entries;
    const auto add = [&](Index i, Index j, double value) {
        for (Entry& entry : entries) {
            if (entry.i == i && entry.j == j) {
                entry.value += value;
                return;
            }
        }
        entries.push_back({i, j, value});
    };
    for (Index row = 0; row < side; ++row) {
        for (Index column = 0; column < side; ++column) {
            const double resistance = std::pow(10, exponent(random));
            const Index cell = 2 * fluxes + row * side + column;
            for (const bool is_upward : {false, true}) {
                const Index along = is_upward ? row : column, line = is_upward ? column : row;
                const Index first = (is_upward ? fluxes : 0) + line * (side - 1);
                const bool has_before = along > 0, has_after = along + 1 < side;
                const Index before = first + along - 1, after = first + along;
                if (has_before) add(before, before, resistance / 3);
                if (has_after) add(after, after, resistance / 3);
                if (has_before && has_after) add(before, after, resistance / 6);
                if (has_before) add(before, cell, -1);
                if (has_after) add(after, cell, 1);
            }
        }
    }
    return symmetric_of(n, entries);
}

TEST(doubtful_systems, no_solution_of_a_singular_system_is_larger_than_b_in_its_residual) {
    auto random = generator();
    for (int trial = 0; trial < 30; ++trial) {
        const auto matrix = closed_reservoir(random, 5);
        const auto b = random_vector<double>(random, std::size_t(matrix.rows()));
        const Solved solved = solve_auto(matrix, b);
        if (!is_solved(solved.report.status)) continue;
        EXPECT_LT(accurate_relative_residual(matrix, b, solved.x), 1)
            << trial << " " << solved.report.message;
    }
}

/// Two plates in contact with friction, by a penalty of 1e12: two unknowns at the nodes of two
/// grids of `side` x `side`, of which the outer edges are held.
CsrMatrix<double> contact(std::mt19937_64& random, Index side) {
    constexpr double penalty = 1e12, friction = 0.3 * penalty;
    const Index nodes = side * side, n = 4 * nodes;
    std::vector<std::map<Index, double>> rows(static_cast<std::size_t>(n));
    const auto entry = [&](Index i, Index j) -> double& { return rows[std::size_t(i)][j]; };
    const double material[2][2] = {{2, 0.3}, {0.3, 1}};
    for (Index plate = 0; plate < 2; ++plate) {
        const double stiffness = std::pow(10, std::uniform_real_distribution<>(-2, 2)(random));
        const auto join = [&](Index p, Index q) {
            for (Index e = 0; e < 4; ++e) {
                const double value = stiffness * material[e / 2][e % 2];
                const auto at = [&](Index node, Index k) { return 2 * (plate * nodes + node) + k; };
                entry(at(p, e / 2), at(p, e % 2)) += value;
                entry(at(q, e / 2), at(q, e % 2)) += value;
                entry(at(p, e / 2), at(q, e % 2)) -= value;
                entry(at(q, e / 2), at(p, e % 2)) -= value;
            }
        };
        for (Index node = 0; node < nodes; ++node) {
            if ((node + 1) % side != 0) join(node, node + 1);
            if (node + side < nodes) join(node, node + side);
        }
    }
    for (Index k = 0; k < side; ++k) {
        const Index lower = 2 * (nodes - side + k) + 1, upper = 2 * (nodes + k) + 1;
        for (const Index row : {lower, upper}) {
            const double sign = row == lower ? 1 : -1;
            entry(row, lower) += sign * penalty;
            entry(row, upper) -= sign * penalty;
            if (random() % 2 == 0) continue;
            entry(row - 1, lower) += sign * friction;
            entry(row - 1, upper) -= sign * friction;
        }
        for (Index held : {2 * k, 2 * k + 1, n - 1 - 2 * k, n - 2 - 2 * k}) {
            entry(held, held) += penalty;
        }
    }
    return matrix_of_rows(rows);
}

/// Rounding errors of A x at the contact are larger than what other rows allow.
TEST(doubtful_systems, refinement_by_accurate_residuals_solves_stiff_contacts) {
    auto random = generator();
    for (int trial = 0; trial < 20; ++trial) {
        const auto matrix = contact(random, 7);
        const auto b = random_vector<double>(random, std::size_t(matrix.rows()));
        const Solved solved = solve_auto(matrix, b);
        EXPECT_TRUE(is_solved(solved.report.status)) << trial << " " << solved.report.message;
        EXPECT_LE(solved.report.backward_error, 1e-12) << trial;
    }
}

/// Iterations make the norm of the residual small, not the rows beside the contact.
TEST(doubtful_systems, exact_factors_follow_a_solution_that_is_unbalanced) {
    auto random = generator();
    const auto matrix = contact(random, 100);
    const auto exact = product(matrix, random_vector<double>(random, std::size_t(matrix.rows())));
    const Solved solved = solve_auto(matrix, std::vector<double>(exact.begin(), exact.end()));
    EXPECT_TRUE(is_solved(solved.report.status)) << solved.report.message;
    EXPECT_TRUE(solved.preconditioner.starts_with("direct")) << solved.preconditioner;
    EXPECT_LE(solved.failed, 1);
}

/// In float a pivot of the size of rounding errors is no sign that x has no digits.
TEST(doubtful_systems, small_pivots_in_float_do_not_make_a_matrix_singular) {
    const auto matrix = problems::generate<float>(host(), Spec("circuit:50")).matrix;
    const CsrMatrix<float> placed = copy_to(context(), matrix);
    const std::vector<float> ones(std::size_t(matrix.rows()), 1.0F);
    const Buffer<float> b = copy_to_buffer(context(), ones);
    Buffer<float> x = copy_to_buffer(context(), std::vector<float>(ones.size()));
    Solver<float> solver(context());
    solver.setup(placed);
    const SolveReport report = solver.solve(b.view(), x.view());
    EXPECT_TRUE(is_solved(report.status)) << report.message;
    EXPECT_LE(report.backward_error, 1e-5);
}

/// A single solve has an error of 2 %, what a second one adds is 4e-4 or, after one more step of
/// the refinement, 8e-6 of x.
TEST(doubtful_systems, steps_of_a_refinement_do_not_decide_what_is_singular) {
    const auto body = problems::generate<float>(host(), Spec("cantilever3d:3,length=20")).matrix;
    const CsrMatrix<float> placed = copy_to(context(), body);
    Solver<float> solver(context(), "richardson", "direct");
    solver.setup(placed);
    auto random = generator();
    std::uniform_real_distribution<float> load(0, 1);
    for (int run = 0; run < 8; ++run) {
        std::vector<float> right(std::size_t(body.rows()));
        for (float& each : right) each = load(random);
        const Buffer<float> b = copy_to_buffer(context(), right);
        Buffer<float> x = copy_to_buffer(context(), std::vector<float>(right.size()));
        const SolveReport report = solver.solve(b.view(), x.view());
        EXPECT_TRUE(is_solved(report.status)) << report.message;
    }
}

/// Regular, though not in float.
TEST(doubtful_systems, least_squares_are_said_to_be_those_of_the_precision) {
    const auto line = problems::generate<float>(host(), Spec("tridiagonal:100000"));
    const CsrMatrix<float> placed = copy_to(context(), line.matrix);
    const Buffer<float> b =
        copy_to_buffer(context(), std::vector<float>(std::size_t(line.matrix.rows()), 1.0F));
    Buffer<float> x = copy_to_buffer(context(), std::vector<float>(b.size()));
    Solver<float> solver(context(), "minres", "none");
    solver.setup(placed);
    const SolveReport report = solver.solve(b.view(), x.view());
    EXPECT_FALSE(is_solved(report.status));
    EXPECT_NE(report.message.find("higher precision"), std::string::npos) << report.message;
}

TEST(doubtful_systems, a_small_residual_of_a_singular_system_has_its_row_named) {
    const CsrMatrix<double> matrix =
        copy_to(context(), make_csr<double>(3, 3, {{0}, {1, 2}, {1, 2}}, {{1e12}, {1, 1}, {1, 1}}));
    const Buffer<double> b = copy_to_buffer(context(), std::vector<double>{1e12, 1, 0});
    Buffer<double> x = copy_to_buffer(context(), std::vector<double>(3));
    Solver<double> solver(context(), "richardson", "direct");
    solver.setup(matrix);
    const SolveReport report = solver.solve(b.view(), x.view());
    EXPECT_EQ(report.status, Status::singular);
    EXPECT_LE(report.true_relative_residual, 1e-8);
    EXPECT_NE(report.message.find("but in row 2 the residual is 1.00e+00"), std::string::npos)
        << report.message;
}

/// Squares of x and of its residual leave the range of double.
TEST(doubtful_systems, norms_beyond_the_squares_of_the_type) {
    constexpr Index n = 1100;
    const auto matrix = matrix_of<double>(n, [](Index i, Index j) {
        return i == j ? 1.0 : i == j + 1 ? -1.9 : j == i + 1 ? 0.1 : 0.0;
    });
    const Solved solved = solve_auto(matrix, std::vector<double>(n, 1.0));
    EXPECT_EQ(solved.report.status, Status::rounding_limit) << solved.report.message;
    EXPECT_LE(solved.report.backward_error, gamma<double>(8));
    EXPECT_TRUE(std::isfinite(solved.report.true_relative_residual));
    EXPECT_GT(std::abs(solved.x.front()) + std::abs(solved.x.back()), 1e160);
}

/// The fourth power of a second difference, whose condition number is beyond the inverse of the
/// roundoff.
TEST(doubtful_systems, exact_factors_that_do_not_suffice_are_not_made_twice) {
    constexpr Index n = 2000;
    const auto row = std::to_array<double>({70, -56, 28, -8, 1});
    const auto matrix = matrix_of<double>(n, [&](Index i, Index j) {
        const auto distance = std::size_t(std::abs(i - j));
        return distance < row.size() ? row[distance] : 0.0;
    });
    auto random = generator();
    const Solved solved = solve_auto(matrix, random_vector<double>(random, n));
    EXPECT_FALSE(is_solved(solved.report.status)) << solved.report.message;
    EXPECT_EQ(solved.failed_factors, 1);
}

/// Flows along the edges of a graph of a ring and chords, with weights of 1e-12 to 1e12, and
/// potentials of its nodes from number `first` on: without 0 they are free by a constant.
CsrMatrix<double> network(std::mt19937_64& random, Index nodes, Index first = 1) {
    std::uniform_real_distribution<double> exponent(-12, 12);
    std::vector<std::pair<Index, Index>> edges;
    for (Index node = 0; node < nodes; ++node) {
        edges.emplace_back(node, (node + 1) % nodes);
        if (random() % 10 >= 3) continue;
        edges.emplace_back(node, (node + 2 + Index(random() % 6)) % nodes);
    }
    const auto count = Index(edges.size());
    std::vector<Entry> entries;
    for (Index e = 0; e < count; ++e) {
        const auto [from, to] = edges[std::size_t(e)];
        entries.push_back({e, e, std::pow(10, exponent(random))});
        if (from >= first) entries.push_back({e, count + from - first, 1});
        if (to >= first) entries.push_back({e, count + to - first, -1});
    }
    return symmetric_of(count + nodes - first, entries);
}

TEST(doubtful_systems, lu_solves_what_symmetric_factors_find_singular) {
    auto random = generator();
    int by_lu = 0;
    for (int trial = 0; trial < 100; ++trial) {
        const auto matrix = network(random, 60);
        const auto b = random_vector<double>(random, std::size_t(matrix.rows()));
        const Solved solved = solve_auto(matrix, b);
        EXPECT_TRUE(is_solved(solved.report.status)) << trial << " " << solved.report.message;
        EXPECT_LE(solved.report.backward_error, 1e-9);
        by_lu += solved.preconditioner.ends_with("symmetric=off");
    }
    EXPECT_GT(by_lu, 0) << "all were easy";
}

TEST(doubtful_systems, lu_is_left_out_where_a_null_vector_excludes_solutions) {
    auto random = generator();
    int singular = 0;
    for (int trial = 0; trial < 20; ++trial) {
        const auto matrix = network(random, 60, 0);
        const auto b = random_vector<double>(random, std::size_t(matrix.rows()));
        const Solved solved = solve_auto(matrix, b);
        singular += solved.report.status == Status::singular;
        // A reduced system, as on a GPU, has another right-hand side.
        if (solved.report.message.starts_with("In the reduced system")) continue;
        EXPECT_EQ(solved.by_lu, 0) << trial << " " << solved.report.message;
    }
    EXPECT_GT(singular, 10);
}

/// Laplacians of two rings, one of them negative, with weights of 1 and 2 in turn: singular.
TEST(doubtful_systems, lu_is_left_out_where_the_diagonal_scales_both) {
    constexpr Index n = 100;
    const auto matrix = matrix_of<double>(n, [](Index i, Index j) {
        if (i == j) return i < n / 2 ? 3.0 : -3.0;
        const bool is_half = (i < n / 2) == (j < n / 2);
        const bool is_next = is_half && (i % (n / 2) + 1) % (n / 2) == j % (n / 2);
        const bool is_previous = is_half && (j % (n / 2) + 1) % (n / 2) == i % (n / 2);
        if (!is_next && !is_previous) return 0.0;
        const double weight = (is_next ? i : j) % 2 == 0 ? 1 : 2;
        return i < n / 2 ? -weight : weight;
    });
    auto random = generator();
    const Solved solved = solve_auto(matrix, random_vector<double>(random, n));
    EXPECT_FALSE(is_solved(solved.report.status)) << solved.report.message;
    EXPECT_EQ(solved.by_lu, 0) << solved.report.message;
}

}  // namespace

}  // namespace tessera::test
