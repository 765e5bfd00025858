#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "base/parallel.hpp"
#include "support/test.hpp"

namespace tessera::test {

namespace {

/// Loops of changing sizes, parts and threads; whether each visits every index once.
bool visits_every_index_once(unsigned seed, int rounds) {
    std::mt19937 random(seed);
    std::vector<int> visits;
    for (int round = 0; round < rounds; ++round) {
        const int threads = 1 + int(random() % 5);
        const Offset count = 1 + Offset(random() % 50), parts = 1 + Offset(random() % 17);
        visits.assign(std::size_t(count), 0);
        parallel_parts(threads, count, parts, [&](Offset, Offset first, Offset last) {
            for (Offset i = first; i < last; ++i) ++visits[std::size_t(i)];
        });
        if (visits != std::vector<int>(std::size_t(count), 1)) return false;
        // Now and then the workers fall asleep.
        if (round % 500 == 0) std::this_thread::sleep_for(std::chrono::microseconds(300));
    }
    return true;
}

}  // namespace

TEST(thread_team, every_part_runs_once) { EXPECT_TRUE(visits_every_index_once(1, 20000)); }

TEST(thread_team, several_threads_have_teams_of_their_own) {
    std::vector<int> right(3);
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < 3; ++t) {
        threads.emplace_back([&right, t] { right[t] = visits_every_index_once(10 + t, 5000); });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(right, std::vector<int>(3, 1));
}

TEST(thread_team, an_exception_of_any_part_arrives) {
    for (Offset bad = 0; bad < 8; ++bad) {
        EXPECT_THROW(parallel_parts(3, 8, 8,
                                    [&](Offset part, Offset, Offset) {
                                        if (part == bad) throw InvalidArgument("part");
                                    }),
                     InvalidArgument);
    }
    EXPECT_TRUE(visits_every_index_once(2, 100));
}

TEST(thread_team, loops_within_parts_run) {
    std::atomic<int> runs{0};
    parallel_parts(3, 6, 6, [&](Offset, Offset, Offset) {
        parallel_parts(3, 4, 4, [&](Offset, Offset, Offset) { ++runs; });
    });
    EXPECT_EQ(runs, 24);
}

TEST(thread_team, more_threads_than_cores) {
    std::atomic<int> runs{0};
    for (int round = 0; round < 50; ++round) {
        parallel_parts(64, 64, 64, [&](Offset, Offset, Offset) { ++runs; });
    }
    EXPECT_EQ(runs, 50 * 64);
}

/// The threads of the parent do not exist in the child.
TEST(thread_team, the_child_of_a_fork_has_a_new_team) {
#ifdef __SANITIZE_ADDRESS__
    GTEST_SKIP() << "the address sanitizer's allocator may be locked in the child of a fork";
#endif
    ASSERT_TRUE(visits_every_index_once(3, 100));
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        alarm(20);
        _exit(visits_every_index_once(4, 1000) ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
    EXPECT_TRUE(visits_every_index_once(5, 100));
}

/// In a child that may have no further threads.
TEST(thread_team, refused_threads_are_reported) {
#ifdef __SANITIZE_ADDRESS__
    GTEST_SKIP() << "the address sanitizer's allocator may be locked in the child of a fork";
#endif
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        alarm(20);
        const rlimit none{0, 0};
        constexpr uid_t nobody = 65534;  // The limit does not hold for root.
        if (geteuid() == 0 && setuid(nobody) != 0) _exit(2);
        if (setrlimit(RLIMIT_NPROC, &none) != 0) _exit(2);
        const Context cpu = Context::cpu(3);
        const bool reported =
            cpu.threads() == 1 && cpu.description().find("1 thread (the system refused 3)") == 5;
        _exit(reported && visits_every_index_once(6, 100) ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 2) GTEST_SKIP() << "threads cannot be limited";
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

}  // namespace tessera::test
