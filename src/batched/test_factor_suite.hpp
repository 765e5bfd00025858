#pragma once

#include "batched/test_factor_cases.hpp"

// The tests of every factorisation, and those of batches of one size.

namespace tessera::test {

/// Replaces matrix b of a batch by a singular, tied or not finite one, depending on b.
template <class T>
void spoil(HostBatch<T>& batch, Index b) {
    const Index n = batch.rows(b);
    T* const a = batch.at(b);
    const Index k = b % n;
    const auto for_all_values = [&](auto&& change) {
        for (Index e = 0; e < n * n; ++e) a[e] = change(a[e]);
    };
    switch (b % 11) {
        case 1:  // Ties.
            return for_all_values([](T value) { return T(int(value * 2) % 2); });
        case 3:
            for (Index i = 0; i < n; ++i) a[i + k * n] = a[k + i * n] = T(0);
            return;
        case 4:
            return for_all_values([](T value) { return std::ldexp(value, sizeof(T) * 15); });
        case 6:
            return for_all_values([](T value) { return std::ldexp(value, -int(sizeof(T)) * 28); });
        case 7:
            a[n - 1 + k * n] = std::numeric_limits<T>::quiet_NaN();
            return;
        case 8:
            a[n - 1 + k * n] = std::numeric_limits<T>::infinity();
            return;
        case 9:
            return for_all_values([](T) { return T(0); });
        default:
            return;
    }
}

/// Factors a batch of one size in some place, with info alone, as it may have kernels of its own:
/// the results equal the expected ones bitwise, and nothing beside is written.
template <class T>
void expect_run(const Method& method, const HostBatch<T>& batch, const HostFactors<T>& expected,
                const batched::FactorOptions<T>& options, Offset gap, bool in_place) {
    const Context where = context();
    const Index count = batch.count(), n = batch.sizes[0];
    PlacedBatch<T> a(where, batch, gap), packed(where, batch);
    DeviceFactors<T> factors(where, batch.sizes);
    const auto given = gap > 0 && in_place ? a.pointers() : a.strided();
    factor<T>(where, method, given, in_place ? given : packed.strided(),
              {factors.rows.data(), factors.columns.data(), n}, {factors.info.data()}, options);
    HostFactors<T> found;
    factors.copy_permutations(where, found);
    const auto what = method.name() + ", n = " + std::to_string(n);
    EXPECT_EQ(copy_to_host(where, factors.info), expected.info) << what;
    const PlacedBatch<T>& to = in_place ? a : packed;
    const std::vector<T> values = copy_to_host(where, to.values);
    std::vector<T> wanted = expected.values;
    for (Index b = 0; b < count; ++b) {
        const auto first = Offset(b) * n;
        if (std::isnan(wanted[std::size_t(first * n)])) {  // Any NaN.
            const T nan = values[std::size_t(to.first + b * to.stride)];
            EXPECT_TRUE(std::isnan(nan)) << what << ", matrix " << b;
            std::fill_n(wanted.begin() + first * n, n * n, nan);
            continue;
        }
        const auto same = [&](const std::vector<Index>& x, const std::vector<Index>& y) {
            return std::equal(x.begin() + first, x.begin() + first + n, y.begin() + first);
        };
        EXPECT_TRUE(same(found.rows, expected.rows)) << what << ", matrix " << b;
        EXPECT_TRUE(same(found.columns, expected.columns)) << what << ", matrix " << b;
    }
    EXPECT_TRUE(same_bits(values, to.spread(wanted))) << what << ", gap " << gap;
}

/// Batches of one size have the bits of batches of many, in any layout, in place or not, also where
/// every other matrix is singular, tied or not finite.
template <class T>
void expect_runs(const Method& method) {
    auto random = generator();
    const Index count = fewer_run() ? 23 : 205;
    const std::vector<Index> sizes =
        fewer_run() ? std::vector<Index>{3, 8, 13}
                    : std::vector<Index>{1,  2,  3,  4,  6,  7,  8,  10, 11, 13,
                                         14, 16, 20, 24, 25, 27, 31, 32, 33, 50};
    for (const Index n : sizes) {
        auto batch = random_batch<T>(random, method, n > 16 ? count / 2 : count, n, n);
        for (Index b = 0; b < batch.count(); b += b < count / 2 ? 1 : 5) spoil(batch, b);
        for (const T threshold : {T(0), T(0.5)}) {
            batched::FactorOptions<T> options;
            options.threshold = threshold;
            const auto expected = factored(context(), method, batch, options);
            for (const Offset gap : {0, 3}) {
                for (const bool in_place : {false, true}) {
                    if (fewer_run() && in_place != (threshold > T(0))) continue;
                    expect_run(method, batch, expected, options, gap, in_place);
                }
            }
        }
    }
    auto mixed = random_batch<T>(random, method, count, 12, 36);
    for (Index b = 0; b < count; b += 2) spoil(mixed, b);
    const auto expected = factored(context(), method, mixed);
    auto found = factored(context(), method, mixed, {}, false, true);
    EXPECT_TRUE(same_bits(found.values, expected.values)) << method.name();
    EXPECT_EQ(found.info, expected.info) << method.name();
}

}  // namespace tessera::test

/// expect<T>(method) for every pivoting of a factorisation, which is also the name of the suite.
#define TESSERA_FACTOR_TEST(suite, name, expect)                            \
    TEST(suite, name) {                                                     \
        for_reals([](auto real) {                                           \
            for (const Method& method : methods_of(Factorisation::suite)) { \
                expect<decltype(real)>(method);                             \
            }                                                               \
        });                                                                 \
    }

/// The tests of every factorisation.
#define TESSERA_FACTOR_TESTS(suite)                                                 \
    TESSERA_FACTOR_TEST(suite, random, expect_random_factors)                       \
    TESSERA_FACTOR_TEST(suite, torture, expect_torture)                             \
    TESSERA_FACTOR_TEST(suite, singular, expect_singular)                           \
    TESSERA_FACTOR_TEST(suite, non_finite, expect_non_finite)                       \
    TESSERA_FACTOR_TEST(suite, does_not_depend_on_neighbours, expect_no_neighbours) \
    TESSERA_FACTOR_TEST(suite, runs, expect_runs)                                   \
    TESSERA_FACTOR_TEST(suite, exactly_where_arithmetic_is, expect_exact)           \
    TESSERA_FACTOR_TEST(suite, thresholds_on_random_matrices, expect_thresholds)    \
    TESSERA_FACTOR_TEST(suite, determinants, expect_determinants)
