#pragma once

#include <cstring>
#include <map>
#include <numeric>

#include "batched/invert/test_invert_reference.hpp"
#include "batched/test_batches.hpp"

// Matrices with known diagonal blocks, and checks of their inverses.

namespace tessera::test {

/// A matrix whose diagonal blocks are known, with some entries around them.
template <class T>
struct Case {
    std::vector<Index> offsets{0};
    std::vector<std::vector<T>> blocks;
    CsrMatrix<T> matrix;  ///< In host memory.

    Index count() const { return Index(blocks.size()); }
    Index size(Index b) const { return offsets[std::size_t(b) + 1] - offsets[std::size_t(b)]; }
};

/// Zeros in blocks are not stored. `around` entries per row outside the blocks, on average; every
/// 50th row has 80 more.
template <class T>
Case<T> make_case(std::mt19937_64& random, std::vector<std::vector<T>> blocks, int around = 3) {
    Case<T> made;
    for (const auto& block : blocks) {
        made.offsets.push_back(made.offsets.back() + Index(std::lround(std::sqrt(block.size()))));
    }
    made.blocks = std::move(blocks);
    const Index rows = made.offsets.back();
    std::vector<std::vector<Index>> pattern;
    std::vector<std::vector<T>> values;
    for (Index b = 0; b < made.count(); ++b) {
        const Index first = made.offsets[std::size_t(b)], n = made.size(b);
        for (Index i = 0; i < n; ++i) {
            std::map<Index, T> row;
            const int others = around == 0 ? 0
                                           : int(random() % std::uint64_t(2 * around + 1)) +
                                                 ((first + i) % 50 == 0 ? 80 : 0);
            for (int k = 0; k < others; ++k) {
                const Index column = Index(random() % std::uint64_t(rows));
                if (column < first || column >= first + n) row[column] = T(7);
            }
            for (Index j = 0; j < n; ++j) {
                const T value = made.blocks[std::size_t(b)][std::size_t(i + j * n)];
                if (value != T(0)) row[first + j] = value;
            }
            pattern.emplace_back();
            values.emplace_back();
            for (const auto& [column, value] : row) {
                pattern.back().push_back(column);
                values.back().push_back(value);
            }
        }
    }
    made.matrix = make_csr(rows, rows, pattern, values);
    return made;
}

template <class T>
std::vector<std::vector<T>> random_blocks(std::mt19937_64& random, Index count, Index low,
                                          Index high) {
    std::vector<std::vector<T>> blocks;
    for (Index b = 0; b < count; ++b) {
        blocks.push_back(
            random_block<T>(random, low + Index(random() % std::uint64_t(high - low + 1))));
    }
    return blocks;
}

template <class T>
BlockJacobi<T> invert(const Context& context, const Case<T>& given,
                      const BlockJacobiOptions& options = {}) {
    const CsrMatrix<T> device_matrix = copy_to(context, given.matrix.view());
    return BlockJacobi<T>(context, device_matrix.view(),
                          blocks_from_offsets(context, given.offsets.back(), given.offsets),
                          options);
}

template <class T>
std::vector<T> to_host(const Context& context, std::span<const T> device_values) {
    std::vector<T> values(device_values.size());
    copy_to_host(context, device_values, std::span<T>(values));
    return values;
}

/// The inverses of all blocks, one array each.
template <class T>
std::vector<std::vector<T>> inverses(const Context& context, const BlockJacobi<T>& jacobi) {
    const auto values = copy_to_host(context, jacobi.copy_inverses(context));
    const auto offsets = to_host(context, jacobi.details().offsets);
    std::vector<std::vector<T>> blocks;
    for (std::size_t b = 0; b + 1 < offsets.size(); ++b) {
        blocks.emplace_back(values.begin() + offsets[b], values.begin() + offsets[b + 1]);
    }
    return blocks;
}

template <class T>
bool is_symmetric(Index n, const std::vector<T>& block) {
    return transpose(n, block) == block;
}

/// The left residual is below the pivot growth, which bounds the distance from the inverse in long
/// double. A symmetric block's inverse is the mean of X and X^T, whose distances in the infinity
/// norm differ by at most a factor of n.
template <class T>
void expect_inverse(Index n, const std::vector<T>& block, const std::vector<T>& inverse) {
    std::vector<long double> exact(block.begin(), block.end());
    double growth = 0;
    ASSERT_EQ(reference::gauss_jordan_implicit(n, exact.data(), &growth), 0);
    const bool symmetric = is_symmetric(n, block);
    const double residual = left_residual(n, block, inverse);
    const double apart = symmetric ? (1 + n) / 2.0 : 1;
    ASSERT_LT(residual, growth * apart) << "n = " << n;
    std::vector<long double> error = exact;
    for (std::size_t e = 0; e < error.size(); ++e) error[e] -= inverse[e];
    const double unit =
        n * double(std::numeric_limits<T>::epsilon()) * norm_inf(n, block) * norm_inf(n, inverse);
    EXPECT_LE(norm_inf(n, error), apart * growth * unit * norm_inf(n, exact)) << "n = " << n;
    if (symmetric) {
        EXPECT_TRUE(same_bits(transpose(n, inverse), inverse));
    }
}

/// The condition number is within the error that the inverse's error allows.
template <class T>
void expect_condition(Index n, const std::vector<T>& block, T reciprocal) {
    std::vector<long double> exact(block.begin(), block.end());
    double growth = 0;
    ASSERT_EQ(reference::gauss_jordan_implicit(n, exact.data(), &growth), 0);
    const double kappa = norm_inf(n, block) * norm_inf(n, exact);
    const double bound = 10.0 * n * n * growth * double(std::numeric_limits<T>::epsilon()) * kappa;
    EXPECT_LE(std::abs(1 / double(reciprocal) - kappa), bound * kappa) << "n = " << n;
}

template <class T>
void expect_all_inverted(const Context& context, const Case<T>& given,
                         const BlockJacobiOptions& options = {}) {
    const BlockJacobi<T> jacobi = invert(context, given, options);
    EXPECT_EQ(jacobi.singular_blocks(), 0);
    const auto conditions = to_host(context, jacobi.details().reciprocal_conditions);
    const auto found = inverses(context, jacobi);
    ASSERT_EQ(Index(found.size()), given.count());
    for (Index b = 0; b < given.count(); ++b) {
        const auto& block = given.blocks[std::size_t(b)];
        expect_inverse(given.size(b), block, found[std::size_t(b)]);
        expect_condition(given.size(b), block, conditions[std::size_t(b)]);
    }
}

}  // namespace tessera::test
