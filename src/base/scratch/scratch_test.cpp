#include "base/scratch/scratch.hpp"

#include "base/context_state.hpp"
#include "support/test.hpp"

namespace tessera::test {

TEST(scratch, memory_is_kept_and_reused) {
    const Context device = context();
    const Offset before = device.memory_bytes();
    reserve_scratch(device, {8000, 80});
    const void* first = nullptr;
    {
        const Scratch<double> outer(device, 1000), inner(device, 10);
        first = outer.data();
        EXPECT_GE(inner.data(), outer.data() + 1000);
        EXPECT_EQ(outer.view().size(), 1000U);
    }
    const Offset held = device.memory_bytes(), allocations = device.state().allocations;
    EXPECT_GE(held - before, 8080);
    EXPECT_LE(held - before, 3 * 8080);
    for (int round = 0; round < 3; ++round) {
        const Scratch<float> all(device, 2020), none(device, 0);
        EXPECT_EQ(none.data(), nullptr);
        EXPECT_TRUE(round == 0 || all.data() == first);
        first = all.data();
    }
    EXPECT_EQ(device.memory_bytes(), held);
    EXPECT_EQ(device.state().allocations, allocations);
}

/// A larger block for an inner object leaves the outer one where it is.
TEST(scratch, objects_keep_their_memory_while_it_grows) {
    const Context device = context();
    const Offset before = device.memory_bytes();
    {
        const Scratch<double> outer(device, 100);
        fill(device, 1.0, outer.view());
        {
            const Scratch<double> inner(device, 100000);
            fill(device, 2.0, inner.view());
            std::vector<double> ones(100);
            copy_to_host<double>(device, outer.view(), ones);
            EXPECT_EQ(ones, std::vector<double>(100, 1.0));
        }
        EXPECT_GE(device.memory_bytes() - before, 100100 * 8);
    }
    // The smaller block is gone.
    EXPECT_LE(device.memory_bytes() - before, 100100 * 8 + 1024);
}

TEST(scratch, does_not_grow_inside_a_capture) {
    const Context device = context();
    if (!device.on_gpu()) GTEST_SKIP() << "the CPU captures nothing";
    reserve_scratch(device, {800});
    const auto take = [&](Offset size) {
        return device.capture([&device, size] {
            const Scratch<double> work(device, size);
            fill(device, 1.0, work.view());
        });
    };
    take(100)();
    EXPECT_THROW(take(100000), InvalidArgument);
    // The block of a graph lives as long as the graph.
    const Offset small = device.memory_bytes();
    auto graph = take(100);
    reserve_scratch(device, {80000});
    EXPECT_GE(device.memory_bytes() - small, 80000);
    graph();
    device.synchronize();
    graph = nullptr;
    EXPECT_LE(device.memory_bytes() - small, 80000);
}

}  // namespace tessera::test
