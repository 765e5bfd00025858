#include "batched/test_zoo.hpp"

namespace tessera::test {

namespace {

constexpr double guard = -1234.5;

/// Matrices of n rows, `leading` between columns and `stride` between matrices, with guard values
/// in the gaps and after the last one.
template <class T>
std::vector<T> spread(const HostBatch<T>& batch, Index n, Offset leading, Offset stride) {
    std::vector<T> values(std::size_t(stride) * batch.sizes.size() + 16, T(guard));
    for (Index b = 0; b < batch.count(); ++b) {
        const auto a = batch.matrix(b);
        for (Index j = 0; j < n; ++j) {
            std::copy_n(a.begin() + j * n, n, values.begin() + b * stride + j * leading);
        }
    }
    return values;
}

/// A batch with failing matrices in it.
template <class T>
HostBatch<T> spotted_batch(std::mt19937_64& random, Index count, Index low, Index high) {
    HostBatch<T> batch = random_batch<T>(random, count, low, high);
    for (Index b = 4; b < count; b += 11) {
        const auto n = batch.sizes[std::size_t(b)];
        std::fill_n(batch.values.begin() + batch.offsets[std::size_t(b)], n * n, T(b % 2));
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
        for (const Index n :
             {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 24, 28, 29, 31, 32, 33, 50, 128}) {
            const Index count = n < 33 ? 53 : 13;
            const HostBatch<T> batch = spotted_batch<T>(random, count, n, n);
            const Outcome<T> expected = inverted(where, batch);
            HostBatch<T> inverses = batch;
            inverses.values = expected.inverses;
            for (const Index gap : {0, 1, 3}) {
                const Offset leading = n + gap, stride = leading * n + 2 * gap;
                const auto given = spread(batch, n, leading, stride);
                const auto result = spread(inverses, n, leading, stride);
                Buffer<T> a = copy_to_buffer(where, given);
                Buffer<T> x = copy_to_buffer(where, std::vector<T>(given.size(), T(guard)));
                const auto at = [&](Buffer<T>& values) {
                    return View<T>::strided(count, n, leading, stride, values.data());
                };
                expect_same(inverted_values(where, at(a), at(x), x), expected, result, "strided",
                            n);
                EXPECT_TRUE(same_bits(copy_to_host(where, a), given)) << "the given were written";
                x = copy_to_buffer(where, given);
                expect_same(inverted_values(where, at(x), at(x), x), expected, result, "in place",
                            n);
                std::vector<T*> starts;
                for (Index b = 0; b < count; ++b) starts.push_back(a.data() + b * stride);
                const Buffer<T*> pointers = copy_to_buffer(where, starts);
                const auto pointed = View<T>::pointers(count, n, leading, pointers.data());
                expect_same(inverted_values(where, pointed, pointed, a), expected, result,
                            "pointers", n);
            }
        }
    });
}

TEST(invert_layouts, a_size_among_others_or_pointed_to_has_the_bits_of_its_uniform_batch) {
    for_reals([](auto real) {
        using T = decltype(real);
        const Context where = context();
        auto random = generator();
        const HostBatch<T> batch = spotted_batch<T>(random, 3000, 1, 34);
        HostBatch<T> apart = batch;  // Guards between matrices; all alignments.
        apart.values.assign(1, T(guard));
        for (Index b = 0; b < batch.count(); ++b) {
            apart.offsets[std::size_t(b)] = Offset(apart.values.size());
            const auto matrix = batch.matrix(b);
            apart.values.insert(apart.values.end(), matrix.begin(), matrix.end());
            apart.values.insert(apart.values.end(), random() % 3, T(guard));
        }
        DeviceBatch<T> device_batch(where, apart);
        const batched::Plan plan = device_batch.plan(where);
        Buffer<T> x = copy_to_buffer(where, std::vector<T>(apart.values.size(), T(guard)));
        Buffer<Index> info(where, batch.count());
        auto to = device_batch.view();
        to.values = x.data();
        batched::invert<T>(where, device_batch.view(), to, {info.data()}, &plan);
        const auto found = copy_to_host(where, x);
        const auto found_info = copy_to_host(where, info);
        batched::invert<T>(where, device_batch.view(), device_batch.view(), {info.data()}, &plan);
        const auto in_place = copy_to_host(where, device_batch.values);

        std::vector<T> expected(apart.values.size(), T(guard));
        device_batch.values = copy_to_buffer(where, apart.values);
        for (Index n = 1; n <= 34; ++n) {
            HostBatch<T> alone;
            std::vector<T*> starts;
            std::vector<Index> which;
            for (Index b = 0; b < batch.count(); ++b) {
                if (batch.sizes[std::size_t(b)] != n) continue;
                which.push_back(b);
                starts.push_back(device_batch.values.data() + apart.offsets[std::size_t(b)]);
                alone.add(n, batch.matrix(b));
            }
            Buffer<T> values = copy_to_buffer(where, alone.values);
            Buffer<Index> alone_info(where, alone.count());
            const auto uniform = View<T>::uniform(alone.count(), n, values.data());
            batched::invert<T>(where, uniform, uniform, {alone_info.data()});
            const auto inverses = copy_to_host(where, values);
            const auto infos = copy_to_host(where, alone_info);
            for (std::size_t k = 0; k < which.size(); ++k) {
                const auto b = std::size_t(which[k]);
                const auto inverse = alone.matrix_in(inverses, Index(k));
                std::copy(inverse.begin(), inverse.end(), expected.begin() + apart.offsets[b]);
                EXPECT_EQ(found_info[b], infos[k]) << "n = " << n;
            }
            const Buffer<T*> addresses = copy_to_buffer(where, starts);
            const auto pointed = View<T>::pointers(alone.count(), n, n, addresses.data());
            batched::invert<T>(where, pointed, pointed, {alone_info.data()});
            EXPECT_EQ(copy_to_host(where, alone_info), infos) << "pointers, n = " << n;
        }
        EXPECT_TRUE(same_bits(found, expected));
        EXPECT_TRUE(same_bits(in_place, expected));
        EXPECT_TRUE(same_bits(copy_to_host(where, device_batch.values), expected));
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
            DeviceBatch<T> device_batch(where, batch);
            const batched::Plan plan = device_batch.plan(where);
            expect_same(inverted_values(where, device_batch.view(), device_batch.view(),
                                        device_batch.values, &plan),
                        expected, expected.inverses, "a plan, in place", largest);

            const auto order = random_order(random, batch.count());
            HostBatch<T> shuffled;
            for (const Index b : order) shuffled.add(batch.sizes[std::size_t(b)], batch.matrix(b));
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
                alone.add(batch.sizes[std::size_t(b)], batch.matrix(b));
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
        const HostBatch<T> batch = spotted_batch<T>(random, 1000, 1, 40);
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
    expect_rejected(View<const double>::uniform(-1, 3, values.data()),
                    View<double>::uniform(-1, 3, other.data()));
    expect_rejected(View<const double>::uniform(1, 129, values.data()),
                    View<double>::uniform(1, 129, other.data()));
    expect_rejected(a, View<double>::uniform(3, 3, other.data()));
    expect_rejected(a, View<double>::uniform(4, 2, other.data()));
    expect_rejected(a, View<double>::strided(4, 3, 2, 9, other.data()));
    expect_rejected(a, View<double>::strided(4, 3, 3, 0, other.data()));
    expect_rejected(a, View<double>::uniform(4, 3, other.data(), batched::Layout::row_major));
    expect_rejected(a, View<double>::uniform(4, 3, nullptr));
    expect_rejected(View<const double>::uniform(4, 3, nullptr), x);
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
