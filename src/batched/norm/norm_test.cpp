#include "batched/test_batches.hpp"

namespace tessera::test {

namespace {

/// The sums in ascending order of their index, as documented: equal to the last bit.
template <class T>
T expected_norm(Index n, const std::vector<T>& a, bool rows) {
    T norm = 0;
    for (Index k = 0; k < n; ++k) {
        T sum = 0;
        for (Index l = 0; l < n; ++l) {
            sum += std::abs(rows ? a[std::size_t(k + l * n)] : a[std::size_t(l + k * n)]);
        }
        if (std::isnan(sum) || sum > norm) norm = sum;
        if (std::isnan(norm)) return norm;
    }
    return norm;
}

template <class T>
std::vector<T> norms_of(const batched::BatchView<const T>& a, bool inf,
                        const batched::Plan* plan = nullptr) {
    const Context where = context();
    Buffer<T> norms(where, a.count);
    if (inf) {
        batched::norm_inf(where, a, norms.data(), plan);
    } else {
        batched::norm_one(where, a, norms.data(), plan);
    }
    return copy_to_host(where, norms);
}

template <class T>
void expect_norms(const HostBatch<T>& batch, const char* what) {
    const Context where = context();
    DeviceBatch<T> device_batch(where, batch);
    const batched::Plan plan = device_batch.plan(where);
    for (const bool inf : {true, false}) {
        const std::vector<T> norms = norms_of<T>(device_batch.view(), inf);
        for (Index b = 0; b < batch.count(); ++b) {
            const T expected = expected_norm(batch.rows(b), batch.matrix(b), inf);
            const T found = norms[std::size_t(b)];
            if (std::isnan(expected)) {
                ASSERT_TRUE(std::isnan(found)) << what << ", matrix " << b;
            } else {
                ASSERT_EQ(found, expected) << what << ", matrix " << b << ", inf " << inf;
            }
        }
        EXPECT_TRUE(same_bits(norms, norms_of<T>(device_batch.view(), inf, &plan))) << what;
        auto rows = device_batch.view();
        rows.layout = batched::Layout::row_major;
        EXPECT_TRUE(same_bits(norms, norms_of<T>(rows, !inf))) << what;
    }
}

}  // namespace

TEST(norm, every_size) {
    for_reals([](auto real) {
        using T = decltype(real);
        auto random = generator();
        for (Index n = 0; n <= 34; ++n) expect_norms(random_batch<T>(random, 37, n, n), "equal");
        for (const Index n : {47, 64, 65, 96, 127, 128}) {
            expect_norms(random_batch<T>(random, 5, n, n), "large");
        }
        expect_norms(random_batch<T>(random, 2000, 0, 32), "mixed");
        expect_norms(random_batch<T>(random, 70000, 0, 4), "many");
        expect_norms(random_batch<T>(random, 100, 0, 128), "mixed, large");
        expect_norms(HostBatch<T>(), "none");
    });
}

TEST(norm, values_that_are_not_finite) {
    for_reals([](auto real) {
        using T = decltype(real);
        using Limits = std::numeric_limits<T>;
        auto random = generator();
        HostBatch<T> batch = random_batch<T>(random, 600, 1, 40);
        for (Index b = 0; b < batch.count(); b += 2) {
            const auto n = std::size_t(batch.rows(b));
            T& value =
                batch.values[std::size_t(batch.offsets[std::size_t(b)]) + random() % (n * n)];
            const T values[] = {Limits::quiet_NaN(), Limits::infinity(), -Limits::infinity(),
                                Limits::max(), Limits::denorm_min()};
            value = values[std::size_t(b / 2) % 5];
        }
        expect_norms(batch, "not finite");
    });
}

TEST(norm, layouts) {
    for_reals([](auto real) {
        using T = decltype(real);
        const Context where = context();
        auto random = generator();
        const auto expect = [&](Index count, Index n, Index step) {
            const HostBatch<T> batch = repetitive_batch<T>(random, count, n);
            for (const bool inf : {true, false}) {
                PlacedBatch<T> contiguous(where, batch), misaligned(where, batch, 0, 1);
                const auto norms = norms_of<T>(contiguous.strided(), inf);
                EXPECT_TRUE(same_bits(norms, norms_of<T>(misaligned.strided(), inf))) << n;
                for (Index b = 0; b < count; b += step) {
                    ASSERT_EQ(norms[std::size_t(b)], expected_norm(n, batch.matrix(b), inf))
                        << "matrix " << b << ", n = " << n;
                }
                if (count != 45) continue;
                PlacedBatch<T> apart(where, batch, 3);
                EXPECT_TRUE(same_bits(norms, norms_of<T>(apart.strided(), inf))) << n;
                EXPECT_TRUE(same_bits(norms, norms_of<T>(apart.pointers(), inf))) << n;
            }
        };
        for (Index n = 1; n <= 33; ++n) {
            for (const Index count : {1, 3, 45, 301}) expect(count, n, 1);
        }
        expect(45, 70, 1);
        // More than a GPU processes at once.
        for (const Index n : {5, 16}) expect(12000003 / (n * n), n, 997);
    });
}

TEST(norm, misuse_throws) {
    const Context where = context();
    using View = batched::BatchView<const double>;
    Buffer<double> values(where, 64);
    Buffer<double> norms(where, 4);
    const auto expect_rejected = [&](const View& view, double* to,
                                     const batched::Plan* plan = nullptr) {
        EXPECT_THROW(batched::norm_inf(where, view, to, plan), InvalidArgument);
        EXPECT_THROW(batched::norm_one(where, view, to, plan), InvalidArgument);
    };
    for_wrong_batches(values.data(), [&](const View& a) { expect_rejected(a, norms.data()); });
    const View a = View::uniform(3, 2, values.data());
    expect_rejected(a, nullptr);
    const Buffer<Index> sizes = copy_to_buffer(where, std::vector<Index>{1, 2});
    const batched::Plan plan(where, 2, sizes.data());
    expect_rejected(a, norms.data(), &plan);
    batched::norm_inf(where, View::uniform(0, 3, nullptr), static_cast<double*>(nullptr));
}

}  // namespace tessera::test
