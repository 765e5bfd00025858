#include <sys/mman.h>

#include <algorithm>
#include <thread>

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

/// Pages of a CPU's array that are mapped.
Offset mapped_pages(Buffer<char>& buffer) {
    constexpr std::uintptr_t page = 4096;
    const auto begin = (reinterpret_cast<std::uintptr_t>(buffer.data()) + page - 1) / page * page;
    std::vector<unsigned char> mapped(std::size_t(buffer.size()) / page - 1);
    EXPECT_EQ(mincore(reinterpret_cast<void*>(begin), mapped.size() * page, mapped.data()), 0);
    return std::count_if(mapped.begin(), mapped.end(), [](unsigned char m) { return m & 1; });
}

TEST(buffers, pages_are_mapped_at_once_or_where_they_are_written) {
    const Context device = Context::cpu(2);
    if (device.state().poison) GTEST_SKIP() << "TESSERA_POISON writes to all pages";
    constexpr Offset pages = 16384;
    Buffer<char> buffer(device, (pages + 1) * 4096);
    EXPECT_EQ(mapped_pages(buffer), pages);
    const LaterTouched guard(device.state());
    buffer = Buffer<char>(device, (pages + 1) * 4096);
    EXPECT_EQ(mapped_pages(buffer), 0);
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

/// Copies `count` bytes to a Buffer, doubled there by a copy in itself, and back. Addresses are
/// odd.
void expect_long_copy(const Context& device, Offset count) {
    std::vector<unsigned char> sent(std::size_t(count) + 1), received(std::size_t(count) + 2, 7);
    for (std::size_t k = 0; k < sent.size(); ++k) sent[k] = (unsigned char)(k * 2654435761u >> 13);
    Buffer<unsigned char> first(device, count + 3), second(device, count + 3);
    const auto part = [&](Buffer<unsigned char>& buffer) {
        return buffer.view().subspan(3, std::size_t(count));
    };
    copy_from_host(device, std::span<const unsigned char>(sent).subspan(1), part(first));
    copy(device, std::span<const unsigned char>(part(first)), part(second));
    copy_to_host(device, std::span<const unsigned char>(part(second)),
                 std::span(received).subspan(1, std::size_t(count)));
    EXPECT_TRUE(std::equal(sent.begin() + 1, sent.end(), received.begin() + 1)) << count;
    EXPECT_EQ(received.front(), 7);
    EXPECT_EQ(received.back(), 7);
}

TEST(buffers, long_copies) {
    const Offset mebibyte = Offset(1) << 20;
    for (const Offset count : {8 * mebibyte - 1, 8 * mebibyte, 16 * mebibyte, 16 * mebibyte + 1,
                               20 * mebibyte, 37 * mebibyte + 12345}) {
        expect_long_copy(context(), count);
    }
}

TEST(buffers, long_copies_of_several_threads) {
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t) {
        threads.emplace_back([t] {
            const Context device = context().on_gpu() ? Context::cuda() : Context::cpu(1);
            for (int k = 0; k < 3; ++k) expect_long_copy(device, (Offset(9 + t) << 20) + k);
        });
    }
    for (std::thread& thread : threads) thread.join();
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
