#include "batched/test_zoo.hpp"

// Batches of one size have kernels of their own: they and the kernels for all sizes agree.

namespace tessera::test {

namespace {

/// Random matrices of n rows, every fifth one a special case: zero, constant, singular, near the
/// limits of the range, with NaN or infinity.
template <class T>
HostBatch<T> batch_with_special_cases(std::mt19937_64& random, Index count, Index n) {
    using Limits = std::numeric_limits<T>;
    HostBatch<T> batch = random_batch<T>(random, count, n, n);
    const auto values = std::size_t(n) * std::size_t(n);
    for (Index b = 3; b < count; b += 5) {
        T* const a = batch.values.data() + batch.offsets[std::size_t(b)];
        const auto each = [&](auto&& f) { std::transform(a, a + values, a, f); };
        switch (b / 5 % 9) {
            case 0:
                each([](T) { return T(0); });
                break;
            case 1:
                each([](T) { return T(1); });
                break;
            case 2:
                each([](T x) { return std::round(2 * x); });
                break;
            case 3:
                each([](T x) { return x * Limits::max(); });
                break;
            case 4:
                each([](T x) { return x * Limits::min(); });
                break;
            case 5:
                each([](T x) { return x * 1000 * Limits::denorm_min(); });
                break;
            case 6:
                a[random() % values] = Limits::quiet_NaN();
                break;
            case 7:
                a[random() % values] = -Limits::infinity();
                break;
            case 8:
                a[random() % values] *= Limits::min();
                break;
        }
    }
    return batch;
}

enum class Place { aligned, after_one_value, in_place, apart, anywhere };

/// The results of the batch with all matrices of n rows.
template <class T>
Outcome<T> uniformly_inverted(const Context& where, const HostBatch<T>& batch, Index n, Place place,
                              bool store) {
    using View = batched::BatchView<T>;
    const Index count = batch.count();
    const Offset leading = n + (place == Place::apart ? 1 : 0);
    const Offset stride = leading * n + (place == Place::apart ? 2 : 0);
    const Offset first = place == Place::after_one_value ? 1 : 0;
    const auto spread = [&](Index b, Index j) {
        return std::size_t(first + b * stride + j * leading);
    };
    std::vector<T> given(std::size_t(first + count * stride));
    for (Index b = 0; b < count; ++b) {
        const auto a = batch.matrix(b);
        for (Index j = 0; j < n; ++j) std::copy_n(&a[std::size_t(j * n)], n, &given[spread(b, j)]);
    }
    Buffer<T> a = copy_to_buffer(where, given);
    Buffer<T> x = copy_to_buffer(where, std::vector<T>(given.size(), T(-7)));
    Buffer<T>& to = place == Place::in_place ? a : x;
    std::vector<T*> starts_a, starts_x;
    for (Index b = 0; b < count; ++b) {
        starts_a.push_back(a.data() + b * stride);
        starts_x.push_back(x.data() + b * stride);
    }
    const Buffer<T*> device_a = copy_to_buffer(where, starts_a);
    const Buffer<T*> device_x = copy_to_buffer(where, starts_x);
    const auto view = [&](Buffer<T>& values, const Buffer<T*>& starts) {
        return place == Place::anywhere
                   ? View::pointers(count, n, leading, starts.data())
                   : View::strided(count, n, leading, stride, values.data() + first);
    };
    DeviceResults<T> results(where, count);
    if (store) {
        batched::invert_with_condition<T>(where, view(a, device_a), view(to, device_x),
                                          results.view());
    } else {
        batched::condition<T>(where, view(a, device_a), results.view());
    }
    Outcome<T> outcome;
    const std::vector<T> found = copy_to_host(where, to);
    for (Index b = 0; b < count; ++b) {
        for (Index j = 0; j < n; ++j) {
            const auto column = found.begin() + Offset(spread(b, j));
            outcome.inverses.insert(outcome.inverses.end(), column, column + n);
        }
    }
    outcome.info = copy_to_host(where, results.info);
    outcome.reciprocal_condition = copy_to_host(where, results.reciprocal_condition);
    return outcome;
}

}  // namespace

TEST(invert_uniform, the_same_bits_as_among_others) {
    for_reals([](auto real) {
        using T = decltype(real);
        const Context where = context();
        auto random = generator();
        for (Index n = 1; n <= 32; ++n) {
            for (const Index count : {1, 31, 133, 1030}) {
                if (fewer_run() && count != 133) continue;
                const HostBatch<T> batch = batch_with_special_cases<T>(random, count, n);
                const Outcome<T> expected = inverted(where, batch);
                EXPECT_TRUE(same_bits(inverted(where, batch, true).inverses, expected.inverses));
                for (const Place place : {Place::aligned, Place::after_one_value, Place::in_place,
                                          Place::apart, Place::anywhere}) {
                    const auto found = uniformly_inverted(where, batch, n, place, true);
                    const auto what = testing::Message()
                                      << "n = " << n << ", place " << int(place) << " of " << count;
                    EXPECT_TRUE(same_bits(found.inverses, expected.inverses)) << what;
                    EXPECT_EQ(found.info, expected.info) << what;
                    EXPECT_TRUE(
                        same_bits(found.reciprocal_condition, expected.reciprocal_condition))
                        << what;
                    const auto alone = uniformly_inverted(where, batch, n, place, false);
                    EXPECT_EQ(alone.info, expected.info) << what;
                    EXPECT_TRUE(
                        same_bits(alone.reciprocal_condition, expected.reciprocal_condition))
                        << what;
                }
            }
        }
    });
}

// A kernel may start before the previous call ends, but must not read its results.
TEST(invert_uniform, calls_follow_each_other) {
    if (!context().on_gpu()) GTEST_SKIP() << "nothing overlaps";
    for_reals([](auto real) {
        using T = decltype(real);
        const Context where = context();
        auto random = generator();
        const auto expect_order = [&](const HostBatch<T>& batch, auto&& view) {
            DeviceBatch<T> device_batch(where, batch);
            const batched::Plan plan = device_batch.plan(where);
            Buffer<T> a(where, Offset(batch.values.size())), x(where, a.size());
            DeviceResults<T> results(where, batch.count());
            const auto invert = [&](Buffer<T>& from, Buffer<T>& to) {
                const auto given = view(device_batch, from);
                batched::invert<T>(where, given, view(device_batch, to), {results.info.data()},
                                   given.sizes == nullptr ? nullptr : &plan);
            };
            const auto run = [&](auto&& after_each) {
                for (int k = 0; k < 4; ++k) {
                    invert(a, x);
                    after_each();
                    invert(x, a);
                    after_each();
                    invert(a, a);
                    after_each();
                }
            };
            const auto start = [&] {
                copy(where, std::as_const(device_batch.values).view(), a.view());
            };
            start();
            run([&] { where.synchronize(); });
            const std::vector<T> expected = copy_to_host(where, a);
            const auto graph = where.capture([&] { run([] {}); });
            for (int round = 0; round < (fewer_run() ? 1 : 5); ++round) {
                start();
                run([] {});
                EXPECT_TRUE(same_bits(copy_to_host(where, a), expected));
                start();
                graph();
                EXPECT_TRUE(same_bits(copy_to_host(where, a), expected));
            }
        };
        for (const Index n : {1, 2, 4, 7, 8, 9, 16, 24, 32, 40}) {
            const Index count = fewer_run() ? 200 : n < 16 ? 20000 : 1000;
            expect_order(random_batch<T>(random, count, n, n), [&](auto&, Buffer<T>& values) {
                return batched::BatchView<T>::uniform(count, n, values.data());
            });
        }
        expect_order(random_batch<T>(random, fewer_run() ? 300 : 3000, 0, 50),
                     [](auto& device_batch, Buffer<T>& values) {
                         auto view = device_batch.view();
                         view.values = values.data();
                         return view;
                     });
    });
}

}  // namespace tessera::test
