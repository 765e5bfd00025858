#include "tessera/time_limit.hpp"

#include <malloc.h>

#include <atomic>
#include <chrono>
#include <limits>
#include <stdexcept>
#include <thread>

#include "base/parallel.hpp"
#include "base/scratch/scratch.hpp"
#include "support/messages.hpp"
#include "support/test.hpp"

namespace tessera::test {

namespace {

constexpr double endless = std::numeric_limits<double>::infinity();

TEST(time_limit, ends_loops_on_all_threads) {
    std::atomic<int> begun{0};
    const auto loop = [&] { parallel_tasks(3, 1000, [&](Offset) { ++begun; }); };
    {
        const TimeLimit limit(0);
        EXPECT_THROW(loop(), Stopped);
        EXPECT_EQ(begun, 0);
        EXPECT_EQ(limit.seconds_left(), 0);
    }
    loop();
    EXPECT_EQ(begun, 1000) << "the limit ended with its object";
}

/// Work on other threads ends by what the caller's thread is asked.
TEST(time_limit, asks_on_the_thread_of_the_caller) {
    const auto caller = std::this_thread::get_id();
    int asked = 0;
    const TimeLimit limit(endless, [&] {
        EXPECT_EQ(std::this_thread::get_id(), caller);
        return ++asked == 2;
    });
    std::atomic<bool> goes_on{true};
    EXPECT_THROW(parallel_parts(2, 2, 2,
                                [&](Offset, Offset, Offset) {
                                    while (goes_on) check_time();
                                }),
                 Stopped);
    EXPECT_EQ(asked, 2);
    EXPECT_EQ(limit.seconds_left(), endless);
}

TEST(time_limit, what_is_thrown_when_asked_passes_through) {
    const TimeLimit limit(endless, []() -> bool { throw std::runtime_error("asked"); });
    EXPECT_EQ(message_of<std::runtime_error>([] { parallel_tasks(1, 10, [](Offset) {}); }),
              "asked");
}

/// The other thread would work for seconds.
TEST(time_limit, what_is_thrown_when_asked_ends_all_threads) {
    std::atomic<int> at_work{0}, completed{0};
    const TimeLimit limit(endless, [&]() -> bool {
        if (at_work < 2) return false;
        throw std::runtime_error("asked");
    });
    const auto work = [&] {
        parallel_parts(2, 2, 2, [&](Offset, Offset, Offset) {
            ++at_work;
            const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
            while (std::chrono::steady_clock::now() < end) check_time();
            ++completed;
        });
    };
    EXPECT_EQ(message_of<std::runtime_error>(work), "asked");
    EXPECT_EQ(completed, 0);
}

TEST(time_limit, nested_limits_all_hold) {
    const TimeLimit outer(0);
    const TimeLimit inner(endless);
    EXPECT_THROW(check_time(), Stopped);
    const UseTimeLimit none(nullptr);
    check_time();
}

/// Arrays are touched when they are allocated, which a limit may end.
TEST(time_limit, an_allocation_that_it_ends_keeps_no_memory) {
    const std::size_t before = mallinfo2().hblkhd;  // In mapped blocks.
    {
        const TimeLimit limit(0);
        EXPECT_THROW(Scratch<double>(Context::cpu(2), Offset(1) << 24), Stopped);
    }
    EXPECT_EQ(mallinfo2().hblkhd, before);
}

}  // namespace

}  // namespace tessera::test
