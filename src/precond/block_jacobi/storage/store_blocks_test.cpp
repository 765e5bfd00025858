#include "precond/block_jacobi/apply/test_stored_blocks.hpp"
#include "precond/block_jacobi/kernels.hpp"

namespace tessera::test {
namespace {

/// Random bits; then numbers around the limits of the formats, ties and their neighbours, NaN.
template <class T>
std::vector<T> many_values(std::mt19937_64& random, std::size_t count) {
    using Bits = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
    std::vector<T> values;
    for (std::size_t e = 0; e < count; ++e) {
        if (e % 2 == 0) {
            values.push_back(bit_cast<T>(Bits(random())));
            continue;
        }
        const BlockPrecision format = format_of<T>(random() % format_count<T>);
        const T around[] = {0,
                            T(largest_finite(format)),
                            T(smallest_normal(format)),
                            T(smallest_normal(format) * unit_roundoff(format)),
                            T(1 + unit_roundoff(format)),
                            T(1 + 3 * unit_roundoff(format)),
                            std::numeric_limits<T>::infinity(),
                            std::numeric_limits<T>::quiet_NaN()};
        const T value = around[random() % std::size(around)];
        const T next[] = {value, std::nextafter(value, T(0)), value * T(1.5),
                          std::nextafter(value, std::numeric_limits<T>::infinity())};
        values.push_back(std::copysign(next[random() % 4], random() % 2 == 0 ? T(1) : T(-1)));
    }
    return values;
}

/// Stores blocks in their formats; checks the bytes, and whether a block left the range of its
/// format: a finite value overflowed, or all are below the normal numbers.
template <class T>
void check(const std::vector<std::vector<T>>& blocks, const std::vector<BlockPrecision>& formats,
           bool mixed) {
    const Context context = test::context();
    const Stored<T> expected = stored(blocks, formats, mixed);
    std::vector<T> packed;
    bool outside = false;
    for (std::size_t b = 0; b < blocks.size(); ++b) {
        packed.insert(packed.end(), blocks[b].begin(), blocks[b].end());
        double largest = 0;
        for (const T value : blocks[b]) {
            if (std::isfinite(value)) largest = std::max(largest, std::abs(double(value)));
        }
        outside = outside || largest > largest_finite(formats[b]) ||
                  (largest != 0 && largest < smallest_normal(formats[b]));
    }
    const auto offsets = copy_to_buffer(context, expected.offsets);
    const auto entry_offsets = copy_to_buffer(context, expected.entry_offsets);
    const auto starts = copy_to_buffer(context, expected.starts);
    const auto in = copy_to_buffer(context, formats);
    const auto inverses = copy_to_buffer(context, packed);
    Buffer<SetupSummary> summary = copy_to_buffer(context, std::vector<SetupSummary>(1));
    // Bytes between and after the blocks must not change.
    std::vector<std::byte> before = expected.bytes;
    for (std::size_t b = 0; b < blocks.size(); ++b) {
        const auto first = before.begin() + expected.starts[b] * expected.unit();
        std::fill_n(first, blocks[b].size() * std::size_t(bytes_of(formats[b])), std::byte(0x55));
    }
    Buffer<std::byte> bytes = copy_to_buffer(context, before);
    const PackedBlocks<T> from{expected.rows(), expected.count(), expected.largest, offsets.data(),
                               entry_offsets.data()};
    StoredBlocks to;
    to.rows = expected.rows();
    to.count = expected.count();
    to.largest = expected.largest;
    to.block_offsets = offsets.data();
    to.starts = starts.data();
    to.unit = expected.unit();
    to.format = formats[0];
    to.formats = mixed ? in.data() : nullptr;
    select(context, &cpu::store_blocks<T>, TESSERA_IF_CUDA(cuda::store_blocks<T>))(
        context, from, inverses.data(), to, bytes.data(), summary.data());
    EXPECT_EQ(copy_to_host(context, summary)[0].outside != 0, outside);
    const std::vector<std::byte> got = copy_to_host(context, bytes);
    const auto differ = std::ranges::mismatch(got, expected.bytes);
    EXPECT_EQ(differ.in1 - got.begin(), std::ptrdiff_t(got.size())) << "bytes that agree";
}

TEST(store_blocks, bits_are_those_of_single_conversions) {
    std::mt19937_64 random = generator();
    for_reals([&](auto real) {
        using T = decltype(real);
        for (const bool mixed : {false, true}) {
            for (std::size_t f = 0; f < (mixed ? 1 : format_count<T>); ++f) {
                std::vector<std::vector<T>> blocks;
                std::vector<BlockPrecision> formats;
                for (Index n = 1; n <= (fewer_run() ? 9 : 33); ++n) {
                    blocks.push_back(many_values<T>(random, std::size_t(n * n)));
                    formats.push_back(format_of<T>(mixed ? random() % format_count<T> : f));
                }
                check(blocks, formats, mixed);
            }
        }
    });
}

/// One block at a time, to check each overflow separately: values in range, then one that is not.
TEST(store_blocks, overflow_is_reported_for_every_place_in_a_block) {
    for_reals([&](auto real) {
        using T = decltype(real);
        for (const Index n : {1, 3, 4, 9}) {
            std::vector<T> block(std::size_t(n * n), T(-65504));
            check<T>({block}, {BlockPrecision::f16}, false);
            for (T& value : block) {
                value = T(65505);
                check<T>({block}, {BlockPrecision::f16}, false);
                value = -std::numeric_limits<T>::infinity();
            }
            check<T>({block}, {BlockPrecision::f16}, false);
        }
    });
}

/// A normal number anywhere in a block makes small ones beside it harmless.
TEST(store_blocks, underflow_is_reported_for_blocks_of_small_values_alone) {
    for_reals([&](auto real) {
        using T = decltype(real);
        for (const Index n : {1, 3, 4, 9}) {
            std::vector<T> block(std::size_t(n * n), T(-0x1p-20));
            check<T>({block}, {BlockPrecision::f16}, false);
            for (std::size_t e = 0; e < block.size(); ++e) {
                std::vector<T> with_normal = block;
                with_normal[e] = T(0x1p-14);
                check<T>({with_normal}, {BlockPrecision::f16}, false);
            }
            check<T>({std::vector<T>(std::size_t(n * n), T(0))}, {BlockPrecision::f16}, false);
        }
    });
}

TEST(store_blocks, starts_of_blocks_and_units_of_chunks) {
    std::mt19937_64 random = generator();
    const Context device = context();
    for (const Index n : {1, 3, 7, 16, 24, 33, 64}) {
        for (const int count : {1, 64 / n, 64 / n + 1, 5000 / n + 1}) {
            const auto stored = random_stored<double>(
                random, std::vector<Index>(std::size_t(count), n), std::nullopt);
            const auto offsets = copy_to_buffer(device, stored.offsets);
            const auto formats = copy_to_buffer(device, stored.formats);
            Buffer<Offset> starts(device, count + 2);
            select(device, &cpu::format_starts, TESSERA_IF_CUDA(cuda::format_starts))(
                device, Index(count), offsets.data(), formats.data(), blocks_per_chunk(n),
                starts.data());
            std::vector<Offset> expected = stored.starts;
            expected.push_back(max_units(stored));
            EXPECT_EQ(copy_to_host(device, starts), expected) << count << " of " << n << " rows";
        }
    }
}

}  // namespace
}  // namespace tessera::test
