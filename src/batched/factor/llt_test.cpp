#include "batched/test_factor_suite.hpp"

namespace tessera::test {

TESSERA_FACTOR_TESTS(llt)

TESSERA_FACTOR_TEST(llt, only_the_lower_triangle_is_read, expect_lower_triangle)

TEST(llt, thresholds) {
    for_reals([](auto real) {
        using T = decltype(real);
        HostBatch<T> batch;
        batch.add(2, {T(4), 0, 0, T(-1)});
        batch.add(2, {T(0.0625), 0, 0, T(2)});
        for (const Method& method : methods_of(Factorisation::llt)) {
            auto found = factored<T>(context(), method, batch, {T(0.25)});
            EXPECT_EQ(found.info, (std::vector<Index>{0, 0}));
            EXPECT_EQ(found.perturbed, (std::vector<Index>{1, 1}));
            EXPECT_EQ(found.perturbation, (std::vector<T>{T(1.25), T(0.1875)}));
            EXPECT_EQ(found.smallest, (std::vector<T>{T(-1), T(0.0625)}));
            EXPECT_EQ(batch.matrix_in(found.values, 0), (std::vector<T>{2, 0, 0, T(0.5)}));
            found = factored<T>(context(), method, batch);
            EXPECT_EQ(found.info, (std::vector<Index>{2, 0}));
            EXPECT_EQ(batch.matrix_in(found.values, 0), (std::vector<T>{2, 0, 0, 0}));
        }
    });
}

}  // namespace tessera::test
