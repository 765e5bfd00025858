#include "batched/test_factor_cases.hpp"
#include "batched/test_factor_runs.hpp"

namespace tessera::test {

namespace {

template <class Case>
void for_all(Case&& expect) {
    for (const Method& method : methods_of(Factorisation::llt)) expect(method);
}

}  // namespace

TEST(llt, random) {
    for_reals([](auto real) { for_all(expect_random_factors<decltype(real)>); });
}

TEST(llt, torture) {
    for_reals([](auto real) { for_all(expect_torture<decltype(real)>); });
}

TEST(llt, singular) {
    for_reals([](auto real) { for_all(expect_singular<decltype(real)>); });
}

TEST(llt, non_finite) {
    for_reals([](auto real) { for_all(expect_non_finite<decltype(real)>); });
}

TEST(llt, does_not_depend_on_neighbours) {
    for_reals([](auto real) { for_all(expect_no_neighbours<decltype(real)>); });
}

TEST(llt, layouts) {
    for_reals([](auto real) { for_all(expect_layouts<decltype(real)>); });
}

TEST(llt, runs) {
    for_reals([](auto real) { for_all(expect_runs<decltype(real)>); });
}

TEST(llt, exactly_where_arithmetic_is) {
    for_reals([](auto real) { for_all(expect_exact<decltype(real)>); });
}

TEST(llt, thresholds_on_random_matrices) {
    for_reals([](auto real) { for_all(expect_thresholds<decltype(real)>); });
}

TEST(llt, determinants) {
    for_reals([](auto real) { for_all(expect_determinants<decltype(real)>); });
}

TEST(llt, only_the_lower_triangle_is_read) {
    for_reals([](auto real) { for_all(expect_lower_triangle<decltype(real)>); });
}

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
