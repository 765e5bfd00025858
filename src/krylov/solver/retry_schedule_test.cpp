#include "krylov/solver/retry_schedule.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "krylov/choice/test_choice.hpp"
#include "tessera/solver.hpp"

namespace tessera::test {

namespace {

const Attempt good{"richardson", "direct", "csr", 10, ""};
const Attempt other{"idr:8", "jacobi", "csr", 0, ""};

std::vector<int> updates_with_a_choice(RetrySchedule& retries, int updates,
                                       const Attempt& solving) {
    std::vector<int> found;
    for (int k = 1; k <= updates; ++k) {
        const bool is_due = retries.is_due_after_update();
        if (is_due) found.push_back(k);
        retries.solved_by(is_due ? solving : other);
    }
    return found;
}

TEST(retry_schedule, waits_twice_as_long_while_the_attempt_fails) {
    RetrySchedule retries;
    EXPECT_TRUE(updates_with_a_choice(retries, 5, good).empty());
    retries.attempt_failed(good);
    EXPECT_EQ(updates_with_a_choice(retries, 40, other), (std::vector<int>{1, 3, 7, 15, 31}));
}

TEST(retry_schedule, ends_where_the_attempt_solves_again) {
    RetrySchedule retries;
    for (int k = 0; k < 3; ++k) {
        retries.attempt_failed(good);
        EXPECT_EQ(updates_with_a_choice(retries, 10, good), std::vector<int>{1});
    }
}

TEST(retry_schedule, goes_on_with_each_update_until_one_is_solved) {
    RetrySchedule retries;
    retries.attempt_failed(good);
    EXPECT_TRUE(retries.is_due_after_update());
    EXPECT_TRUE(retries.is_due_after_update());
    retries.attempt_failed(other);
    retries.solved_by(good);
    EXPECT_FALSE(retries.is_due_after_update());
}

/// The matrix in other units of each row and column.
CsrMatrix<double> rescaled(CsrMatrix<double> matrix) {
    const CsrView<double> a = matrix.view();
    const auto unit = [](Index i) { return std::exp2(std::round(20 * std::sin(double(i)))); };
    for (Index i = 0; i < a.rows; ++i) {
        for (Offset k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) {
            matrix.values().data()[k] *= unit(i) * unit(a.column_indices[k]);
        }
    }
    return matrix;
}

/// Values that an update may bring by mistake.
CsrMatrix<double> spoiled(const CsrMatrix<double>& given, int kind) {
    CsrMatrix<double> matrix = copy_to(host(), given);
    const CsrView<double> a = matrix.view();
    double* const values = matrix.values().data();
    for (Index i = 0; i < a.rows; ++i) {
        for (Offset k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) {
            const Index j = a.column_indices[k];
            if (kind == 0 && k == 7) values[k] = std::numeric_limits<double>::quiet_NaN();
            if (kind == 1 && i == j) values[k] = -values[k];
            if (kind == 2) values[k] *= 1 + 0.3 * std::sin(double(k));
            if (kind == 3) values[k] = i == j ? 0.01 : i < j ? 1 : -1;
        }
    }
    return matrix;
}

/// A Solver by auto takes the attempt again that such values made it leave.
TEST(retry_schedule, leads_to_the_attempt_before_bad_values) {
    for (const char* text : {"stokes:8", "kkt:300", "circuit:10", "poisson2d:50", "qpband:300"}) {
        const CsrMatrix<double> matrix = rescaled(problem(text)),
                                good_values = copy_to(context(), matrix);
        const auto rows = std::size_t(matrix.rows());
        const Buffer<double> b = copy_to_buffer(context(), std::vector<double>(rows, 1.0));
        const auto solve = [&](Solver<double>& solver) {
            Buffer<double> x = copy_to_buffer(context(), std::vector<double>(rows));
            return solver.solve(b, x);
        };
        Solver<double> fresh(context());
        fresh.setup(good_values);
        const SolveReport expected = solve(fresh);
        for (int kind = 0; kind < 4; ++kind) {
            const CsrMatrix<double> bad_values = copy_to(context(), spoiled(matrix, kind));
            Solver<double> solver(context());
            solver.setup(good_values);
            for (int k = 0; k < 3; ++k) {
                try {
                    solver.update(bad_values);
                    solve(solver);
                } catch (const InvalidArgument&) {  // A setup has seen a NaN.
                    EXPECT_EQ(kind, 0);
                }
                solver.update(good_values);
                const SolveReport report = solve(solver);
                EXPECT_EQ(report.status, expected.status) << text << " " << report.message;
                EXPECT_LE(report.iterations, 3 * expected.iterations + 30) << text << " " << kind;
            }
        }
    }
}

}  // namespace

}  // namespace tessera::test
