#include "batched/test_zoo.hpp"

namespace tessera::test {

namespace {

/// The condition number in the infinity norm, from an inverse in long double; 0 where that fails.
template <class T>
double exact_condition(Index n, const std::vector<T>& a) {
    std::vector<long double> x(a.begin(), a.end());
    if (reference::gauss_jordan_implicit(n, x.data()) != 0) return 0;
    return norm_inf(n, a) * norm_inf(n, x);
}

/// |1 / rcond - kappa| / kappa < 10 n eps kappa, where that bound is below 1.
template <class T>
void expect_conditions(const HostBatch<T>& batch, const Outcome<T>& outcome, const char* what) {
    const double eps = double(std::numeric_limits<T>::epsilon());
    for (Index b = 0; b < batch.count(); ++b) {
        const Index n = batch.rows(b);
        const T found = outcome.reciprocal_condition[std::size_t(b)];
        ASSERT_TRUE(std::isfinite(found)) << what << ", matrix " << b;
        if (n == 0 || outcome.info[std::size_t(b)] != 0) {
            EXPECT_EQ(found, n == 0 ? T(1) : T(0)) << what << ", matrix " << b;
            continue;
        }
        const double kappa = exact_condition(n, batch.matrix(b));
        if (!(10 * n * eps * kappa < 1)) continue;
        ASSERT_LT(std::abs(1 / double(found) - kappa), 10 * n * eps * kappa * kappa)
            << what << ", matrix " << b << ", n = " << n << ", kappa " << kappa;
    }
}

}  // namespace

TEST(condition, random_and_zoo) {
    for_reals([](auto real) {
        using T = decltype(real);
        auto random = generator();
        for (Index n = 1; n <= 34; ++n) {
            const HostBatch<T> batch = random_batch<T>(random, full_run() ? 2000 : 60, n, n);
            expect_conditions(batch, inverted(context(), batch), "random");
        }
        for (const Index n : {48, 65, 96, 127, 128}) {
            const HostBatch<T> batch = random_batch<T>(random, 4, n, n);
            expect_conditions(batch, inverted(context(), batch), "large");
        }
        const Zoo<T> zoo = make_zoo<T>(random);  // With conditions up to 1 / eps.
        expect_conditions(zoo.batch, inverted(context(), zoo.batch), "zoo");
    });
}

TEST(condition, each_result_alone_the_same_bits) {
    for_reals([](auto real) {
        using T = decltype(real);
        const Context where = context();
        auto random = generator();
        HostBatch<T> batch = random_batch<T>(random, 2000, 0, 40);
        for (Index b = 0; b < batch.count(); b += 7) {
            const auto n = std::size_t(batch.rows(b));
            std::fill_n(batch.values.begin() + batch.offsets[std::size_t(b)], n, T(0));
        }
        const Outcome<T> all = inverted(where, batch);
        for (int wanted = 0; wanted < 4; ++wanted) {
            DeviceBatch<T> device_batch(where, batch);
            DeviceResults<T> results(where, batch.count());
            auto view = results.view();
            if (!(wanted & 1)) view.info = nullptr;
            if (!(wanted & 2)) view.reciprocal_condition = nullptr;
            batched::condition<T>(where, device_batch.view(), view);
            if (wanted & 1) {
                EXPECT_EQ(copy_to_host(where, results.info), all.info);
            }
            if (wanted & 2) {
                EXPECT_TRUE(same_bits(copy_to_host(where, results.reciprocal_condition),
                                      all.reciprocal_condition));
            }
            EXPECT_TRUE(same_bits(batch.values, copy_to_host(where, device_batch.values)))
                << "the matrices were written";
        }
    });
}

// ||A|| ||X|| may be out of range where 1 / ||A|| / ||X|| is not, and the other way round.
TEST(condition, norms_at_the_ends_of_the_range) {
    for_reals([](auto real) {
        using T = decltype(real);
        using Limits = std::numeric_limits<T>;
        HostBatch<T> batch;
        const T big = std::ldexp(T(1), Limits::max_exponent - 3);
        batch.add(2, {big, 0, 0, 1 / big});
        batch.add(2, {big, 0, 0, big});
        batch.add(2, {1 / big, 0, 0, 1 / big});
        batch.add(1, {Limits::max()});
        batch.add(2, {Limits::max(), 0, Limits::max(), Limits::max()});
        const Outcome<T> outcome = inverted(context(), batch);
        EXPECT_EQ(outcome.info, std::vector<Index>(5, 0));
        EXPECT_EQ(outcome.reciprocal_condition[0], 1 / big / big);
        EXPECT_EQ(outcome.reciprocal_condition[1], T(1));
        EXPECT_EQ(outcome.reciprocal_condition[2], T(1));
        for (const T found : outcome.reciprocal_condition) EXPECT_TRUE(std::isfinite(found));
    });
}

TEST(condition, misuse_throws) {
    const Context where = context();
    Buffer<double> values(where, 64);
    using View = batched::BatchView<const double>;
    for_wrong_batches(values.data(), [&](const View& wrong) {
        EXPECT_THROW(batched::condition<double>(where, wrong, {}), InvalidArgument);
    });
    batched::condition<double>(where, View::uniform(0, 3, nullptr), {});
}

}  // namespace tessera::test
