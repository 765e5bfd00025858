#pragma once

#include "batched/test_factor_cases.hpp"
#include "batched/test_factor_runs.hpp"

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
    TESSERA_FACTOR_TEST(suite, layouts, expect_layouts)                             \
    TESSERA_FACTOR_TEST(suite, runs, expect_runs)                                   \
    TESSERA_FACTOR_TEST(suite, exactly_where_arithmetic_is, expect_exact)           \
    TESSERA_FACTOR_TEST(suite, thresholds_on_random_matrices, expect_thresholds)    \
    TESSERA_FACTOR_TEST(suite, determinants, expect_determinants)
