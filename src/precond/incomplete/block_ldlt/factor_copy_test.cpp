#include "precond/incomplete/test_factor.hpp"

namespace tessera::test {

namespace {

/// (I + V) F (I + V)^T - P S A S P^T, and the sum of the magnitudes of all of its terms.
template <class T>
std::pair<Dense, Dense> difference(const CsrMatrix<T>& matrix, const BlockLdltFactor<T>& factor,
                                   std::size_t k) {
    const std::size_t n = factor.row_of_slot.size();
    Dense lower = identity(n), diagonal(n);
    for (std::size_t e = 0; e < factor.v.size(); ++e) {
        const std::size_t b = e / (k * k);
        lower(std::size_t(factor.rows[b]) * k + e % k,
              std::size_t(factor.columns[b]) * k + e / k % k) = double(factor.v[e]);
    }
    for (std::size_t e = 0; e < factor.f.size(); ++e) {
        const std::size_t first = e / (k * k) * k;
        diagonal(first + e % k, first + e / k % k) = double(factor.f[e]);
    }
    const Context cpu = host();
    const HostGrid grid(cpu,
                        incomplete::make_grid(cpu, Index(k), matrix.rows(), factor.row_of_slot));
    Dense a = in_grid(grid, matrix.view());
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j < n; ++j) {
            const Index row = factor.row_of_slot[i], column = factor.row_of_slot[j];
            if (row < 0 || column < 0) continue;
            a(i, j) *= double(factor.scaling[std::size_t(row)]) *
                       double(factor.scaling[std::size_t(column)]);
        }
    }
    const auto whole = [](const Dense& l, const Dense& d) {
        return product(product(l, d), transposed(l));
    };
    return {sum(1, whole(lower, diagonal), -1, a),
            sum(1, whole(absolute(lower), absolute(diagonal)), 1, absolute(a))};
}

}  // namespace

TEST(factor_copy, is_the_factor_of_the_scaled_matrix) {
    auto random = generator();
    const Context device = context();
    for (const Index k : {1, 4, 8}) {
        const Index rows = 12 * k - 1;
        auto entries = random_indefinite(random, rows, 1.5 / k, 0);
        for (Index i = 0; i < rows; ++i) entries[{i, i}] *= 4;
        const auto matrix = symmetric_csr<double>(rows, entries);
        const auto placed = copy_to(device, matrix.view());
        for (const char* method : {",method=level", ",sweeps=100"}) {
            const BlockLdlt<double> ldlt(
                device, placed.view(),
                parse_block_ldlt(Spec("block_ldlt:" + std::to_string(k) + ",fill=1000" + method +
                                      ",epsilon=1e-300,safeguard=off")));
            // With full fill and no pivot raised only rounding errors are left.
            ASSERT_EQ(ldlt.report().perturbed, 0);
            const auto [error, size] = difference(matrix, ldlt.factor(device), std::size_t(k));
            EXPECT_LE(largest(error), 100 * gamma<double>(rows) * largest(size)) << k << method;
        }
    }
}

TEST(factor_copy, without_a_factor_is_empty) {
    const Context device = context();
    const auto empty = copy_to(device, make_csr<double>(0, 0, {}, {}).view());
    const BlockLdlt<double> none(device, empty.view(),
                                 parse_block_ldlt("block_ldlt:4,safeguard=off"));
    EXPECT_TRUE(none.factor(device).row_of_slot.empty());
}

}  // namespace tessera::test
