#include "precond/block_jacobi/setup/principal_pivot_inverse.hpp"

#include "precond/block_jacobi/test_cases.hpp"

namespace tessera::test {

namespace {

/// a b for n x n arrays, in long double.
std::vector<long double> product(Index n, const std::vector<long double>& a,
                                 const std::vector<long double>& b) {
    return block_of<long double>(n, [&](Index i, Index j) {
        long double sum = 0;
        for (Index k = 0; k < n; ++k) {
            sum += a[std::size_t(i + k * n)] * b[std::size_t(k + j * n)];
        }
        return sum;
    });
}

template <class T>
std::vector<long double> widened(const std::vector<T>& a) {
    return {a.begin(), a.end()};
}

/// ||A X A - A|| / ||A||: 0 for a generalised inverse.
template <class T>
double defect(Index n, const std::vector<T>& a, const std::vector<T>& x) {
    auto error = product(n, product(n, widened(a), widened(x)), widened(a));
    for (std::size_t e = 0; e < error.size(); ++e) error[e] -= a[e];
    return norm_inf(n, error) / norm_inf(n, a);
}

/// n x n of rank r with small integer factors, so that it is exact; A = F G^T or F D F^T.
template <class T>
std::vector<T> integer_block(std::mt19937_64& random, Index n, Index r, bool symmetric) {
    const auto factor = [&] {
        std::vector<T> f(std::size_t(n * r));
        for (T& value : f) value = T(int(random() % 7) - 3);
        return f;
    };
    const auto f = factor();
    auto g = symmetric ? f : factor();
    for (Index k = 0; symmetric && k < r; ++k) {
        const T sign = random() % 2 == 0 ? T(-1) : T(1);
        for (Index i = 0; i < n; ++i) g[std::size_t(i + k * n)] *= sign;
    }
    return block_of<T>(n, [&](Index i, Index j) {
        T sum = 0;
        for (Index k = 0; k < r; ++k) {
            sum += f[std::size_t(i + k * n)] * g[std::size_t(j + k * n)];
        }
        return sum;
    });
}

}  // namespace

// B X B = B within n^2 eps ||B|| ||X||, on both backends; unused rows and columns are zero.
TEST(principal_pivot_inverse, generalised_inverses_of_known_rank) {
    for_reals([](auto real) {
        using T = decltype(real);
        auto random = generator();
        std::vector<std::vector<T>> blocks;
        for (Index n = 2; n <= 32; ++n) {
            for (const bool symmetric : {false, true}) {
                blocks.push_back(integer_block<T>(
                    random, n, 1 + Index(random() % std::uint64_t(n - 1)), symmetric));
            }
        }
        blocks.push_back({0, 0, 0, 0});
        blocks.push_back({0, 1, 1, 0, 0, 0, 0, 0, 0});  // 3 x 3, one nonzero column.
        blocks.push_back({0, 1, 0, 1, 0, 0, 0, 0, 0});  // Symmetric, without a diagonal.
        const BlockJacobi<T> jacobi =
            invert(context(), make_case(random, blocks), {.singular = SingularPolicy::generalised});
        const auto found = inverses(context(), jacobi);
        const auto info = to_host(context(), jacobi.details().info);
        for (std::size_t b = 0; b < blocks.size(); ++b) {
            const Index n = Index(std::lround(std::sqrt(double(blocks[b].size()))));
            if (norm_inf(n, blocks[b]) == 0) {
                EXPECT_EQ(found[b], blocks[b]);
                continue;
            }
            const double unit = n * n * double(std::numeric_limits<T>::epsilon()) *
                                norm_inf(n, blocks[b]) * norm_inf(n, found[b]);
            // Rounding may have hidden the singularity: then it is inverted as any other block.
            if (info[b] == 0) continue;
            EXPECT_LE(defect(n, blocks[b], found[b]), unit) << "block " << b;
            if (is_symmetric(n, blocks[b])) {
                EXPECT_TRUE(same_bits(transpose(n, found[b]), found[b])) << "block " << b;
            }
        }
        const std::vector<T> no_diagonal = blocks.back();
        EXPECT_EQ(found.back(), no_diagonal);  // It is its own inverse.
    });
}

// Zero rows and columns give zero columns and rows; the rest is inverted.
TEST(principal_pivot_inverse, unusable_rows_and_columns_are_zero) {
    for_reals([](auto real) {
        using T = decltype(real);
        auto random = generator();
        for (const Index n : {2, 7, 16, 32}) {
            auto block = random_block<T>(random, n);
            const Index row = Index(random() % std::uint64_t(n));
            const Index column = Index(random() % std::uint64_t(n));
            for (Index k = 0; k < n; ++k) {
                block[std::size_t(row + k * n)] = block[std::size_t(k + column * n)] = 0;
            }
            const auto found =
                inverses(context(), invert(context(), make_case<T>(random, {block}),
                                           {.singular = SingularPolicy::generalised}))[0];
            for (Index k = 0; k < n; ++k) {
                EXPECT_EQ(found[std::size_t(column + k * n)], T(0));
                EXPECT_EQ(found[std::size_t(k + row * n)], T(0));
            }
            if (n == 2) continue;
            EXPECT_LE(defect(n, block, found), n * n * double(std::numeric_limits<T>::epsilon()) *
                                                   norm_inf(n, block) * norm_inf(n, found));
        }
    });
}

// Both backends give equal bits.
TEST(principal_pivot_inverse, replaces_as_the_host_does) {
    for_reals([](auto real) {
        using T = decltype(real);
        auto random = generator();
        std::vector<std::vector<T>> blocks;
        for (Index n = 1; n <= 32; ++n) {
            auto block = random_block<T>(random, n);
            const bool symmetric = n % 3 == 0;
            for (Index j = 0; symmetric && j < n; ++j) {
                for (Index i = 0; i < j; ++i) {
                    block[std::size_t(i + j * n)] = block[std::size_t(j + i * n)];
                }
            }
            const Index line = Index(random() % std::uint64_t(n));
            for (Index k = 0; k < n; ++k) {
                block[std::size_t(line + k * n)] = block[std::size_t(k + line * n)] = 0;
            }
            blocks.push_back(block);
        }
        const Case<T> given = make_case(random, blocks);
        for (const auto policy :
             {SingularPolicy::identity, SingularPolicy::shift, SingularPolicy::generalised}) {
            const BlockJacobi<T> jacobi = invert(context(), given, {.singular = policy});
            ASSERT_EQ(jacobi.singular_blocks(), 32);
            const auto found = inverses(context(), jacobi);
            for (Index n = 1; n <= 32; ++n) {
                const auto& block = blocks[std::size_t(n - 1)];
                std::vector<T> work(block.size()), expected(block.size());
                std::vector<int> columns(std::size_t(2 * n));
                replace_inverse(OneThread(), policy, n, n, block.data(), work.data(),
                                columns.data(), expected.data());
                EXPECT_TRUE(same_bits(found[std::size_t(n - 1)], expected)) << "n = " << n;
            }
        }
    });
}

}  // namespace tessera::test
