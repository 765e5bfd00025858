#include "precond/block_jacobi/storage/block_formats.hpp"
#include "precond/block_jacobi/test_cases.hpp"

namespace tessera::test {

namespace {

/// Blocks with condition numbers from 1 to beyond 1 / eps, and entries from 2^-40 to 2^40.
template <class T>
std::vector<std::vector<T>> graded_blocks(std::mt19937_64& random, int count, Index high) {
    std::vector<std::vector<T>> blocks;
    for (int b = 0; b < count; ++b) {
        const Index n = 1 + Index(random() % std::uint64_t(high));
        auto block = random_block<T>(random, n);
        const int scale = int(random() % 81) - 40;
        const int spread = 1 + int(random() % 50);
        for (Index j = 0; j < n; ++j) {
            for (Index i = 0; i < n; ++i) {
                T& value = block[std::size_t(i + j * n)];
                if (i == j) value += 4;
                value = std::ldexp(value, scale - (n > 1 ? spread * i / (n - 1) : 0));
            }
        }
        blocks.push_back(block);
    }
    return blocks;
}

template <class T>
double largest_of(const std::vector<T>& values) {
    double largest = 0;
    for (const T value : values) largest = std::max(largest, std::abs(double(value)));
    return largest;
}

/// Whether the definition allows a block to keep `format`; -1 at a tie.
int fits(BlockPrecision format, double kappa, double largest, double accuracy) {
    const double error = unit_roundoff(format) * kappa;
    if (std::abs(error - accuracy) < 1e-3 * accuracy) return -1;
    return error < accuracy && largest >= smallest_normal(format) &&
           largest <= largest_finite(format);
}

template <class T>
std::vector<BlockPrecision> candidates() {
    if (sizeof(T) == 4) return {BlockPrecision::f16, BlockPrecision::bf16, BlockPrecision::f32};
    return {BlockPrecision::f16, BlockPrecision::bf16, BlockPrecision::f32, BlockPrecision::f64};
}

/// Checks that updates store the working inverses of `count` blocks, of size(b) rows, rounded.
template <class T, class Size>
void expect_updates_rounded(Index count, Size&& size) {
    auto random = generator();
    const Context device = context();
    const auto drawn = [&](T on_diagonal) {
        std::vector<std::vector<T>> blocks;
        for (Index b = 0; b < count; ++b) {
            const Index n = size(b);
            auto block = random_block<T>(random, n);
            for (Index i = 0; i < n; ++i) {
                block[std::size_t(i + i * n)] += on_diagonal * T(n);
                for (Index j = 0; j < i && b % 3 == 0; ++j) {
                    block[std::size_t(j + i * n)] = block[std::size_t(i + j * n)];
                }
            }
            blocks.push_back(block);
        }
        return blocks;
    };
    auto singular = drawn(T(3));
    singular[70].assign(singular[70].size(), T(1));
    const std::vector<std::vector<std::vector<T>>> steps = {drawn(T(2)), drawn(T(3)), singular,
                                                            drawn(T(4)), drawn(T(5))};
    for (const BlockPrecision precision : {BlockPrecision::adaptive, BlockPrecision::f32,
                                           BlockPrecision::bf16, BlockPrecision::f16}) {
        const SingularPolicy policy = SingularPolicy::identity;
        BlockJacobi<T> jacobi = invert(device, make_case(random, steps[1], 0),
                                       {.singular = policy, .precision = precision});
        for (std::size_t s = 0; s < steps.size(); ++s) {
            SCOPED_TRACE(testing::Message() << to_string(precision) << ", step " << s);
            const Case<T> given = make_case(random, steps[s], 0);
            const auto working = inverses(device, invert(device, given, {.singular = policy}));
            jacobi.update(device, copy_to(device, given.matrix.view()).view());
            const BlockJacobiReport report = jacobi.report();
            EXPECT_EQ(jacobi.singular_blocks(), s == 2 ? 1 : 0);
            EXPECT_FALSE(report.overflow);
            const auto formats = to_host(device, jacobi.details().formats);
            const auto found = inverses(device, jacobi);
            for (std::size_t b = 0; b < found.size(); ++b) {
                const BlockPrecision format =
                    !formats.empty()                    ? formats[b]
                    : precision == BlockPrecision::f32  ? BlockPrecision::f32
                    : precision == BlockPrecision::bf16 ? BlockPrecision::bf16
                                                        : BlockPrecision::f16;
                auto rounded = working[b];
                for (T& value : rounded) {
                    std::byte stored[8];
                    store<T>(format, value, stored);
                    value = load<T>(format, stored);
                }
                EXPECT_TRUE(same_bits(found[b], rounded)) << "block " << b;
            }
        }
    }
}

}  // namespace

// Each block has the first format that fits, by the condition number and the range of its working
// inverse, and its values are those of the working inverse, rounded.
TEST(adaptive_precision, formats_as_defined) {
    for_reals([](auto real) {
        using T = decltype(real);
        auto random = generator();
        const Context device = context();
        for (const Index high : {4, 16, 32}) {
            auto blocks = graded_blocks<T>(random, 400, high);
            blocks[7].assign(blocks[7].size(), T(0));
            const Case<T> given = make_case(random, blocks);
            const auto working = inverses(device, invert(device, given));
            for (const double accuracy : {0.1, 1e-3}) {
                const BlockJacobi<T> jacobi = invert(
                    device, given, {.precision = BlockPrecision::adaptive, .accuracy = accuracy});
                const auto found = inverses(device, jacobi);
                const auto formats = to_host(device, jacobi.details().formats);
                const auto reciprocal = to_host(device, jacobi.details().reciprocal_conditions);
                BlockJacobiReport expected;
                Offset packed_bytes = 0;
                for (std::size_t b = 0; b < blocks.size(); ++b) {
                    const BlockPrecision format = formats[b];
                    ++expected.formats[std::size_t(format)];
                    packed_bytes += Offset(blocks[b].size()) * bytes_of(format);
                    expected.stored_bytes +=
                        (Offset(blocks[b].size()) * bytes_of(format) + 7) / 8 * 8;
                    if (b == 7) {
                        EXPECT_EQ(format, candidates<T>().back());
                        continue;
                    }
                    for (const BlockPrecision candidate : candidates<T>()) {
                        const int does = candidate == candidates<T>().back()
                                             ? 1
                                             : fits(candidate, 1 / double(reciprocal[b]),
                                                    largest_of(working[b]), accuracy);
                        if (candidate == format) {
                            EXPECT_NE(does, 0) << "block " << b;
                            break;
                        }
                        EXPECT_NE(does, 1) << "block " << b << " in " << to_string(format);
                    }
                    for (std::size_t e = 0; e < found[b].size(); ++e) {
                        std::byte stored[8];
                        store<T>(format, working[b][e], stored);
                        ASSERT_EQ(found[b][e], load<T>(format, stored)) << "block " << b;
                    }
                }
                const BlockJacobiReport report = jacobi.report();
                EXPECT_EQ(report.formats, expected.formats);
                const bool one_format =
                    std::ranges::count(expected.formats, Index(blocks.size())) == 1;
                EXPECT_EQ(report.stored_bytes, one_format ? packed_bytes : expected.stored_bytes);
                EXPECT_EQ(report.rebuilds, 0);
                EXPECT_FALSE(report.overflow);
                // All formats occur, and so are tested.
                if (accuracy == 0.1 && high == 16) {
                    for (const BlockPrecision format : candidates<T>()) {
                        EXPECT_GT(report.formats[std::size_t(format)], 0) << to_string(format);
                    }
                }
            }
        }
    });
}

TEST(adaptive_precision, update_keeps_formats_until_a_block_no_longer_fits) {
    for_reals([](auto real) {
        using T = decltype(real);
        auto random = generator();
        const Context device = context();
        std::vector<std::vector<T>> blocks;
        for (int b = 0; b < 300; ++b) {
            auto block = random_block<T>(random, 1 + Index(random() % 20));
            const Index n = Index(std::lround(std::sqrt(double(block.size()))));
            for (Index i = 0; i < n; ++i) block[std::size_t(i + i * n)] += T(2 * n);
            blocks.push_back(block);
        }
        auto harder = blocks;
        harder[100] = graded_blocks<T>(random, 1, 1)[0];
        blocks[100] = {T(1)};
        harder[100] = {T(std::ldexp(1.0, 40))};  // Its inverse is below the range of f16.
        auto easier = blocks;
        for (T& value : easier[5]) value *= T(1.5);
        const Case<T> before = make_case(random, blocks, 0);
        BlockJacobi<T> jacobi = invert(device, before, {.precision = BlockPrecision::adaptive});
        const auto formats = to_host(device, jacobi.details().formats);
        EXPECT_EQ(formats[100], BlockPrecision::f16);
        const auto update = [&](const std::vector<std::vector<T>>& to) {
            const Case<T> after = make_case(random, to, 0);
            const CsrMatrix<T> matrix = copy_to(device, after.matrix.view());
            jacobi.update(device, matrix.view());
        };
        update(easier);
        EXPECT_EQ(jacobi.report().rebuilds, 0);
        EXPECT_EQ(to_host(device, jacobi.details().formats), formats);
        update(harder);
        EXPECT_EQ(jacobi.report().rebuilds, 1);
        EXPECT_EQ(to_host(device, jacobi.details().formats)[100], BlockPrecision::bf16);
        const auto fresh = inverses(device, invert(device, make_case(random, harder, 0),
                                                   {.precision = BlockPrecision::adaptive}));
        const auto rebuilt = inverses(device, jacobi);
        for (std::size_t b = 0; b < fresh.size(); ++b) EXPECT_TRUE(same_bits(rebuilt[b], fresh[b]));
        update(blocks);  // bf16 represents 1 as well.
        EXPECT_EQ(jacobi.report().rebuilds, 1);
        EXPECT_EQ(to_host(device, jacobi.details().formats)[100], BlockPrecision::bf16);
        auto singular = blocks;
        singular[200].assign(singular[200].size(), T(0));
        update(singular);
        EXPECT_EQ(jacobi.report().rebuilds, 2);
        EXPECT_EQ(jacobi.singular_blocks(), 1);
    });
}

TEST(adaptive_precision, one_format_is_packed_until_another_is_needed) {
    for_reals([](auto real) {
        using T = decltype(real);
        auto random = generator();
        const Context device = context();
        std::vector<std::vector<T>> blocks = random_blocks<T>(random, 150, 1, 31);
        blocks[50] = {T(1)};
        Offset values = 0;
        for (auto& block : blocks) {
            const Index n = Index(std::lround(std::sqrt(double(block.size()))));
            for (Index i = 0; i < n; ++i) block[std::size_t(i + i * n)] += T(2 * n);
            values += Offset(block.size());
        }
        auto mixed = blocks;
        mixed[50] = {T(std::ldexp(1.0, 40))};
        const BlockJacobiOptions adaptive{.precision = BlockPrecision::adaptive};
        const auto expect_as_fresh = [&](const BlockJacobi<T>& jacobi, const auto& given) {
            const auto fresh = inverses(device, invert(device, given, adaptive));
            const auto found = inverses(device, jacobi);
            for (std::size_t b = 0; b < fresh.size(); ++b) {
                EXPECT_TRUE(same_bits(found[b], fresh[b])) << "block " << b;
            }
        };
        const Case<T> before = make_case(random, blocks, 0);
        const Case<T> after = make_case(random, mixed, 0);
        BlockJacobi<T> jacobi = invert(device, before, adaptive);
        EXPECT_EQ(jacobi.report().formats[std::size_t(BlockPrecision::f16)], 150);
        EXPECT_EQ(jacobi.report().stored_bytes, 2 * values);
        expect_as_fresh(jacobi, before);
        jacobi.update(device, copy_to(device, after.matrix.view()).view());
        EXPECT_EQ(jacobi.report().rebuilds, 1);
        EXPECT_EQ(jacobi.report().formats[std::size_t(BlockPrecision::bf16)], 1);
        EXPECT_GT(jacobi.report().stored_bytes, 2 * values);
        expect_as_fresh(jacobi, after);
    });
}

TEST(adaptive_precision, one_format_for_all) {
    for_reals([](auto real) {
        using T = decltype(real);
        auto random = generator();
        const Context device = context();
        const Case<T> given = make_case(random, random_blocks<T>(random, 200, 1, 32));
        const auto working = inverses(device, invert(device, given));
        for (const auto& [precision, format] :
             {std::pair{BlockPrecision::f32, BlockPrecision::f32},
              std::pair{BlockPrecision::bf16, BlockPrecision::bf16},
              std::pair{BlockPrecision::f16, BlockPrecision::f16}}) {
            const BlockJacobi<T> jacobi = invert(device, given, {.precision = precision});
            EXPECT_TRUE(jacobi.details().formats.empty());
            const auto found = inverses(device, jacobi);
            Offset values = 0;
            for (std::size_t b = 0; b < found.size(); ++b) {
                values += Offset(found[b].size());
                for (std::size_t e = 0; e < found[b].size(); ++e) {
                    std::byte stored[8];
                    store<T>(format, working[b][e], stored);
                    ASSERT_EQ(found[b][e], load<T>(format, stored)) << "block " << b;
                }
            }
            const BlockJacobiReport report = jacobi.report();
            EXPECT_EQ(report.stored_bytes, values * bytes_of(format));
            EXPECT_EQ(report.working_bytes, values * Offset(sizeof(T)));
            EXPECT_EQ(report.formats[std::size_t(format)], 200);
        }
    });
    auto random = generator();
    const Context device = context();
    for (const double entry : {0x1p-200, 0x1p200}) {
        const Case<double> beyond = make_case<double>(random, {{entry}, {1}});
        for (const auto precision :
             {BlockPrecision::f32, BlockPrecision::bf16, BlockPrecision::f16}) {
            EXPECT_TRUE(invert(device, beyond, {.precision = precision}).report().overflow);
        }
        EXPECT_FALSE(invert(device, beyond, {.precision = BlockPrecision::f64}).report().overflow);
    }
}

// With precision f16 blocks outside the range of f16 are stored in bf16, and updates, also those
// after which a block no longer fits, store the working inverses, rounded.
TEST(adaptive_precision, f16_with_blocks_outside_its_range) {
    for_reals([](auto real) {
        using T = decltype(real);
        auto random = generator();
        const Context device = context();
        const auto drawn = [&](Index b, int exponent) {
            const Index n = 1 + b % 32;
            auto block = random_block<T>(random, n);
            for (Index i = 0; i < n; ++i) block[std::size_t(i + i * n)] += T(2 * n);
            for (T& value : block) value = std::ldexp(value, exponent);
            return block;
        };
        // Entries of 1; of 2^38, as of steel in pascals, beside rows of 1; and of 2^-40.
        std::vector<std::vector<T>> usual, large, mixed, small;
        for (Index b = 0; b < 160; ++b) {
            usual.push_back(drawn(b, 0));
            large.push_back(drawn(b, 38));
            mixed.push_back(drawn(b, b % 3 == 0 ? 0 : 38));
            small.push_back(drawn(b, -40));
        }
        auto singular = mixed;
        singular[70].assign(singular[70].size(), T(0));
        const BlockJacobiOptions f16{.singular = SingularPolicy::identity,
                                     .precision = BlockPrecision::f16};
        const auto check = [&](const BlockJacobi<T>& jacobi, const Case<T>& given) {
            const auto working =
                inverses(device, invert(device, given, {.singular = SingularPolicy::identity}));
            const auto formats = to_host(device, jacobi.details().formats);
            const auto found = inverses(device, jacobi);
            const BlockJacobiReport report = jacobi.report();
            EXPECT_FALSE(report.overflow);
            EXPECT_EQ(report.formats[2] + report.formats[3], Index(found.size()));
            for (std::size_t b = 0; b < found.size(); ++b) {
                const BlockPrecision format = formats.empty() ? BlockPrecision::f16 : formats[b];
                const double largest = largest_of(working[b]);
                const bool fits_f16 = largest >= smallest_normal(BlockPrecision::f16) &&
                                      largest <= largest_finite(BlockPrecision::f16);
                EXPECT_TRUE(fits_f16 || format == BlockPrecision::bf16) << "block " << b;
                for (std::size_t e = 0; e < found[b].size(); ++e) {
                    std::byte stored[8];
                    store<T>(format, working[b][e], stored);
                    ASSERT_EQ(found[b][e], load<T>(format, stored)) << "block " << b;
                }
            }
        };
        for (const auto& start : {usual, large, mixed, small, singular}) {
            const Case<T> first = make_case(random, start, 0);
            BlockJacobi<T> jacobi = invert(device, first, f16);
            check(jacobi, first);
            for (const auto& next : {large, usual, singular, mixed, small}) {
                const Case<T> given = make_case(random, next, 0);
                jacobi.update(device, copy_to(device, given.matrix.view()).view());
                check(jacobi, given);
            }
        }
        const Case<T> given = make_case(random, mixed, 0);
        const BlockJacobiReport report = invert(device, given, f16).report();
        EXPECT_EQ(report.formats[std::size_t(BlockPrecision::f16)], 54);
        EXPECT_EQ(report.formats[std::size_t(BlockPrecision::bf16)], 106);
        EXPECT_FALSE(invert(device, make_case(random, usual, 0), f16).report().formats[2] > 0);
    });
}

// If the formats stay, an update writes them directly, without storing the computed inverses; after
// an update with a singular block it does not. In both cases the stored values are those of the
// working inverse, rounded.
TEST(adaptive_precision, updates_round_the_working_inverses) {
    for_reals([](auto real) {
        using T = decltype(real);
        expect_updates_rounded<T>(160, [](Index b) { return 1 + b % 32; });
        for (Index n = fewer_run() ? 8 : 4; n <= 32; n += fewer_run() ? 8 : 4) {
            expect_updates_rounded<T>(80, [&](Index) { return n; });
        }
    });
}

ReportValues list(const ReportValue& value) { return std::get<ReportValues>(value.value); }

/// The last value of the blocks.
ReportValues worst_blocks(const BlockJacobiReport& report) {
    return list(list(report.values.at(0)).back());
}

TEST(adaptive_precision, report) {
    auto random = generator();
    const Context device = context();
    const double tiny = 0x1p-50;
    const double nan = std::numeric_limits<double>::quiet_NaN();
    // Condition numbers 1, 100, 2^50, infinity, infinity.
    const Case<double> given = make_case<double>(
        random, {{1}, {1, 0, 0, 100}, {tiny, 0, 0, 1}, {0, 0, 0, 0}, {1, 0, nan, 1}}, 0);
    const BlockJacobi<double> jacobi = invert(device, given);
    const BlockJacobiReport report = jacobi.report();
    EXPECT_EQ(jacobi.singular_blocks(), 2);
    EXPECT_EQ(report.near_singular, 1);
    EXPECT_EQ(report.first_non_finite_row, 7);
    EXPECT_EQ(report.conditions[0], 1);
    EXPECT_EQ(report.conditions[1] + report.conditions[2], 1);  // 100, or slightly less.
    EXPECT_EQ(report.conditions[15], 1);
    EXPECT_EQ(report.stored_bytes, 17 * 8);
    const auto worst = worst_blocks(report);
    ASSERT_EQ(worst.size(), 5u);
    const std::vector<Index> order{3, 4, 2, 1, 0}, rows{5, 7, 3, 1, 0};
    for (std::size_t b = 0; b < 5; ++b) {
        const auto block = list(worst[b]);  // Number, first row, rows, condition, format.
        EXPECT_EQ(std::get<Offset>(block[0].value), order[b]);
        EXPECT_EQ(std::get<Offset>(block[1].value), rows[b]);
        EXPECT_EQ(std::get<Offset>(block[2].value), order[b] == 0 ? 1 : 2);
    }
    EXPECT_TRUE(std::isinf(std::get<double>(list(worst[1])[3].value)));
    EXPECT_NEAR(std::get<double>(list(worst[2])[3].value), 0x1p50, 1e-3 * 0x1p50);
    const BlockJacobiReport nothing = invert(device, make_case<double>(random, {})).report();
    EXPECT_TRUE(worst_blocks(nothing).empty());
    EXPECT_EQ(nothing.stored_bytes, 0);
}

TEST(adaptive_precision, rejects_misuse) {
    auto random = generator();
    const Context device = context();
    const Case<float> given = make_case(random, random_blocks<float>(random, 5, 3, 3));
    EXPECT_THROW(invert(device, given, {.precision = BlockPrecision::f64}), InvalidArgument);
    EXPECT_THROW(invert(device, given, {.precision = BlockPrecision::adaptive, .accuracy = 0}),
                 InvalidArgument);
    const BlockJacobi<float> jacobi =
        invert(device, given, {.precision = BlockPrecision::adaptive, .accuracy = 0.25});
    EXPECT_EQ(jacobi.describe(),
              "block_jacobi:3,blocks=given,singular=stop,precision=adaptive,accuracy=0.25");
}

}  // namespace tessera::test
