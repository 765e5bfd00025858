#include "precond/block_jacobi/test_cases.hpp"

namespace tessera::test {

TEST(block_jacobi, every_size) {
    for_reals([](auto real) {
        using T = decltype(real);
        auto random = generator();
        for (Index n = 1; n <= 32; ++n) {
            expect_all_inverted(context(), make_case(random, random_blocks<T>(random, 37, n, n)));
        }
    });
}

TEST(block_jacobi, mixed_sizes) {
    for_reals([](auto real) {
        using T = decltype(real);
        auto random = generator();
        expect_all_inverted(context(), make_case(random, random_blocks<T>(random, 2500, 1, 32)));
        expect_all_inverted(context(), make_case(random, random_blocks<T>(random, 5000, 1, 5)));
    });
}

TEST(block_jacobi, pivots_and_grading) {
    for_reals([](auto real) {
        using T = decltype(real);
        auto random = generator();
        std::vector<std::vector<T>> blocks;
        for (Index n = 1; n <= 32; ++n) {
            std::vector<Index> order(static_cast<std::size_t>(n));
            std::iota(order.begin(), order.end(), 0);
            std::shuffle(order.begin(), order.end(), random);
            blocks.push_back(
                block_of<T>(n, [&](Index i, Index j) { return order[std::size_t(i)] == j; }));
            const auto noise = random_block<T>(random, n);
            blocks.push_back(block_of<T>(n, [&](Index i, Index j) {
                return std::ldexp(noise[std::size_t(i + j * n)], -i - j);
            }));
        }
        for (Index n = 1; n <= (sizeof(T) == 4 ? 6 : 11); ++n) {
            blocks.push_back(block_of<T>(n, [](Index i, Index j) { return 1.0 / (i + j + 1); }));
        }
        expect_all_inverted(context(), make_case(random, blocks));
    });
}

TEST(block_jacobi, no_rows_and_one_block) {
    for_reals([](auto real) {
        using T = decltype(real);
        auto random = generator();
        const Case<T> nothing = make_case<T>(random, {});
        const BlockJacobi<T> jacobi = invert(context(), nothing);
        EXPECT_EQ(jacobi.rows(), 0);
        EXPECT_EQ(jacobi.copy_inverses(context()).size(), 0);
        EXPECT_EQ(to_host(context(), jacobi.details().offsets), std::vector<Offset>{0});
        jacobi.apply(context(), {}, {});
        BlockJacobiOptions adaptive;
        adaptive.precision = BlockPrecision::adaptive;
        invert(context(), nothing, adaptive).apply(context(), {}, {});
        for (const Index n : {1, 2, 17, 32}) {
            expect_all_inverted(context(), make_case<T>(random, {random_block<T>(random, n)}));
        }
    });
}

TEST(block_jacobi, update_takes_new_values) {
    for_reals([](auto real) {
        using T = decltype(real);
        auto random = generator();
        const Context device = context();
        auto blocks = random_blocks<T>(random, 300, 1, 32);
        std::vector<std::vector<T>> next;
        for (const auto& block : blocks) next.push_back(random_vector<T>(random, block.size()));
        blocks[7].assign(blocks[7].size(), T(0));
        const Case<T> before = make_case(random, blocks), after = make_case(random, next);
        BlockJacobi<T> jacobi = invert(device, before);
        EXPECT_EQ(jacobi.singular_blocks(), 1);
        const CsrMatrix<T> matrix = copy_to(device, after.matrix.view());
        jacobi.update(device, matrix.view());
        EXPECT_EQ(jacobi.singular_blocks(), 0);
        const auto updated = inverses(device, jacobi),
                   fresh = inverses(device, invert(device, after));
        for (std::size_t b = 0; b < fresh.size(); ++b) EXPECT_TRUE(same_bits(updated[b], fresh[b]));
    });
}

TEST(block_jacobi, independent_of_order) {
    for_reals([](auto real) {
        using T = decltype(real);
        auto random = generator();
        const Context device = context();
        const auto blocks = random_blocks<T>(random, 1500, 1, 32);
        std::vector<std::size_t> order(blocks.size());
        std::iota(order.begin(), order.end(), 0);
        std::shuffle(order.begin(), order.end(), random);
        std::vector<std::vector<T>> permuted;
        for (const std::size_t b : order) permuted.push_back(blocks[b]);
        const auto original = inverses(device, invert(device, make_case(random, blocks)));
        const auto moved = inverses(device, invert(device, make_case(random, permuted)));
        for (std::size_t b = 0; b < order.size(); ++b) {
            ASSERT_TRUE(same_bits(moved[b], original[order[b]]));
        }
    });
}

TEST(block_jacobi, independent_of_threads) {
    if (context().on_gpu()) GTEST_SKIP() << "the CPU backend's threads";
    for_reals([](auto real) {
        using T = decltype(real);
        auto random = generator();
        auto blocks = random_blocks<T>(random, 1500, 1, 32);
        blocks[700].assign(blocks[700].size(), T(0));
        const Case<T> given = make_case(random, blocks);
        const auto r = random_vector<T>(random, std::size_t(given.offsets.back()));
        std::vector<T> first_values, first_z;
        for (const int threads : {1, 2, 7}) {
            const Context device = host(threads);
            const BlockJacobi<T> jacobi = invert(device, given);
            std::vector<T> z(r.size());
            jacobi.apply(device, r, z);
            const auto values = copy_to_host(device, jacobi.copy_inverses(device));
            if (threads == 1) {
                first_values = values;
                first_z = z;
            }
            EXPECT_TRUE(same_bits(values, first_values));
            EXPECT_TRUE(same_bits(z, first_z));
        }
    });
}

// |z_i - sum_j x_ij r_j| <= gamma_n sum_j |x_ij| |r_j|, also beside blocks of NaN.
TEST(block_jacobi, apply_is_bounded) {
    for_reals([](auto real) {
        using T = decltype(real);
        auto random = generator();
        const Context device = context();
        for (const Index largest : {1, 2, 3, 5, 8, 17, 32}) {
            for (const Index count : {1, 2, 33, 1200}) {
                auto blocks = random_blocks<T>(random, count, 1, largest);
                blocks[std::size_t(count / 2)].assign(blocks[std::size_t(count / 2)].size(), T(0));
                const Case<T> given = make_case(random, blocks);
                const BlockJacobi<T> jacobi = invert(device, given);
                const auto x = inverses(device, jacobi);
                const auto r = random_vector<T>(random, std::size_t(given.offsets.back()));
                const Buffer<T> device_r = copy_to_buffer(device, r);
                Buffer<T> device_z(device, Offset(r.size()));
                jacobi.apply(device, device_r.view(), device_z.view());
                const auto z = copy_to_host(device, device_z);
                for (Index b = 0; b < count; ++b) {
                    const Index n = given.size(b), first = given.offsets[std::size_t(b)];
                    for (Index i = 0; i < n; ++i) {
                        const T found = z[std::size_t(first + i)];
                        if (b == count / 2) {
                            EXPECT_TRUE(std::isnan(found));
                            continue;
                        }
                        long double sum = 0, size = 0;
                        for (Index j = 0; j < n; ++j) {
                            const long double term =
                                (long double)x[std::size_t(b)][std::size_t(i + j * n)] *
                                r[std::size_t(first + j)];
                            sum += term;
                            size += std::abs(term);
                        }
                        ASSERT_LE(double(std::abs(sum - found)), gamma<T>(n) * double(size))
                            << "block " << b << " of " << count << ", row " << i << " of " << n;
                    }
                }
            }
        }
    });
}

// Every precision: the inverses as stored, and transposed, applied to several vectors.
TEST(block_jacobi, applies_what_is_kept) {
    for_reals([](auto real) {
        using T = decltype(real);
        auto random = generator();
        const Context device = context();
        const Case<T> given = make_case(random, random_blocks<T>(random, 150, 1, 40));
        const std::size_t rows = std::size_t(given.offsets.back());
        constexpr Index vectors = 3;
        const std::size_t leading = rows + 5;
        const auto r = random_vector<T>(random, leading * vectors);
        const Buffer<T> device_r = copy_to_buffer(device, r);
        for (const auto precision : {BlockPrecision::working, BlockPrecision::adaptive,
                                     BlockPrecision::f32, BlockPrecision::bf16}) {
            const BlockJacobi<T> jacobi = invert(device, given, {.precision = precision});
            const auto x = inverses(device, jacobi);
            for (const bool transposed : {false, true}) {
                Buffer<T> device_z(device, Offset(r.size()));
                fill(device, T(0), device_z.view());  // The gaps between vectors are copied, too.
                const Vectors<const T> from(device_r.data(), Offset(rows), vectors,
                                            Offset(leading));
                const Vectors<T> to(device_z.data(), Offset(rows), vectors, Offset(leading));
                if (!transposed) jacobi.apply_vectors(device, from, to);
                for (int v = 0; transposed && v < vectors; ++v) {
                    jacobi.apply_transposed(device, from[v], to[v]);
                }
                const auto z = copy_to_host(device, device_z);
                for (Index b = 0; b < given.count(); ++b) {
                    const Index n = given.size(b), first = given.offsets[std::size_t(b)];
                    for (Index i = 0; i < n; ++i) {
                        for (Index v = 0; v < vectors; ++v) {
                            long double sum = 0, size = 0;
                            for (Index j = 0; j < n; ++j) {
                                const Index e = transposed ? j + i * n : i + j * n;
                                const long double term =
                                    (long double)x[std::size_t(b)][std::size_t(e)] *
                                    r[std::size_t(first + j) + std::size_t(v) * leading];
                                sum += term;
                                size += std::abs(term);
                            }
                            const T found = z[std::size_t(first + i) + std::size_t(v) * leading];
                            ASSERT_LE(double(std::abs(sum - found)), gamma<T>(n) * double(size));
                        }
                    }
                }
            }
        }
    });
}

// All blocks but one have one size: bitwise equal to each block alone, for each position of the
// smaller one.
TEST(block_jacobi, applies_with_one_smaller_block) {
    for_reals([](auto real) {
        using T = decltype(real);
        auto random = generator();
        const Context device = context();
        const auto applied = [&](const Case<T>& given, const std::vector<T>& r) {
            Buffer<T> z(device, Offset(r.size()));
            invert(device, given).apply(device, copy_to_buffer(device, r).view(), z.view());
            return copy_to_host(device, z);
        };
        for (const std::size_t smaller : {0, 1, 6, 7}) {
            std::vector<std::vector<T>> blocks;
            for (std::size_t b = 0; b < 8; ++b) {
                blocks.push_back(random_block<T>(random, b == smaller ? 2 : 5));
            }
            const auto r = random_vector<T>(random, 7 * 5 + 2);
            const std::vector<T> z = applied(make_case(random, blocks), r);
            auto at = r.begin();
            auto found = z.begin();
            for (const auto& block : blocks) {
                const Index n = block.size() == 4 ? 2 : 5;
                const std::vector<T> own(at, at + n), expected(found, found + n);
                EXPECT_TRUE(same_bits(applied(make_case<T>(random, {block}, 0), own), expected));
                at += n;
                found += n;
            }
        }
    });
}

TEST(block_jacobi, rejects_misuse) {
    auto random = generator();
    const Context device = context();
    const Case<double> given = make_case(random, random_blocks<double>(random, 5, 3, 3));
    const CsrMatrix<double> matrix = copy_to(device, given.matrix.view());
    EXPECT_THROW(BlockJacobi<double>(device, matrix.view(), uniform_partition(device, 14, 3)),
                 InvalidArgument);
    BlockJacobi<double> jacobi(device, matrix.view(), uniform_partition(device, 15, 3));
    EXPECT_EQ(jacobi.describe(), "block_jacobi:3,blocks=uniform:3,singular=stop");
    Buffer<double> r(device, 15), z(device, 14);
    EXPECT_THROW(jacobi.apply(device, std::as_const(r).view(), z.view()), InvalidArgument);
    EXPECT_THROW(jacobi.apply_transposed(device, r.view(), z.view()), InvalidArgument);
    CsrView<double> smaller = matrix.view();
    smaller.rows = smaller.columns = 14;
    EXPECT_THROW(jacobi.update(device, smaller), InvalidArgument);
}

TEST(block_jacobi, phases) {
    auto random = generator();
    const Context device = context();
    device.time_phases();
    const Case<double> given = make_case(random, random_blocks<double>(random, 5, 3, 3));
    const CsrMatrix<double> matrix = copy_to(device, given.matrix.view());
    const BlockJacobi<double> jacobi(device, matrix.view(), find_blocks(device, matrix.view(), 32));
    Buffer<double> r = copy_to_buffer(device, std::vector<double>(15, 1.0)), z(device, 15);
    jacobi.apply(device, std::as_const(r).view(), z.view());
    std::vector<std::string> names;
    for (const PhaseRecord& phase : device.phases()) {
        names.push_back(phase.name);
        EXPECT_GT(phase.bytes, 0);
    }
    EXPECT_EQ(names, (std::vector<std::string>{"find_blocks", "setup", "apply"}));
}

}  // namespace tessera::test
