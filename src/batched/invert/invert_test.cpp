#include "batched/test_zoo.hpp"

namespace tessera::test {

namespace {

/// Both residuals of random matrices stay below this (decided once for all kernels).
constexpr double random_bound = 10;

template <class T>
void expect_all_inverted(const HostBatch<T>& batch, const char* what,
                         double right_bound = std::numeric_limits<double>::infinity()) {
    const Outcome<T> outcome = inverted(context(), batch, true);
    expect_failures_only_near_singular(batch, outcome, what);
    expect_inverses(batch, outcome, what, right_bound);
}

/// Outputs reported for a failed matrix.
template <class T>
void expect_failed(const Outcome<T>& outcome, const HostBatch<T>& batch, Index b) {
    const auto at = std::size_t(b);
    EXPECT_TRUE(all_nan(batch.matrix_in(outcome.inverses, b))) << "matrix " << b;
    EXPECT_EQ(outcome.reciprocal_condition[at], T(0)) << "matrix " << b;
}

}  // namespace

TEST(invert, worked_example) {
    for_reals([](auto real) {
        using T = decltype(real);
        HostBatch<T> batch;
        batch.add(3, {0, 4, 0, 2, 0, 1, 0, 4, 1});
        batch.add(0, {});
        batch.add(1, {T(-0.25)});
        const Outcome<T> outcome = inverted(context(), batch);
        const std::vector<T> expected{T(0.5), T(0.5), T(-0.5), T(0.25), 0, 0, -1, 0, 1, -4};
        EXPECT_EQ(outcome.inverses, expected);
        EXPECT_EQ(outcome.info, std::vector<Index>(3, 0));
        // ||A|| = 8 and ||X|| = 7/4.
        EXPECT_EQ(outcome.reciprocal_condition[0], T(1) / T(8) / T(1.75));
        EXPECT_EQ(outcome.reciprocal_condition[1], T(1));
        EXPECT_EQ(outcome.reciprocal_condition[2], T(1));
    });
}

TEST(invert, random_matrices) {
    for_reals([](auto real) {
        using T = decltype(real);
        auto random = generator();
        const auto expect = [&](Index count, Index low, Index high, const char* what) {
            expect_all_inverted(random_batch<T>(random, count, low, high), what, random_bound);
        };
        for (Index n = 1; n <= 32; ++n) {
            for (int round = 0; round < (full_run() ? 50 : 1); ++round)
                expect(2000, n, n, "random");
        }
        for (Index n = 33; n <= batched::largest_size; n += full_run() ? 1 : 5) {
            expect(full_run() ? 100 : 9, n, n, "large");
        }
        expect(3, 128, 128, "largest");
        expect(2500, 0, 32, "mixed");
        expect(70000, 0, 4, "many");
        expect(200, 0, 128, "mixed, large");
        expect(1, 32, 32, "one");
        expect(5, 0, 0, "empty");
        expect_all_inverted(HostBatch<T>(), "none");
    });
}

TEST(invert, zoo) {
    for_reals([](auto real) {
        using T = decltype(real);
        auto random = generator();
        const Zoo<T> zoo = make_zoo<T>(random);
        for (const bool with_condition : {false, true}) {
            const Outcome<T> outcome = with_condition ? inverted(context(), zoo.batch)
                                                      : inverted(context(), zoo.batch, true);
            for (Index b = 0; b < zoo.batch.count(); ++b) {
                const Index n = zoo.batch.rows(b);
                auto copy = zoo.batch.matrix(b);
                const bool fails = reference::gauss_jordan_implicit(n, copy.data()) != 0;
                EXPECT_EQ(outcome.info[std::size_t(b)] != 0, fails)
                    << zoo.names[std::size_t(b)] << ", n = " << n;
            }
            expect_inverses(zoo.batch, outcome, "zoo");
        }
    });
}

TEST(invert, exactly_where_arithmetic_is) {
    for_reals([](auto real) {
        using T = decltype(real);
        auto random = generator();
        HostBatch<T> batch;
        for (Index n = 1; n <= batched::largest_size; n += n < 40 ? 1 : 11) {
            batch.add(n, exact_block<T>(random, n, -1));
            const auto order = random_order(random, n);
            batch.add(n, block_of<T>(n, [&](Index i, Index j) {
                          return order[std::size_t(i)] == j ? std::ldexp(1.0, i % 9 - 4) : 0;
                      }));
        }
        const Outcome<T> outcome = inverted(context(), batch);
        for (Index b = 0; b < batch.count(); ++b) {
            const Index n = batch.rows(b);
            auto expected = batch.matrix(b);
            ASSERT_EQ(reference::gauss_jordan_implicit(n, expected.data()), 0);
            EXPECT_EQ(batch.matrix_in(outcome.inverses, b), expected) << "n = " << n;
            EXPECT_EQ(outcome.info[std::size_t(b)], 0);
        }
    });
}

TEST(invert, info_names_the_first_zero_pivot) {
    for_reals([](auto real) {
        using T = decltype(real);
        auto random = generator();
        HostBatch<T> batch;
        std::vector<Index> expected;
        for (Index n = 1; n <= batched::largest_size; n += n < 34 ? 1 : 13) {
            for (Index zero = 0; zero < n; zero += n < 34 ? 1 : 7) {
                batch.add(n, exact_block<T>(random, n, zero));
                expected.push_back(zero + 1);
                auto column = random_block<T>(random, n);
                for (Index i = 0; i < n; ++i) column[std::size_t(i + zero * n)] = 0;
                batch.add(n, column);
                expected.push_back(zero + 1);
                auto row = random_block<T>(random, n);
                for (Index j = 0; j < n; ++j) row[std::size_t(zero + j * n)] = 0;
                batch.add(n, row);
                expected.push_back(n);
            }
            batch.add(n, std::vector<T>(std::size_t(n * n), T(1)));
            expected.push_back(n == 1 ? 0 : 2);
        }
        const Outcome<T> outcome = inverted(context(), batch);
        EXPECT_EQ(outcome.info, expected);
        for (Index b = 0; b < batch.count(); ++b) {
            if (expected[std::size_t(b)] != 0) expect_failed(outcome, batch, b);
        }
    });
}

TEST(invert, pivots_and_inverses_out_of_range) {
    for_reals([](auto real) {
        using T = decltype(real);
        using Limits = std::numeric_limits<T>;
        HostBatch<T> batch;
        const T scale = std::ldexp(T(1), Limits::max_exponent - 24);
        batch.add(1, {Limits::denorm_min()});  // Its reciprocal is not finite.
        batch.add(1, {Limits::infinity()});
        batch.add(1, {Limits::quiet_NaN()});
        batch.add(1, {T(0)});
        batch.add(1, {T(-0.0)});
        batch.add(2, {1 / scale, 0, scale, 1});  // The inverse has -scale^2.
        batch.add(3, {1, 0, 0, 0, Limits::denorm_min(), 0, 0, 0, 1});
        batch.add(1, {Limits::max()});
        batch.add(1, {Limits::min()});
        const Outcome<T> outcome = inverted(context(), batch);
        EXPECT_EQ(outcome.info, (std::vector<Index>{1, 1, 1, 1, 1, 2, 2, 0, 0}));
        for (Index b = 0; b < 7; ++b) expect_failed(outcome, batch, b);
        EXPECT_EQ(batch.matrix_in(outcome.inverses, 7)[0], 1 / Limits::max());
        EXPECT_EQ(batch.matrix_in(outcome.inverses, 8)[0], 1 / Limits::min());
    });
}

TEST(invert, what_is_not_finite_fails_alone) {
    for_reals([](auto real) {
        using T = decltype(real);
        using Limits = std::numeric_limits<T>;
        auto random = generator();
        for (const bool large : {false, true}) {
            const HostBatch<T> sound = random_batch<T>(random, large ? 120 : 3000, large ? 25 : 1,
                                                       large ? batched::largest_size : 24);
            HostBatch<T> broken = sound;
            for (Index b = 0; b < sound.count(); b += 3) {
                const auto n = std::size_t(sound.rows(b));
                T* values = broken.at(b);
                if (b % 4 == 0) {
                    std::fill(values, values + n * n, T(0));
                } else {
                    values[random() % (n * n)] = b % 4 == 1   ? Limits::quiet_NaN()
                                                 : b % 4 == 2 ? Limits::infinity()
                                                              : -Limits::infinity();
                }
            }
            const Outcome<T> expected = inverted(context(), sound);
            const Outcome<T> outcome = inverted(context(), broken);
            for (Index b = 0; b < sound.count(); ++b) {
                if (b % 3 == 0) {
                    EXPECT_GT(outcome.info[std::size_t(b)], 0) << "matrix " << b;
                    expect_failed(outcome, broken, b);
                    continue;
                }
                EXPECT_TRUE(same_bits(sound.matrix_in(outcome.inverses, b),
                                      sound.matrix_in(expected.inverses, b)))
                    << "matrix " << b;
                EXPECT_EQ(outcome.reciprocal_condition[std::size_t(b)],
                          expected.reciprocal_condition[std::size_t(b)]);
            }
        }
    });
}

// A short batch repeated until the values pass 2^31; every repetition must give the same bits.
TEST(invert, more_values_than_32_bits_count) {
    const Context where = context();
    constexpr Offset needed = Offset(20) << 30;
    if (!full_run()) GTEST_SKIP() << "needs TESSERA_FULL=1";
    if (where.free_memory() < needed) GTEST_SKIP() << "needs 20 GiB of free memory";
    auto random = generator();
    const HostBatch<float> period = random_batch<float>(random, 1 << 20, 1, 4);
    const auto length = Offset(period.values.size());
    const Offset repeats = (Offset(1) << 31) / length + 1;
    const Offset count = repeats * period.count();
    Buffer<float> values(where, repeats * length);
    Buffer<Index> sizes(where, count), info(where, count);
    Buffer<Offset> offsets(where, count);
    std::vector<Offset> starts = period.offsets;
    const auto part = [](auto& buffer, Offset first, Offset many) {
        return buffer.view().subspan(std::size_t(first), std::size_t(many));
    };
    for (Offset r = 0; r < repeats; ++r) {
        copy_from_host(where, std::span(period.values), part(values, r * length, length));
        copy_from_host(where, std::span(period.sizes),
                       part(sizes, r * period.count(), period.count()));
        copy_from_host(where, std::span<const Offset>(starts),
                       part(offsets, r * period.count(), period.count()));
        for (Offset& start : starts) start += length;
    }
    const auto batch = batched::BatchView<float>::packed(Index(count), sizes.data(), offsets.data(),
                                                         values.data());
    batched::invert(where, batch, batch, info.data());
    const Outcome<float> expected = inverted(where, period, true);
    expect_inverses(period, expected, "one period");
    Outcome<float> found = expected;
    for (Offset r = 0; r < repeats; ++r) {
        copy_to_host(where, std::span<const float>(part(values, r * length, length)),
                     std::span(found.inverses));
        copy_to_host(where, std::span<const Index>(part(info, r * period.count(), period.count())),
                     std::span(found.info));
        ASSERT_TRUE(same_bits(found, expected)) << "repetition " << r;
    }
}

}  // namespace tessera::test
