#include "batched/test_zoo.hpp"

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
        }
        const Zoo<T> zoo = make_zoo<T>(random);
        for (Index b = 0; b < zoo.batch.count(); ++b) {
            const Index n = zoo.batch.rows(b);
            if (n <= 32 && info_of(n, zoo.batch.matrix(b)) == 0) {
                expect_inverted(n, zoo.batch.matrix(b), zoo.names[std::size_t(b)].c_str());
            }
        }
    });
    auto random = generator();
    for (const Index n : {1, 2, 5, 32}) {
        expect_inverted(n, random_block<long double>(random, n), "random, long double");
    }
}

}  // namespace tessera::test
