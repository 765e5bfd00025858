#include "batched/factor/test_factor_reference.hpp"
#include "support/blocks.hpp"

namespace tessera::test {

using batched::Pivoting;

TEST(factor_reference, worked_example) {
    // [0 4; 2 1]: partial pivoting exchanges rows, full ones both.
    std::vector<double> a{0, 2, 4, 1};
    std::vector<Index> p(2), q(2);
    auto record = reference::ldu(2, Pivoting::partial, 0.0, a.data(), p.data(), q.data());
    EXPECT_EQ(a, (std::vector<double>{2, 0, 0.5, 4}));
    EXPECT_EQ(p, (std::vector<Index>{1, 0}));
    EXPECT_EQ(q, (std::vector<Index>{0, 1}));
    EXPECT_EQ(record.smallest, 2);
    a = {0, 2, 4, 1};
    record = reference::ldu(2, Pivoting::full, 0.0, a.data(), p.data(), q.data());
    EXPECT_EQ(a, (std::vector<double>{4, 0.25, 0, 2}));
    EXPECT_EQ(p, (std::vector<Index>{0, 1}));
    EXPECT_EQ(q, (std::vector<Index>{1, 0}));
    a = {0, 2, 4, 1};
    record = reference::ldu(2, Pivoting::fixed, 0.0, a.data(), p.data(), q.data());
    EXPECT_EQ(record.info, 1);
    EXPECT_EQ(a, (std::vector<double>{0, 0, 0, 1}));
    a = {0, 2, 4, 1};
    record = reference::ldu(2, Pivoting::fixed, 0.5, a.data(), p.data(), q.data());
    EXPECT_EQ(record.info, 0);
    EXPECT_EQ(record.perturbed, 1);
    EXPECT_EQ(record.perturbation, 0.5);
    EXPECT_EQ(a, (std::vector<double>{0.5, 4, 8, -15}));
}

TEST(factor_reference, symmetric_worked_examples) {
    std::vector<double> a{1, 2, -77, 8};  // The upper triangle is not read.
    std::vector<Index> p(2);
    auto record = reference::llt(2, Pivoting::full, 0.0, a.data(), p.data());
    EXPECT_EQ(p, (std::vector<Index>{1, 0}));
    EXPECT_NEAR(a[0], std::sqrt(8.0), gamma<double>(2) * 3);
    EXPECT_NEAR(a[1], 1 / std::sqrt(2.0), gamma<double>(4));
    EXPECT_EQ(a[2], 0);
    EXPECT_NEAR(record.smallest, 0.5, gamma<double>(8));

    for (const Pivoting pivoting :
         {Pivoting::fixed, Pivoting::bunch_kaufman, Pivoting::rook, Pivoting::full}) {
        // [0 2 0; 2 0 4; 0 4 1]: full pivoting begins with 1 and 2, the others with 0.
        a = {0, 2, 0, -77, 0, 4, -77, -77, 1};
        p.assign(3, -1);
        record = reference::ldlt(3, pivoting, 0.0, a.data(), p.data());
        EXPECT_EQ(record.info, 0);
        if (pivoting == Pivoting::full || pivoting == Pivoting::rook) {
            EXPECT_EQ(p, (std::vector<Index>{1, 2, 0})) << to_string(pivoting);
            // E = [0 4; 4 1], (2, 0) E^-1 = (-1/8, 1/2), 0 - 2 (-1/8) = 1/4.
            EXPECT_EQ(a, (std::vector<double>{0, 0, -0.125, 4, 1, 0.5, 0, 0, 0.25}));
        } else {
            EXPECT_EQ(p[0], 0) << to_string(pivoting);
            EXPECT_EQ(a[3], 2) << to_string(pivoting);
        }
    }
}

TEST(factor_reference, thresholds_clip_eigenvalues) {
    // [0.125 0.2; 0.2 0.125] has the eigenvalues 0.325 and -0.075.
    std::vector<double> a{0.125, 0.2, 0, 0.125};
    std::vector<Index> p(2);
    const auto record = reference::ldlt(2, Pivoting::full, 0.1, a.data(), p.data());
    EXPECT_EQ(record.perturbed, 1);
    const double error = gamma<double>(20);
    EXPECT_NEAR(record.perturbation, 0.025, error);
    EXPECT_NEAR(record.smallest, 0.075, error);
    EXPECT_NEAR(a[0], 0.1125, error);
    EXPECT_NEAR(a[2], 0.2125, error);
    EXPECT_NEAR(a[3], 0.1125, error);
}

}  // namespace tessera::test
