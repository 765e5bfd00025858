#include "precond/block_jacobi/apply/test_stored_blocks.hpp"
#include "precond/block_jacobi/storage/format_steps.hpp"

namespace tessera::test {
namespace {

TEST(stored_blocks, products_with_blocks_of_every_size) {
    for_reals([](auto real) {
        using T = decltype(real);
        for (Index n = 1; n <= 64; ++n) {
            std::vector<Index> sizes(std::size_t(2 * 64 / n + 3), n);
            check_products<T>(sizes, format_of<T>(std::size_t(n) % format_count<T>), {1});
            sizes.back() = (n + 1) / 2;
            check_products<T>(sizes, format_of<T>(0), {1});
        }
    });
}

TEST(stored_blocks, products_in_every_format_and_with_several_vectors) {
    for_reals([](auto real) {
        using T = decltype(real);
        for (std::size_t f = 0; f < format_count<T>; ++f) {
            for (const Index n : {3, 4, 8, 15, 32, 40}) {
                check_products<T>(std::vector<Index>(std::size_t(150 / n), n), format_of<T>(f),
                                  {1, 2, 5, 9});
            }
        }
    });
}

TEST(stored_blocks, products_with_blocks_of_one_size_and_mixed_formats) {
    std::mt19937_64 random = generator();
    for_reals([&](auto real) {
        using T = decltype(real);
        std::vector<Index> tried{1, 2, 3, 6, 8, 11, 12, 15, 16, 18, 20, 24, 27, 30, 32};
        if (fewer_run()) tried = {8, 16, 24};
        for (const Index n : tried) {
            for (const Index last : {n, 1 + Index(random() % std::uint64_t(n))}) {
                std::vector<Index> sizes(std::size_t(300 / n), n);
                sizes.push_back(last);
                check_products<T>(sizes, std::nullopt, {1, 3, 17});
            }
        }
    });
}

/// Rows and `gap` together are a multiple of four: all columns may begin at multiples of 16 bytes.
TEST(stored_blocks, products_with_even_blocks_and_many_vectors) {
    std::mt19937_64 random = generator();
    for_reals([&](auto real) {
        using T = decltype(real);
        for (Index n = 2; n <= 32; n += 2) {
            if (fewer_run() && n != 6 && n % 8 != 0) continue;
            std::vector<Index> sizes(std::size_t(4 * (150 / n)), n);
            sizes.push_back(1 + 4 * Index(random() % std::uint64_t((n + 2) / 4)));
            for (std::size_t f = 0; f < format_count<T>; ++f) {
                check_products<T>(sizes, format_of<T>(f), {7, 16});
            }
            check_products<T>(sizes, std::nullopt, {10, 16});
        }
    });
}

TEST(stored_blocks, products_with_blocks_of_random_sizes_and_formats) {
    std::mt19937_64 random = generator();
    for_reals([&](auto real) {
        using T = decltype(real);
        for (const Index high : {1, 2, 4, 8, 20, 32, 64}) {
            for (int k = 0; k < 4; ++k) {
                const auto sizes = random_sizes(random, 1 + int(random() % 60), 1, high);
                check_products<T>(sizes, std::nullopt, {1, 3});
                check_products<T>(sizes, format_of<T>(random() % format_count<T>), {1});
            }
        }
    });
}

/// Sizes of blocks of which several of one size follow each other.
std::vector<Index> sizes_in_runs(std::mt19937_64& random, int runs, Index high) {
    std::vector<Index> sizes;
    for (int k = 0; k < runs; ++k) {
        const Index size = 1 + Index(random() % std::uint64_t(high));
        sizes.insert(sizes.end(), 1 + random() % 9, size);
    }
    return sizes;
}

TEST(stored_blocks, products_with_runs_of_small_blocks) {
    std::mt19937_64 random = generator();
    for_reals([&](auto real) {
        using T = decltype(real);
        for (const Index high : {4, 9, 18}) {
            const auto sizes = sizes_in_runs(random, 60, high);
            check_products<T>(sizes, std::nullopt, {1, 3});
            for (std::size_t f = 0; f < format_count<T>; ++f) {
                check_products<T>(sizes, format_of<T>(f), {1, 5});
            }
        }
    });
}

/// More blocks than all warps of a GPU process at once.
TEST(stored_blocks, products_with_many_blocks) {
    std::mt19937_64 random = generator();
    for_reals([&](auto real) {
        using T = decltype(real);
        check_products<T>(random_sizes(random, 60000, 1, 6), std::nullopt, {1});
        check_products<T>(random_sizes(random, 12000, 1, 32), std::nullopt, {1});
        check_products<T>(std::vector<Index>(120001, 3), format_of<T>(0), {1});
        check_products<T>(std::vector<Index>(9001, 29), BlockPrecision::bf16, {1});
        check_products<T>(random_sizes(random, 3000, 1, 32), std::nullopt, {11});
    });
}

/// More bytes than the cache of a GPU holds: other kernel shapes.
TEST(stored_blocks, products_with_more_than_a_cache_keeps) {
    if (!context().on_gpu()) GTEST_SKIP() << "the GPU backend's shapes";
    if (fewer_run()) GTEST_SKIP() << "fewer blocks were asked for";
    const auto sizes = [](std::size_t count, Index n) {
        std::vector<Index> all(count, n);
        all.back() = 5;
        return all;
    };
    check_products<double>(sizes(32000, 22), BlockPrecision::f16, {1});
    check_products<double>(sizes(26000, 25), BlockPrecision::bf16, {1});
    check_products<float>(sizes(29000, 25), BlockPrecision::f16, {1});
}

/// The product with one block.
template <class T>
std::vector<T> alone(const Stored<T>& host_blocks, Index b, bool transposed,
                     const std::vector<T>& r) {
    const auto begin = host_blocks.values.begin();
    const std::vector<T> values(begin + host_blocks.entry_offsets[std::size_t(b)],
                                begin + host_blocks.entry_offsets[std::size_t(b) + 1]);
    const Stored<T> one = stored<T>({values}, {host_blocks.formats[std::size_t(b)]}, false);
    const DeviceStoredBlocks<T> device_blocks(context(), one);
    std::vector<T> own(r.begin() + host_blocks.offsets[std::size_t(b)],
                       r.begin() + host_blocks.offsets[std::size_t(b) + 1]);
    own.resize(own.size() + std::size_t(gap));
    std::vector<T> z = applied(context(), device_blocks.blocks, transposed, 1, own);
    z.resize(std::size_t(one.rows()));
    return z;
}

TEST(stored_blocks, results_do_not_depend_on_neighbours_or_on_other_vectors) {
    std::mt19937_64 random = generator();
    for_reals([&](auto real) {
        using T = decltype(real);
        for (const bool with_large : {false, true}) {  // Large blocks use another kernel on a GPU.
            auto sizes = random_sizes(random, 40, 1, 32);
            if (with_large) sizes.push_back(50);
            const Stored<T> host_blocks = random_stored<T>(random, sizes, std::nullopt);
            const DeviceStoredBlocks<T> device_blocks(context(), host_blocks);
            const Index vectors = 6, leading = host_blocks.rows() + Index(gap);
            const std::vector<T> r = random_columns<T>(random, host_blocks.rows(), vectors);
            for (const bool transposed : {false, true}) {
                const Index count = transposed ? 1 : vectors;
                const auto z = applied(context(), device_blocks.blocks, transposed, count, r);
                for (Index v = 0; v < count; v += 5) {
                    const std::vector<T> column(r.begin() + v * leading,
                                                r.begin() + (v + 1) * leading);
                    for (Index b = 0; b < host_blocks.count(); b += 3) {
                        const auto first =
                            z.begin() + v * leading + host_blocks.offsets[std::size_t(b)];
                        EXPECT_TRUE(same_bits(std::vector<T>(first, first + host_blocks.size(b)),
                                              alone(host_blocks, b, transposed, column)))
                            << "block " << b << " of " << host_blocks.size(b) << " rows";
                    }
                }
            }
        }
    });
}

/// One vector alone, and among others, with blocks whose neighbours have the same size.
TEST(stored_blocks, one_vector_has_the_results_of_several) {
    std::mt19937_64 random = generator();
    for_reals([&](auto real) {
        using T = decltype(real);
        for (std::size_t f = 0; f <= format_count<T>; ++f) {  // The last one: mixed formats.
            const auto format = f < format_count<T> ? std::optional(format_of<T>(f)) : std::nullopt;
            const Stored<T> host_blocks =
                random_stored<T>(random, sizes_in_runs(random, 60, 18), format);
            const DeviceStoredBlocks<T> device_blocks(context(), host_blocks);
            const Index vectors = 6, leading = host_blocks.rows() + Index(gap);
            const auto r = random_columns<T>(random, host_blocks.rows(), vectors);
            const auto z = applied(context(), device_blocks.blocks, false, vectors, r);
            for (Index v = 0; v < vectors; ++v) {
                const auto column = [&](const std::vector<T>& all) {
                    return std::vector<T>(all.begin() + v * leading,
                                          all.begin() + (v + 1) * leading);
                };
                EXPECT_TRUE(same_bits(
                    column(z), applied(context(), device_blocks.blocks, false, 1, column(r))));
            }
        }
    });
}

TEST(stored_blocks, results_do_not_depend_on_threads) {
    std::mt19937_64 random = generator();
    for (const auto& sizes : {random_sizes(random, 4000, 1, 32), std::vector<Index>(60000, 3),
                              sizes_in_runs(random, 3000, 18)}) {
        const Stored<double> host_blocks = random_stored<double>(random, sizes, std::nullopt);
        const DeviceStoredBlocks<double> device_blocks(host(), host_blocks);
        for (const Index vectors : {1, 5}) {
            const auto r = random_columns<double>(random, host_blocks.rows(), vectors);
            for (const bool transposed : {false, true}) {
                if (transposed && vectors > 1) continue;
                const auto z = applied(host(1), device_blocks.blocks, transposed, vectors, r);
                for (const int threads : {2, 3, 7}) {
                    EXPECT_TRUE(same_bits(
                        z, applied(host(threads), device_blocks.blocks, transposed, vectors, r)));
                }
            }
        }
    }
}

/// Blocks of one row times 1, so that each value must be returned unchanged: all 16-bit values, and
/// special values of the other formats.
TEST(stored_blocks, every_value_is_read_exactly) {
    for_reals([](auto real) {
        using T = decltype(real);
        for (std::size_t f = 0; f < format_count<T>; ++f) {
            const BlockPrecision format = format_of<T>(f);
            std::vector<std::vector<T>> blocks;
            if (bytes_of(format) == 2) {
                for (unsigned bits = 0; bits < 0x10000; ++bits) {
                    const auto word = std::uint16_t(bits);
                    alignas(8) std::byte at[8] = {};
                    std::memcpy(at, &word, 2);
                    blocks.push_back({load<T>(format, at)});
                }
            }
            for (const double value : {0.0, largest_finite(format), -smallest_normal(format),
                                       smallest_normal(format) * 2 * unit_roundoff(format),
                                       std::numeric_limits<double>::infinity(),
                                       std::numeric_limits<double>::quiet_NaN()}) {
                blocks.push_back({T(value)});
                blocks.push_back({T(-value)});
            }
            const Stored<T> host_blocks =
                stored(blocks, std::vector<BlockPrecision>(blocks.size(), format), false);
            const DeviceStoredBlocks<T> device_blocks(context(), host_blocks);
            const std::vector<T> ones(std::size_t(host_blocks.rows() + gap), T(1));
            auto z = applied(context(), device_blocks.blocks, false, 1, ones);
            int wrong = 0;
            for (std::size_t k = 0; k < host_blocks.values.size(); ++k) {
                const T value = host_blocks.values[k];
                wrong += std::isnan(value) ? !std::isnan(z[k]) : z[k] != value;
            }
            EXPECT_EQ(wrong, 0) << to_string(format);
        }
    });
}

TEST(stored_blocks, what_is_not_finite_stays_in_its_rows) {
    std::mt19937_64 random = generator();
    for_reals([&](auto real) {
        using T = decltype(real);
        const auto sizes = random_sizes(random, 60, 1, 12);
        const Stored<T> clean = random_stored<T>(random, sizes, std::nullopt);
        const auto r = random_columns<T>(random, clean.rows(), 1);
        for (const bool transposed : {false, true}) {
            const auto good = applied(context(), DeviceStoredBlocks<T>(context(), clean).blocks,
                                      transposed, 1, r);
            for (Index bad = 0; bad < clean.count(); bad += 7) {
                std::vector<std::vector<T>> blocks;
                for (Index b = 0; b < clean.count(); ++b) {
                    const auto begin = clean.values.begin();
                    blocks.emplace_back(begin + clean.entry_offsets[std::size_t(b)],
                                        begin + clean.entry_offsets[std::size_t(b) + 1]);
                }
                const T nan = std::numeric_limits<T>::quiet_NaN();
                blocks[std::size_t(bad)].assign(blocks[std::size_t(bad)].size(), nan);
                const Stored<T> host_blocks = stored(blocks, clean.formats, true);
                auto z = applied(context(), DeviceStoredBlocks<T>(context(), host_blocks).blocks,
                                 transposed, 1, r);
                for (Index i = host_blocks.offsets[std::size_t(bad)];
                     i < host_blocks.offsets[std::size_t(bad) + 1]; ++i) {
                    EXPECT_TRUE(std::isnan(z[std::size_t(i)]));
                    z[std::size_t(i)] = good[std::size_t(i)];
                }
                EXPECT_TRUE(same_bits(z, good)) << "block " << bad;
            }
        }
    });
}

TEST(stored_blocks, expands_to_packed_values) {
    std::mt19937_64 random = generator();
    for_reals([&](auto real) {
        using T = decltype(real);
        for (const Index high : {3, 32, 64}) {
            const Stored<T> host_blocks =
                random_stored<T>(random, random_sizes(random, 200, 1, high), std::nullopt);
            const DeviceStoredBlocks<T> device_blocks(context(), host_blocks);
            const auto offsets =
                copy_to_buffer(context(), std::span<const Offset>(host_blocks.entry_offsets));
            Buffer<T> values(context(), host_blocks.entry_offsets.back());
            for_each_index(context(), device_blocks.blocks.count,
                           ExpandBlock<T>{device_blocks.blocks, offsets.data(), values.data()});
            EXPECT_TRUE(same_bits(copy_to_host(context(), values), host_blocks.values));
        }
    });
}

TEST(stored_blocks, no_blocks_and_no_vectors) {
    for_reals([](auto real) {
        using T = decltype(real);
        const Stored<T> none = stored<T>({}, {}, true);
        const DeviceStoredBlocks<T> device_blocks(context(), none);
        const std::vector<T> r(std::size_t(gap), T(1));
        applied(context(), device_blocks.blocks, false, 1, r);
        Buffer<T> values(context(), 0);
        const auto offsets = copy_to_buffer(context(), std::span<const Offset>(none.entry_offsets));
        for_each_index(context(), device_blocks.blocks.count,
                       ExpandBlock<T>{device_blocks.blocks, offsets.data(), values.data()});
        const Stored<T> one = stored<T>({{T(2)}}, {BlockPrecision::f32}, false);
        EXPECT_TRUE(applied(context(), DeviceStoredBlocks<T>(context(), one).blocks, false, 0,
                            std::vector<T>())
                        .empty());
    });
}

}  // namespace
}  // namespace tessera::test
