#include "krylov/driver/iteration_batches.hpp"

#include <gtest/gtest.h>

#include "base/context_state.hpp"

namespace tessera::test {

namespace {

/// Counts its iterations.
class Counting final : public Method<double> {
  public:
    explicit Counting(int period) : period_(period) {}
    int period() const override { return period_; }
    std::span<double> residual(int) override { return {}; }
    Recurrence<double>* recurrence(int) override { return nullptr; }
    void start(int, int) override {}
    void iterate(int) override { ++iterations; }
    int iterations = 0;

  private:
    const int period_;
};

/// The batches of solves on what claims to be a GPU, with the seconds that an iteration takes.
class Batches {
  public:
    explicit Batches(double iteration, int period = 1, int interval = 0)
        : iteration_(iteration), interval_(interval), method_(period) {
        context_.state().device = 0;
    }
    ~Batches() { context_.state().device = -1; }

    /// The lengths of the batches of a solve.
    std::vector<int> solve(int iterations) {
        batches_.choose_length(interval_, method_.period(), 1);
        batches_.restart_period();
        return go_on(iterations);
    }
    void set_iteration(double seconds) { iteration_ = seconds; }
    std::vector<int> go_on(int iterations) {
        std::vector<int> lengths;
        for (const int first = method_.iterations; method_.iterations < first + iterations;) {
            const bool timed = batches_.next_is_timed();
            const int before = method_.iterations;
            batches_.enqueue(method_);
            lengths.push_back(method_.iterations - before);
            if (timed) batches_.took(lengths.back() * iteration_, method_.period());
        }
        return lengths;
    }

  private:
    double iteration_;
    const int interval_;
    const Context context_ = Context::cpu(1);
    Counting method_;
    IterationBatches<double> batches_{context_, true};
};

std::vector<int> joined(std::initializer_list<std::vector<int>> parts) {
    std::vector<int> all;
    for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
    return all;
}

}  // namespace

TEST(iteration_batches, direct_ones_are_short_and_graphs_follow) {
    EXPECT_EQ(Batches(1e-5).solve(64), (std::vector<int>{2, 2, 11, 11, 6, 16, 16}));
    EXPECT_EQ(Batches(5e-5).solve(64), joined({{2, 2}, std::vector<int>(5, 5), {3, 16, 16}}));
    EXPECT_EQ(Batches(3e-4).solve(46), joined({std::vector<int>(16, 2), {7, 7}}));
    // Graphs of expensive iterations take some 2 ms.
    EXPECT_EQ(Batches(1e-3).solve(36), joined({{2, 2}, std::vector<int>(28, 1), {2, 2}}));
}

TEST(iteration_batches, later_solves_go_on_where_earlier_ones_ended) {
    Batches batches(1e-3);
    EXPECT_EQ(batches.solve(12), joined({{2, 2}, std::vector<int>(8, 1)}));
    EXPECT_EQ(batches.solve(12), std::vector<int>(12, 1));
    EXPECT_EQ(batches.solve(12), joined({std::vector<int>(8, 1), {2, 2}}));
    EXPECT_EQ(batches.solve(12), std::vector<int>(6, 2));
}

TEST(iteration_batches, graphs_change_with_the_length) {
    Batches batches(5e-5);
    batches.solve(64);
    batches.set_iteration(1e-3);
    EXPECT_EQ(batches.go_on(22), (std::vector<int>{16, 2, 2, 2}));
}

TEST(iteration_batches, periods_and_given_intervals) {
    EXPECT_EQ(Batches(1e-5, 3).solve(45), (std::vector<int>{15, 15, 15}));
    EXPECT_EQ(Batches(1e-5, 40).solve(80), (std::vector<int>{16, 16, 8, 16, 16, 8}));
    EXPECT_EQ(Batches(1e-5, 1, 6).solve(18), (std::vector<int>{6, 6, 6}));
}

}  // namespace tessera::test
