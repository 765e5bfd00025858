#pragma once

#include "batched/test_torture.hpp"

// Batches for which the factorisations may have kernels of their own.

namespace tessera::test {

/// Replaces matrix b of a batch by a singular, tied or not finite one, depending on b.
template <class T>
void spoil(HostBatch<T>& batch, Index b) {
    const Index n = batch.sizes[std::size_t(b)];
    T* const a = batch.values.data() + batch.offsets[std::size_t(b)];
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

/// Batches with few requested outputs, and contiguous ones of one size, may have kernels of their
/// own. Their results equal those of the general kernels bitwise, also where every other matrix is
/// singular, tied or not finite.
template <class T>
void expect_runs(const Method& method) {
    auto random = generator();
    const Context where = context();
    const Index count = fewer_run() ? 23 : 205;
    const std::vector<Index> sizes =
        fewer_run() ? std::vector<Index>{0, 3, 8, 13}
                    : std::vector<Index>{0, 1, 2, 3, 4, 6, 8, 10, 11, 13, 14, 16, 32};
    for (const Index n : sizes) {  // 0: of different sizes.
        auto batch = random_batch<T>(random, method, count, n > 0 ? n : 12, n > 0 ? n : 36);
        for (Index b = 0; b < count; b += b < count / 2 ? 1 : 5) spoil(batch, b);
        for (const T threshold : {T(0), T(0.5)}) {
            batched::FactorOptions<T> options;
            options.threshold = threshold;
            const auto expected = factored(where, method, batch, options);
            for (const bool in_place : {false, true}) {
                if (fewer_run() && in_place != (threshold > T(0))) continue;
                DeviceBatch<T> device(where, batch);
                DeviceFactors<T> factors(where, batch.sizes);
                Buffer<T> out(where, Offset(batch.values.size()));
                auto given = device.view();
                auto permutations = factors.permutations();
                if (n > 0) {
                    given = batched::BatchView<T>::uniform(count, n, device.values.data());
                    permutations = {factors.rows.data(), factors.columns.data(), n};
                }
                auto f = given;
                if (!in_place) f.values = out.data();
                factor<T>(where, method, given, f, permutations, {factors.info.data()}, options);
                HostFactors<T> found;
                found.values = copy_to_host(where, in_place ? device.values : out);
                factors.copy_permutations(where, found);
                found.info = copy_to_host(where, factors.info);
                EXPECT_EQ(found.info, expected.info) << method.name() << ", n = " << n;
                for (Index b = 0; b < count; ++b) {
                    const auto at = std::size_t(b);
                    const auto first = std::ptrdiff_t(expected.starts[at]);
                    const Index rows = batch.sizes[at];
                    const auto same = [&](const std::vector<Index>& x,
                                          const std::vector<Index>& y) {
                        return std::equal(x.begin() + first, x.begin() + first + rows,
                                          y.begin() + first);
                    };
                    const auto values = batch.matrix_in(expected.values, b);
                    const bool nan = std::isnan(values[0]);
                    EXPECT_TRUE(nan ? all_nan(batch.matrix_in(found.values, b))
                                    : same_bits(batch.matrix_in(found.values, b), values))
                        << method.name() << ", n = " << rows << ", matrix " << b;
                    if (nan) continue;
                    EXPECT_TRUE(same(found.rows, expected.rows)) << method.name() << ", " << b;
                    EXPECT_TRUE(same(found.columns, expected.columns)) << method.name();
                }
            }
        }
    }
}

}  // namespace tessera::test
