#include "distributed/thread_group.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <numeric>
#include <thread>

#include "base/check_time.hpp"
#include "distributed/test_ranks.hpp"
#include "support/messages.hpp"

namespace tessera::test {

namespace {

/// What each rank ends with; "" for one that does not throw.
std::vector<std::string> endings(int size, const std::function<void(const Communicator&)>& f,
                                 double max_wait_seconds = watchdog) {
    std::vector<std::string> messages(static_cast<std::size_t>(size));
    try {
        run_ranks(
            size,
            [&](const Communicator& communicator) {
                try {
                    f(communicator);
                } catch (const std::exception& error) {
                    messages[std::size_t(communicator.rank())] = error.what();
                    throw;
                }
            },
            max_wait_seconds);
    } catch (const std::exception&) {
        return messages;
    }
    return messages;
}

}  // namespace

TEST(thread_group, gathers_in_the_order_of_ranks) {
    for (const int size : {1, 2, 3, 8}) {
        on_ranks(size, [&](const Communicator& communicator, const Context& own) {
            ASSERT_EQ(communicator.size(), size);
            for (int round = 0; round < 20; ++round) {
                const int rank = communicator.rank();
                const std::vector<int> mine{100 * rank + round, -rank};
                const auto all = gather_to_host<int>(communicator, own, mine);
                ASSERT_EQ(all.size(), std::size_t(2 * size));
                for (int r = 0; r < size; ++r) {
                    ASSERT_EQ(all[std::size_t(2 * r)], 100 * r + round);
                    ASSERT_EQ(all[std::size_t(2 * r + 1)], -r);
                }
            }
        });
    }
}

TEST(thread_group, messages_arrive_in_the_order_sent) {
    on_ranks(3, [](const Communicator& communicator, const Context& own) {
        const int rank = communicator.rank();
        // Two messages to each other rank, of different lengths: from r to p, 10 r + p and then
        // twice -(10 r + p).
        std::vector<int> numbers;
        for (int peer = 0; peer < 3; ++peer) {
            const int number = 10 * rank + peer;
            numbers.insert(numbers.end(), {number, -number, -number});
        }
        Buffer<int> sent = copy_to_buffer(own, numbers),
                    received = copy_to_buffer(own, std::vector<int>(9));
        std::vector<Communicator::Message> send, receive;
        for (int peer = 0; peer < 3; ++peer) {
            if (peer == rank) continue;
            for (const auto& [first, count] : {std::pair{0, 1}, {1, 2}}) {
                send.push_back({peer, bytes_of(sent.data() + 3 * peer + first, count)});
                receive.push_back({peer, bytes_of(received.data() + 3 * peer + first, count)});
            }
        }
        communicator.begin(own, send, receive);
        communicator.end(own);
        const auto got = copy_to_host(own, received);
        for (int peer = 0; peer < 3; ++peer) {
            if (peer == rank) continue;
            const int number = 10 * peer + rank;
            EXPECT_EQ(got[std::size_t(3 * peer)], number);
            EXPECT_EQ(got[std::size_t(3 * peer + 1)], -number);
            EXPECT_EQ(got[std::size_t(3 * peer + 2)], -number);
        }
    });
}

TEST(thread_group, an_error_of_one_rank_ends_all) {
    const auto gather = [](const Communicator& communicator) {
        static_cast<void>(gather_to_host<int>(communicator, host(1), 1));
    };
    const auto fails_on_1 = [&](const Communicator& communicator) {
        gather(communicator);
        if (communicator.rank() == 1) throw OutOfMemory("no memory here");
        gather(communicator);
    };
    EXPECT_THROW(run_ranks(3, fails_on_1, watchdog), OutOfMemory);
    const std::vector<std::string> found = endings(3, fails_on_1);
    EXPECT_EQ(found[1], "no memory here");
    for (const int rank : {0, 2}) {
        EXPECT_EQ(found[std::size_t(rank)], "rank 1 of 3 ended with an error: no memory here");
    }
    // A rank that returns early.
    const auto returns_early = [&](const Communicator& communicator) {
        if (communicator.rank() != 0) gather(communicator);
    };
    EXPECT_THROW(run_ranks(3, returns_early, watchdog), RankError);
    for (const std::string& message : endings(3, returns_early)) {
        const bool ended = message.empty() || message.find("returned") != std::string::npos;
        EXPECT_TRUE(ended) << message;
    }
}

TEST(thread_group, sizes_that_differ_are_errors_on_all) {
    const auto found = endings(2, [](const Communicator& communicator) {
        const std::vector<int> mine(std::size_t(communicator.rank() + 1), 0);
        static_cast<void>(gather_to_host<int>(communicator, host(1), mine));
    });
    for (const std::string& message : found) {
        EXPECT_NE(message.find("bytes"), std::string::npos) << message;
    }
    const auto exchange = endings(2, [](const Communicator& communicator) {
        std::vector<int> numbers(2);
        const Communicator::Message message{1 - communicator.rank(),
                                            bytes_of(numbers.data(), 1 + communicator.rank())};
        communicator.begin(host(1), {&message, 1}, {&message, 1});
        communicator.end(host(1));
    });
    for (const std::string& message : exchange) {
        EXPECT_NE(message.find("bytes"), std::string::npos) << message;
    }
}

TEST(thread_group, a_rank_that_does_not_come_ends_all) {
    std::atomic<bool> others_ended{false};
    const auto found = endings(
        3,
        [&](const Communicator& communicator) {
            if (communicator.rank() == 2) {
                while (!others_ended) std::this_thread::yield();
            }
            try {
                static_cast<void>(gather_to_host<int>(communicator, host(1), 1));
            } catch (...) {
                others_ended = true;
                throw;
            }
        },
        0.05);
    for (const std::string& message : found) {
        EXPECT_NE(message.find("has waited"), std::string::npos) << message;
    }
}

TEST(thread_group, ranks_agree_on_errors) {
    // After an agreed error the ranks can go on.
    on_ranks(3, [](const Communicator& communicator, const Context& own) {
        const int rank = communicator.rank();
        on_all_ranks(communicator, [] {});
        const auto fail_on = [&](int first, int second) {
            on_all_ranks(communicator, [&] {
                if (rank == first) throw OutOfMemory("of the first");
                if (rank == second) throw InvalidArgument("of the second");
            });
        };
        if (rank == 2) {
            EXPECT_THROW(fail_on(1, 2), InvalidArgument);
        } else {
            EXPECT_THROW(fail_on(1, 2), OutOfMemory);
        }
        EXPECT_EQ(gather_to_host<int>(communicator, own, rank), (std::vector<int>{0, 1, 2}));
    });
}

TEST(thread_group, one_work_after_another) {
    ThreadGroup group(3, watchdog);
    std::vector<std::thread::id> threads(3), again(3);
    const auto gathers = [](const Communicator& communicator) {
        EXPECT_EQ(gather_to_host<int>(communicator, host(1), communicator.rank()),
                  (std::vector<int>{0, 1, 2}));
    };
    const auto note = [&](std::vector<std::thread::id>& ids) {
        group.run([&](const Communicator& communicator) {
            ids[std::size_t(communicator.rank())] = std::this_thread::get_id();
            gathers(communicator);
        });
    };
    note(threads);
    note(again);
    EXPECT_EQ(threads, again);
    EXPECT_EQ(threads[0], std::this_thread::get_id());
    EXPECT_TRUE(group.is_consistent());
    // All ranks end with an error that they agreed on, or with none that another waits for.
    EXPECT_THROW(group.run([&](const Communicator& communicator) {
        on_all_ranks(communicator, [&] {
            if (communicator.rank() == 2) throw OutOfMemory("agreed");
        });
    }),
                 OutOfMemory);
    EXPECT_TRUE(group.is_consistent());
    for (const bool waits : {true, false}) {
        EXPECT_THROW(group.run([&](const Communicator& communicator) {
            if (communicator.rank() == 1) throw OutOfMemory("alone");
            if (waits) gathers(communicator);
        }),
                     OutOfMemory);
        EXPECT_EQ(group.is_consistent(), !waits);
        group.run(gathers);
        EXPECT_TRUE(group.is_consistent());
    }
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool sanitized = true;
#else
constexpr bool sanitized = false;
#endif

TEST(thread_group, the_child_of_a_fork_has_new_threads) {
    if (sanitized) GTEST_SKIP() << "a sanitizer's allocator may be locked in the child of a fork";
    if (context().on_gpu()) GTEST_SKIP() << "a process that has used CUDA is not forked";
    ThreadGroup group(3, watchdog);
    int sum = 0;
    const auto add = [&](const Communicator& communicator) {
        const auto all = gather_to_host<int>(communicator, host(1), communicator.rank() + 1);
        if (communicator.rank() == 0) sum = std::accumulate(all.begin(), all.end(), 0);
    };
    group.run(add);
    EXPECT_EQ(sum, 6);
    const pid_t child = fork();
    if (child == 0) {
        sum = 0;
        {
            ThreadGroup own(2, watchdog);
            own.run(add);
            if (sum != 3) _exit(1);
            group.run(add);
        }
        _exit(sum == 6 ? 0 : 2);
    }
    ASSERT_GT(child, 0);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0);
    group.run(add);
}

TEST(thread_group, time_limits_hold_on_all_ranks) {
    const TimeLimit limit(0);
    EXPECT_THROW(run_ranks(
                     2,
                     [](const Communicator& communicator) {
                         check_time();
                         static_cast<void>(gather_to_host<int>(communicator, host(1), 1));
                     },
                     watchdog),
                 Stopped);
}

}  // namespace tessera::test
