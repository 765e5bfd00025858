#include "krylov/driver/batch_length.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace tessera::test {

namespace {

struct Counts {
    int changes = 0;
    Offset checks = 0;
    Offset iterations = 0;  ///< Those beyond the last one of a solve among them.
};

Counts run(BatchLength& length, const std::vector<Offset>& solves, int repetitions) {
    Counts sum;
    for (int k = 0; k < repetitions; ++k) {
        for (const Offset iterations : solves) {
            const int before = length.length();
            const Offset batches = (iterations + before - 1) / before;
            sum.checks += batches;
            sum.iterations += batches * before;
            length.solve_ended(iterations);
            sum.changes += length.length() != before;
        }
    }
    return sum;
}

}  // namespace

TEST(batch_length, equal_solves_waste_nothing) {
    for (const Offset iterations : {1, 3, 15, 16, 17, 20, 31, 32}) {
        BatchLength length;
        run(length, {iterations}, 2);
        const Counts later = run(length, {iterations}, 10);
        EXPECT_EQ(later.changes, 0) << iterations;
        // An eighth is not worth another graph.
        EXPECT_LE(7 * (later.iterations + later.checks), 8 * 10 * (iterations + 1)) << iterations;
    }
}

TEST(batch_length, long_solves_keep_the_usual_length) {
    BatchLength length;
    EXPECT_EQ(run(length, {815}, 5).changes, 0);
    EXPECT_EQ(length.length(), BatchLength::usual);
}

TEST(batch_length, one_short_solve_does_not_shorten_later_ones) {
    BatchLength length;
    run(length, {1}, 1);
    const Counts later = run(length, {200}, 10);
    EXPECT_EQ(later.changes, 0);
    EXPECT_EQ(later.checks, 10 * 13);
    BatchLength twice;
    run(twice, {1, 1}, 1);
    EXPECT_EQ(twice.length(), 1);
    run(twice, {200}, 4);
    EXPECT_GE(twice.length(), BatchLength::usual);
}

TEST(batch_length, alternating_solves_do_not_change_it_every_time) {
    for (const std::vector<Offset>& solves :
         {std::vector<Offset>{20, 30}, {10, 20}, {20, 21}, {40, 25, 3}, {16, 20}, {1, 32}}) {
        BatchLength length;
        const Counts all = run(length, solves, 20);
        EXPECT_LE(all.changes, 2) << solves[0] << ", " << solves[1];
    }
}

TEST(batch_length, expensive_iterations_stay_short) {
    BatchLength length;
    length.shorten(3);
    EXPECT_EQ(run(length, {7, 7, 20, 20}, 5).changes, 0);
    EXPECT_EQ(length.length(), 3);
}

}  // namespace tessera::test
