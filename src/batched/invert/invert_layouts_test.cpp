#include "batched/test_zoo.hpp"

namespace tessera::test {

namespace {

template <class T>
constexpr T guard = PlacedBatch<T>::guard;

/// Random matrices, every fifth one a special case: zero, constant, singular, near the limits of
/// the range, with NaN or infinity.
template <class T>
HostBatch<T> spotted_batch(std::mt19937_64& random, Index count, Index low, Index high) {
    using Limits = std::numeric_limits<T>;
    HostBatch<T> batch = random_batch<T>(random, count, low, high);
    for (Index b = 3; b < count; b += 5) {
        const auto n = std::size_t(batch.rows(b)), values = n * n;
        if (n == 0) continue;
        T* const a = batch.at(b);
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

template <class T>
using View = batched::BatchView<T>;

/// Inverts `a` into `x` or, where x is null, in place; returns all values of the result's array.
template <class T>
Outcome<T> inverted_values(const Context& where, const View<T>& a, const View<T>& x,
                           const Buffer<T>& values, const batched::Plan* plan = nullptr) {
    DeviceResults<T> results(where, a.count);
    batched::invert_with_condition(where, a, x, results.view(), plan);
    Outcome<T> outcome;
    outcome.inverses = copy_to_host(where, values);
    copy_outputs(where, results, outcome);
    return outcome;
}

template <class T>
void expect_same(const Outcome<T>& found, const Outcome<T>& expected,
                 const std::vector<T>& expected_values, const char* what, Index n) {
    EXPECT_TRUE(same_bits(found.inverses, expected_values)) << what << ", n = " << n;
    EXPECT_EQ(found.info, expected.info) << what << ", n = " << n;
    EXPECT_TRUE(same_bits(found.reciprocal_condition, expected.reciprocal_condition)) << what;
}

}  // namespace

TEST(invert_layouts, every_layout_the_same_bits_and_nothing_beside) {
    for_reals([](auto real) {
        using T = decltype(real);
        const Context where = context();
        auto random = generator();
        const auto expect = [&](Index n, Index count) {
            const HostBatch<T> batch = spotted_batch<T>(random, count, n, n);
            HostBatch<T> nothing = batch;
            std::ranges::fill(nothing.values, guard<T>);
            const Outcome<T> expected = inverted(where, batch);
            EXPECT_TRUE(same_bits(inverted(where, batch, true).inverses, expected.inverses));
            for (const auto& [gap, first] : {std::pair{0, 0}, {0, 1}, {1, 0}, {3, 0}}) {
                PlacedBatch<T> a(where, batch, gap, first), x(where, nothing, gap, first);
                const auto result = a.spread(expected.inverses);
                DeviceResults<T> alone(where, count);
                batched::condition<T>(where, a.strided(), alone.view());
                Outcome<T> found;
                copy_outputs(where, alone, found);
                found.inverses = result;
                expect_same(found, expected, result, "condition", n);
                expect_same(inverted_values(where, a.strided(), x.strided(), x.values), expected,
                            result, "strided", n);
                EXPECT_TRUE(same_bits(copy_to_host(where, a.values), a.spread(batch.values)))
                    << "the given were written";
                x.values = copy_to_buffer(where, a.spread(batch.values));
                expect_same(inverted_values(where, x.strided(), x.strided(), x.values), expected,
                            result, "in place", n);
                expect_same(inverted_values(where, a.pointers(), a.pointers(), a.values), expected,
                            result, "pointers", n);
            }
        };
        for (Index n = 1; n <= 32; ++n) {
            for (const Index count : {1, 31, 133, 1030}) {
                if (!fewer_run() || count == 133) expect(n, count);
            }
        }
        for (const Index n : {33, 50, 128}) expect(n, 13);
    });
}

TEST(invert_layouts, plan_order_and_neighbours_do_not_matter) {
    for_reals([](auto real) {
        using T = decltype(real);
        const Context where = context();
        auto random = generator();
        for (const Index largest : {6, 32, 128}) {
            const HostBatch<T> batch =
                spotted_batch<T>(random, largest > 32 ? 150 : 1500, 0, largest);
            const Outcome<T> expected = inverted(where, batch);
            HostBatch<T> apart = batch;  // Guards between matrices; all alignments.
            std::vector<T> wanted;
            apart.values.clear();
            for (Index b = 0; b < batch.count(); ++b) {
                for (std::uint64_t k = random() % 3; k > 0; --k) apart.values.push_back(guard<T>);
                wanted.resize(apart.values.size(), guard<T>);
                apart.offsets[std::size_t(b)] = Offset(apart.values.size());
                const auto given = batch.matrix(b), inverse = batch.matrix_in(expected.inverses, b);
                apart.values.insert(apart.values.end(), given.begin(), given.end());
                wanted.insert(wanted.end(), inverse.begin(), inverse.end());
            }
            DeviceBatch<T> device_batch(where, apart);
            const batched::Plan plan = device_batch.plan(where);
            expect_same(inverted_values(where, device_batch.view(), device_batch.view(),
                                        device_batch.values, &plan),
                        expected, wanted, "a plan, in place", largest);

            const auto order = random_order(random, batch.count());
            HostBatch<T> shuffled;
            for (const Index b : order) shuffled.add(batch.rows(b), batch.matrix(b));
            const Outcome<T> found = inverted(where, shuffled);
            for (Index k = 0; k < batch.count(); ++k) {
                const Index b = order[std::size_t(k)];
                ASSERT_TRUE(same_bits(shuffled.matrix_in(found.inverses, k),
                                      batch.matrix_in(expected.inverses, b)));
                ASSERT_EQ(found.info[std::size_t(k)], expected.info[std::size_t(b)]);
                ASSERT_EQ(found.reciprocal_condition[std::size_t(k)],
                          expected.reciprocal_condition[std::size_t(b)]);
            }
            for (Index b = 0; b < batch.count(); b += 97) {
                HostBatch<T> alone;
                alone.add(batch.rows(b), batch.matrix(b));
                EXPECT_TRUE(same_bits(inverted(where, alone).inverses,
                                      batch.matrix_in(expected.inverses, b)));
            }
        }
    });
}

TEST(invert_layouts, threads_do_not_matter) {
    for_reals([](auto real) {
        using T = decltype(real);
        auto random = generator();
        const HostBatch<T> batch = spotted_batch<T>(random, 3000, 0, 40);
        EXPECT_TRUE(same_bits(inverted(host(1), batch), inverted(host(7), batch)));
    });
}

TEST(invert_layouts, scaling_by_powers_of_two_is_exact) {
    for_reals([](auto real) {
        using T = decltype(real);
        auto random = generator();
        HostBatch<T> batch = random_batch<T>(random, 1000, 1, 40);
        for (Index b = 0; b < batch.count(); b += 11) {
            batch.values[std::size_t(batch.offsets[std::size_t(b)])] = T(0);
        }
        const Outcome<T> expected = inverted(context(), batch);
        for (const int power : {-30, -1, 7, 30}) {
            HostBatch<T> scaled = batch;
            for (T& value : scaled.values) value = std::ldexp(value, power);
            Outcome<T> found = inverted(context(), scaled);
            for (T& value : found.inverses) value = std::ldexp(value, power);
            EXPECT_TRUE(same_bits(found.reciprocal_condition, expected.reciprocal_condition));
            EXPECT_EQ(found.info, expected.info);
            for (std::size_t k = 0; k < found.inverses.size(); ++k) {
                ASSERT_TRUE(found.inverses[k] == expected.inverses[k] ||
                            (std::isnan(found.inverses[k]) && std::isnan(expected.inverses[k])));
            }
        }
    });
}

TEST(invert_layouts, row_major_is_the_transpose) {
    for_reals([](auto real) {
        using T = decltype(real);
        const Context where = context();
        auto random = generator();
        for (const Index n : {1, 2, 3, 4, 7, 8, 16, 17, 28, 29, 32, 33, 64}) {
            const HostBatch<T> batch = spotted_batch<T>(random, 37, n, n);
            const Outcome<T> expected = inverted(where, batch, true);
            DeviceBatch<T> device_batch(where, batch);
            Buffer<T> inverses(where, Offset(batch.values.size()));
            Buffer<Index> info(where, batch.count());
            auto a = View<T>::uniform(batch.count(), n, device_batch.values.data(),
                                      batched::Layout::row_major);
            auto x = a;
            x.values = inverses.data();
            batched::invert(where, a, x, info.data());
            EXPECT_TRUE(same_bits(copy_to_host(where, inverses), expected.inverses)) << n;
            EXPECT_EQ(copy_to_host(where, info), expected.info) << n;

            // With the condition number the rows of A are pivoted, wherever they lie.
            HostBatch<T> transposed;
            for (Index b = 0; b < batch.count(); ++b) {
                transposed.add(n, transpose(n, batch.matrix(b)));
            }
            Outcome<T> found = inverted_values(where, a, x, inverses);
            batched::invert_with_condition(where, a, x, {info.data()});
            EXPECT_TRUE(same_bits(copy_to_host(where, inverses), found.inverses)) << n;
            EXPECT_EQ(found.info, inverted(where, transposed).info) << n;
            for (Index b = 0; b < batch.count(); ++b) {
                const auto inverse = transpose(n, batch.matrix_in(found.inverses, b));
                std::copy(inverse.begin(), inverse.end(),
                          found.inverses.begin() + batch.offsets[std::size_t(b)]);
            }
            expect_inverses(transposed, found, "row-major");
        }
    });
}

// A kernel may start before the previous call ends, but must not read its results.
TEST(invert_layouts, calls_follow_each_other) {
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

TEST(invert_layouts, misuse_throws) {
    const Context where = context();
    Buffer<double> values(where, 64);
    Buffer<double> other(where, 64);
    const auto expect_rejected = [&](const View<const double>& a, const View<double>& x,
                                     const batched::Plan* plan = nullptr) {
        EXPECT_THROW(batched::invert(where, a, x, nullptr, plan), InvalidArgument);
        EXPECT_THROW(batched::invert_with_condition(where, a, x, {}, plan), InvalidArgument);
    };
    const auto a = View<const double>::uniform(4, 3, values.data());
    const auto x = View<double>::uniform(4, 3, other.data());
    for_wrong_batches(values.data(), [&](const View<double>& wrong) {
        expect_rejected(wrong, x);
        expect_rejected(a, wrong);
    });
    expect_rejected(a, View<double>::uniform(3, 3, other.data()));
    expect_rejected(a, View<double>::uniform(4, 2, other.data()));
    expect_rejected(a, View<double>::strided(4, 3, 3, 0, other.data()));
    expect_rejected(a, View<double>::uniform(4, 3, other.data(), batched::Layout::row_major));
    const Buffer<Index> sizes = copy_to_buffer(where, std::vector<Index>{1, 200});
    const Buffer<Offset> offsets = copy_to_buffer(where, std::vector<Offset>{0, 1});
    expect_rejected(View<const double>::packed(2, sizes.data(), offsets.data(), values.data()),
                    View<double>::packed(2, sizes.data(), offsets.data(), other.data()));
    expect_rejected(View<const double>::packed(4, sizes.data(), offsets.data(), values.data()), x);
    const batched::Plan plan(where, 1, sizes.data());
    expect_rejected(a, x, &plan);
    batched::invert(where, View<const double>::uniform(0, 3, nullptr),
                    View<double>::uniform(0, 3, nullptr));
}

}  // namespace tessera::test
