#include "base/context_state.hpp"
#include "support/test.hpp"

namespace tessera {
namespace {
using test::context;

TEST(buffers, truncated) {
    const Context& device = context();
    const Offset before = device.memory_bytes();
    {
        const std::vector<int> values{1, 2, 3, 4, 5, 6};
        Buffer<int> buffer = copy_to_buffer(device, values);
        buffer.truncate(4);
        EXPECT_EQ(copy_to_host(device, buffer), (std::vector<int>{1, 2, 3, 4}));
        Buffer<int> moved(std::move(buffer));
        moved.truncate(4);
        moved.truncate(1);
        EXPECT_EQ(copy_to_host(device, moved), std::vector<int>{1});
        EXPECT_EQ(device.memory_bytes() - before, 6 * Offset(sizeof(int)));
        moved.truncate(0);
        EXPECT_TRUE(moved.empty());
        EXPECT_THROW(moved.truncate(1), InvalidArgument);
        EXPECT_THROW(moved.truncate(-1), InvalidArgument);
    }
    EXPECT_EQ(device.memory_bytes(), before);
    Buffer<int> none;
    none.truncate(0);
}

/// Fills and reads Buffers of many sizes in turns.
TEST(buffers, freed_memory_is_reused) {
    const Context& device = context();
    for (const Offset largest : {Offset(1000), Offset(6) << 20}) {
        std::vector<Buffer<float>> buffers(40);
        for (int round = 0; round < 3; ++round) {
            for (std::size_t k = 0; k < buffers.size(); ++k) {
                const Offset size = largest - Offset(k % 7) * 13;
                buffers[k] = Buffer<float>(device, size);
                fill(device, float(k), buffers[k].view());
                if (k % 3 == 0) buffers[k].truncate(size / 2);
            }
            for (std::size_t k = 0; k < buffers.size(); ++k) {
                float last = -1;
                copy_to_host(device, std::as_const(buffers[k]).view().last(1),
                             std::span<float>(&last, 1));
                EXPECT_EQ(last, float(k));
                if (k % 2 == 0) buffers[k] = Buffer<float>();
            }
        }
    }
    EXPECT_GT(device.free_memory(), 0);
}

TEST(buffers, sizes_that_overflow_are_out_of_memory) {
    const Context& device = context();
    const Offset before = device.memory_bytes();
    for (const Offset size : {Offset(1) << 60, (Offset(1) << 60) + 1, (Offset(1) << 61) + 1,
                              std::numeric_limits<Offset>::max()}) {
        EXPECT_THROW(Buffer<double>(device, size), OutOfMemory) << size;
    }
    EXPECT_THROW(Buffer<double>(device, -1), InvalidArgument);
    EXPECT_THROW(Buffer<double>(device, std::numeric_limits<Offset>::min()), InvalidArgument);
    Buffer<double> buffer(device, 8);
    EXPECT_THROW(buffer.truncate((Offset(1) << 61) + 1), InvalidArgument);
    EXPECT_EQ(device.memory_bytes() - before, 64);
}

TEST(buffers, moved_from_are_empty_and_contexts_stay_usable) {
    Context first = context();
    const Context second = std::move(first);
    EXPECT_EQ(&first.state(), &second.state());  // NOLINT: this is what is tested.
    Buffer<int> buffer(second, 3);
    const Buffer<int> moved = std::move(buffer);
    EXPECT_TRUE(buffer.empty());  // NOLINT
    EXPECT_EQ(buffer.data(), nullptr);
    EXPECT_EQ(moved.size(), 3);
}

}  // namespace
}  // namespace tessera
