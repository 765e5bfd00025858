#include "precond/incomplete/test_symmetric.hpp"

namespace tessera::test {

namespace {

/// [0 B; B^T C] in blocks of four rows: C = 4 I with couplings to the next block; B is diagonal, 1
/// to 2 within a block and +-0.5 to two others. The zero blocks come first.
CsrMatrix<double> zero_blocks_first(std::mt19937_64& random, Index zeros) {
    std::uniform_real_distribution<double> uniform(-1, 1);
    SymmetricEntries entries;
    const Index k = 4, half = zeros * k;
    for (Index b = 0; b < zeros; ++b) {
        for (Index r = 0; r < k; ++r) {
            const Index row = b * k + r;
            entries[{half + row, half + row}] = 4;
            entries[{half + row, row}] = 1.5 + 0.5 * uniform(random);
            if (b > 0) entries[{half + row, half + (b - 1) * k + r}] = uniform(random);
            for (int other = 0; other < 2; ++other) {
                const Index to = half + Index(random() % std::uint64_t(zeros)) * k + r;
                if (to != half + row) entries[{to, row}] = random() % 2 == 0 ? 0.5 : -0.5;
            }
        }
    }
    return symmetric_csr<double>(2 * half, entries);
}

}  // namespace

TEST(outer_pivoting, saves_zero_blocks) {
    auto random = generator();
    const Context device = context();
    for (const Index zeros : {60, 100}) {
        const auto matrix = zero_blocks_first(random, zeros);
        const auto placed = copy_to(device, matrix.view());
        const auto x =
            copy_to_buffer(device, random_vector<double>(random, std::size_t(matrix.rows())));
        Buffer<double> b(device, x.size());
        const CsrOperator<double> product(device, placed.view());
        product.apply(device, x.view(), b.view());
        for (const char* method : {",method=level", ",method=jacobi"}) {
            const auto solve = [&](const char* outer) {
                const BlockLdlt<double> ldlt(
                    device, placed.view(),
                    parse_block_ldlt(
                        Spec(std::string("block_ldlt:4,epsilon=1e-6,matching=off,ordering=natural,"
                                         "safeguard=off") +
                             method + outer)));
                Buffer<double> y(device, b.size());
                fill(device, 0.0, y.view());
                SolveOptions options;
                options.rtol = 1e-8;
                options.max_iterations = 100;
                const auto report = tessera::solve<double>(device, "gmres:25", product, &ldlt,
                                                           b.view(), y.view(), options);
                return std::pair(report, ldlt.report());
            };
            const auto [without, none] = solve(",outer=off");
            EXPECT_NE(without.status, Status::converged) << method;
            EXPECT_EQ(none.delayed, 0);
            const auto [with, some] = solve(",outer=on");
            EXPECT_EQ(with.status, Status::converged)
                << method << ' ' << with.true_relative_residual;
            EXPECT_EQ(some.delayed, zeros);
        }
    }
}

}  // namespace tessera::test
