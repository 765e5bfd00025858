#include "krylov/driver/iteration_batches.hpp"

#include <gtest/gtest.h>

#include "base/context_state.hpp"

namespace tessera::test {

namespace {

/// Counts its iterations.
class Counting final : public Method<double> {
  public:
    std::span<double> residual(int) override { return {}; }
    Recurrence<double>* recurrence(int) override { return nullptr; }
    void start(int, int) override {}
    void iterate(int) override { ++iterations; }
    int iterations = 0;
};

/// The batches of solves on what claims to be a GPU, with the seconds that an iteration takes.
class Batches {
  public:
    explicit Batches(double iteration) : iteration_(iteration) { context_.state().device = 0; }
    ~Batches() { context_.state().device = -1; }

    /// The lengths of the batches of a solve.
    std::vector<int> solve(int iterations) {
        batches_.choose_length(0, 1, 1);
        batches_.restart_period();
        std::vector<int> lengths;
        for (const int first = method_.iterations; method_.iterations < first + iterations;) {
            const bool timed = batches_.next_is_timed();
            const int before = method_.iterations;
            batches_.enqueue(method_);
            lengths.push_back(method_.iterations - before);
            if (timed) batches_.took(lengths.back() * iteration_, 1);
        }
        return lengths;
    }

  private:
    const double iteration_;
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
    // 7 iterations are a graph of 4 and 3 that run directly.
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

}  // namespace tessera::test
