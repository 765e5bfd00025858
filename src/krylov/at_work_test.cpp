#include "krylov/at_work.hpp"

#include <thread>

#include "support/test.hpp"

namespace tessera::test {
namespace {

TEST(at_work, a_second_call_is_refused) {
    bool flag = false;
    {
        const AtWork guard(flag);
        EXPECT_THROW(AtWork{flag}, InUse);
        std::thread([&] { EXPECT_THROW(AtWork{flag}, InUse); }).join();
    }
    const AtWork again(flag);
}

TEST(at_work, one_of_several_threads_is_at_work) {
    bool flag = false;
    int inside = 0;  // Not atomic: the guard orders the threads.
    std::atomic<int> admitted{0};
    const auto work = [&] {
        for (int k = 0; k < 20000; ++k) {
            try {
                const AtWork guard(flag);
                ++inside;
                ++admitted;
            } catch (const InUse&) {
            }
        }
    };
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) threads.emplace_back(work);
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(inside, admitted);
    EXPECT_GT(inside, 0);
    EXPECT_FALSE(flag);
}

}  // namespace
}  // namespace tessera::test
