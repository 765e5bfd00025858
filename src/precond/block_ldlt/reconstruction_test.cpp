#include "precond/block_ldlt/reconstruction.hpp"

#include <cmath>

#include "precond/block_ldlt/test_factor.hpp"

namespace tessera::test {

namespace {

/// The largest sum of magnitudes in a row.
double row_norm(const Dense& a) {
    double norm = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        double sum = 0;
        for (std::size_t j = 0; j < a.size(); ++j) sum += std::abs(a(i, j));
        norm = std::max(norm, sum);
    }
    return norm;
}

template <class T>
void expect_the_error_of_the_dense_product(Index k, int fill, BlockLdltMethod method) {
    auto random = generator();
    const Context there = context();
    const Index rows = 12 * k - 1;
    const auto matrix = symmetric_csr<T>(rows, random_indefinite(random, rows, 1.5 / k, 0.3));
    auto factor =
        make_factor<T>(there, matrix.view(), k, random_slots(random, rows, k), fill, method, 0.01);
    if (method == BlockLdltMethod::level) {
        factor.factor_by_levels(there);
    } else {
        factor.start_sweeps();
        for (int sweep = 0; sweep < 3; ++sweep) factor.sweep(there);
    }
    const TakenApart parts = take_apart(there, factor);
    const Dense a = in_grid(factor.grid(), matrix.view());
    const double expected = row_norm(sum(1, parts.matrix(), -1, a)) / row_norm(a);
    // Both products round, to first order by this much.
    const Dense around = absolute(parts.lower);
    const Dense size =
        sum(1, product(product(around, parts.size), transposed(around)), 1, absolute(a));
    const double rounding = gamma<double>(4.0 * rows) * row_norm(size) / row_norm(a);
    EXPECT_NEAR(block_ldlt::exact_reconstruction_error(there, factor), expected, rounding);
    EXPECT_LT(rounding, 1e-3 * expected) << "the case is too hard to tell anything";
}

}  // namespace

TEST(reconstruction, is_that_of_the_dense_product) {
    for (const Index k : {1, 4, 8, 32}) {
        for (const int fill : {0, 1}) {
            for (const auto method : {BlockLdltMethod::jacobi, BlockLdltMethod::level}) {
                SCOPED_TRACE(std::to_string(k) + ", fill " + std::to_string(fill) + ", " +
                             to_string(method));
                expect_the_error_of_the_dense_product<double>(k, fill, method);
                expect_the_error_of_the_dense_product<float>(k, fill, method);
            }
        }
    }
}

TEST(reconstruction, does_not_depend_on_threads) {
    auto random = generator();
    const auto matrix = symmetric_csr<double>(200, random_indefinite(random, 200, 0.1, 0));
    const auto slots = random_slots(random, 200, 4);
    std::vector<double> errors;
    for (const int threads : {1, 2, 5}) {
        const Context there = Context::cpu(threads);
        auto factor =
            make_factor<double>(there, matrix.view(), 4, slots, 0, BlockLdltMethod::level, 0.01);
        factor.factor_by_levels(there);
        errors.push_back(block_ldlt::exact_reconstruction_error(there, factor));
    }
    EXPECT_GT(errors[0], 0);
    EXPECT_EQ(errors[0], errors[1]);
    EXPECT_EQ(errors[0], errors[2]);
}

TEST(reconstruction, of_the_preconditioner) {
    const Context there = context();
    const auto error_with = [&](const CsrMatrix<double>& on_host, const char* text) {
        const auto placed = copy_to(there, on_host.view());
        return BlockLdlt<double>(there, placed.view(), parse_block_ldlt(Spec::parse(text)))
            .reconstruction_error(there);
    };
    // With all fill and no pivot raised only rounding is left.
    const auto matrix = problems::generate<double>(host(), Spec::parse("kkt:200")).matrix;
    EXPECT_LT(error_with(matrix, "block_ldlt:4,fill=1000,method=level"), 1e-11);
    // Without fill the error of kkt is large after one sweep and after many; which of the two is
    // larger depends on how it was scaled.
    const auto stokes = problems::generate<double>(host(), Spec::parse("stokes:8,beta=1")).matrix;
    const double one = error_with(stokes, "block_ldlt:4,sweeps=1,safeguard=off");
    const double eight = error_with(stokes, "block_ldlt:4,sweeps=8,safeguard=off");
    EXPECT_GT(one, eight);
    EXPECT_GT(eight, 1e-3);

    auto broken = copy_to(host(), matrix.view());
    broken.values().data()[0] = std::numeric_limits<double>::quiet_NaN();  // On the diagonal.
    const auto poisoned = copy_to(there, broken.view());
    EXPECT_THROW(BlockLdlt<double>(there, poisoned.view(), {}), InvalidArgument);
    // No rows, nothing to be wrong.
    const auto empty = copy_to(there, CsrMatrix<double>(host(), 0, 0, 0).view());
    const BlockLdlt<double> none(there, empty.view(),
                                 parse_block_ldlt(Spec::parse("block_ldlt:4,safeguard=off")));
    EXPECT_EQ(none.reconstruction_error(there), 0);
}

}  // namespace tessera::test
