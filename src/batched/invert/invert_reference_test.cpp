#include "batched/invert/test_invert_reference.hpp"
#include "support/blocks.hpp"

namespace tessera::test {

namespace {

using reference::gauss_jordan_implicit;

/// The left residual is bounded.
template <class T>
void expect_inverted(Index n, const std::vector<T>& a, const char* what) {
    std::vector<T> x = a;
    double growth = 0;
    ASSERT_EQ(gauss_jordan_implicit(n, x.data(), &growth), 0) << what << ", n = " << n;
    EXPECT_GE(growth, 1);
    EXPECT_LT(left_residual(n, a, x), growth) << what << ", n = " << n;
}

template <class T>
Index info_of(Index n, std::vector<T> a) {
    return gauss_jordan_implicit(n, a.data());
}

}  // namespace

// A = [ 0 2 0 ]   Step 1: the pivot is 4 in row 2; rows 1 and 3 have nothing to eliminate.
//     [ 4 0 4 ]   Step 2: the pivot is 2 in row 1 (row 3 has 1): row 3 -= 1/2 row 1.
//     [ 0 1 1 ]   Step 3: the pivot is 1 in row 3: row 2 -= row 3 (after its scaling by 1/4).
// X A = I for X = [  1/2  1/4  -1 ]
//                 [  1/2   0    0 ]
//                 [ -1/2   0    1 ]
// All numbers are sums of few powers of two: it is exactly this.
TEST(invert_reference, worked_example) {
    for_reals([](auto real) {
        using T = decltype(real);
        const std::vector<T> a{0, 4, 0, 2, 0, 1, 0, 4, 1};
        const std::vector<T> inverse{T(0.5), T(0.5), T(-0.5), T(0.25), 0, 0, -1, 0, 1};
        std::vector<T> x = a;
        EXPECT_EQ(gauss_jordan_implicit(3, x.data()), 0);
        EXPECT_EQ(x, inverse);
    });
}

// The pivots of [ s 1/s ] are s and 1, but the inverse has -1/s^2.
//               [ 0  1  ]
TEST(invert_reference, an_inverse_that_overflows_is_reported) {
    EXPECT_EQ(info_of<float>(2, {0x1p-100F, 0, 0x1p100F, 1}), 2);
    EXPECT_EQ(info_of<double>(2, {0x1p-1000, 0, 0x1p1000, 1}), 2);
    EXPECT_EQ(info_of<double>(2, {0x1p-500, 0, 0x1p500, 1}), 0);
}

TEST(invert_reference, left_residual_is_bounded) {
    for_reals([](auto real) {
        using T = decltype(real);
        auto random = generator();
        for (Index n = 1; n <= 32; ++n) {
            for (int round = 0; round < 20; ++round) {
                expect_inverted(n, random_block<T>(random, n), "random");
            }
            std::vector<Index> order(static_cast<std::size_t>(n));
            for (Index i = 0; i < n; ++i) order[std::size_t(i)] = i;
            std::shuffle(order.begin(), order.end(), random);
            expect_inverted(n, block_of<T>(n, [](Index i, Index j) { return i == j; }), "identity");
            expect_inverted(
                n, block_of<T>(n, [&](Index i, Index j) { return order[std::size_t(i)] == j; }),
                "permutation");
            expect_inverted(
                n,
                block_of<T>(n,
                            [](Index i, Index j) { return i == j ? std::ldexp(1.5, i - 9) : 0; }),
                "diagonal");
            const auto noise = random_block<T>(random, n);
            expect_inverted(n,
                            block_of<T>(n,
                                        [&](Index i, Index j) {
                                            return std::ldexp(noise[std::size_t(i + j * n)],
                                                              -i - j);
                                        }),
                            "graded");
        }
        for (Index n = 1; n <= (sizeof(T) == 4 ? 6 : 11); ++n) {
            expect_inverted(n, block_of<T>(n, [](Index i, Index j) { return 1.0 / (i + j + 1); }),
                            "Hilbert");
        }
    });
}

TEST(invert_reference, permutation_is_exact) {
    for_reals([](auto real) {
        using T = decltype(real);
        auto random = generator();
        for (Index n = 1; n <= 32; ++n) {
            std::vector<Index> order(static_cast<std::size_t>(n));
            for (Index i = 0; i < n; ++i) order[std::size_t(i)] = i;
            std::shuffle(order.begin(), order.end(), random);
            const auto element = [&](Index i, Index j) { return order[std::size_t(i)] == j; };
            std::vector<T> x = block_of<T>(n, element);
            const std::vector<T> transposed =
                block_of<T>(n, [&](Index i, Index j) { return element(j, i); });
            EXPECT_EQ(gauss_jordan_implicit(n, x.data()), 0);
            EXPECT_EQ(x, transposed);
        }
    });
}

TEST(invert_reference, info_names_the_pivot) {
    for_reals([](auto real) {
        using T = decltype(real);
        const T nan = std::numeric_limits<T>::quiet_NaN();
        const T infinity = std::numeric_limits<T>::infinity();
        const T tiny = std::numeric_limits<T>::denorm_min();
        auto random = generator();
        EXPECT_EQ(info_of<T>(0, {}), 0);
        EXPECT_EQ(info_of<T>(1, {0}), 1);
        EXPECT_EQ(info_of<T>(1, {nan}), 1);
        EXPECT_EQ(info_of<T>(1, {infinity}), 1);
        EXPECT_EQ(info_of<T>(1, {tiny}), 1);
        EXPECT_EQ(info_of<T>(2, {1, 2, 2, 4}), 2);
        for (Index n = 1; n <= 32; ++n) {
            const auto a = random_block<T>(random, n);
            for (Index column = 0; column < n; ++column) {
                auto zero = a, bad = a;
                for (Index i = 0; i < n; ++i) zero[std::size_t(i + column * n)] = 0;
                EXPECT_EQ(info_of(n, zero), column + 1);
                const Index row = Index(random() % std::uint64_t(n));
                bad[std::size_t(row + column * n)] = random() % 2 ? nan : infinity;
                EXPECT_GT(info_of(n, bad), 0);
            }
        }
    });
}

TEST(invert_reference, long_double) {
    auto random = generator();
    for (const Index n : {1, 2, 5, 32}) {
        expect_inverted(n, random_block<long double>(random, n), "random, long double");
    }
}

}  // namespace tessera::test
