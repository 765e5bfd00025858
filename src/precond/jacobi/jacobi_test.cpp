#include "precond/jacobi/jacobi.hpp"

#include "support/blocks.hpp"

namespace tessera::test {

namespace {

/// A matrix with the given diagonal, partly not stored, and entries on both sides of it.
template <class T>
CsrMatrix<T> matrix_with_diagonal(const std::vector<T>& diagonal) {
    const Index rows = Index(diagonal.size());
    std::vector<std::vector<Index>> pattern(diagonal.size());
    std::vector<std::vector<T>> values(diagonal.size());
    const auto put = [&](Index i, Index j, T value) {
        pattern[std::size_t(i)].push_back(j);
        values[std::size_t(i)].push_back(value);
    };
    for (Index i = 0; i < rows; ++i) {
        for (Index j = i % 7 == 0 ? 0 : std::max(0, i - 3); j < i; ++j) put(i, j, T(5));
        const bool missing = diagonal[std::size_t(i)] == T(0) && i % 2 == 0;
        if (!missing) put(i, i, diagonal[std::size_t(i)]);
        if (i + 2 < rows) put(i, i + 2, T(-5));
    }
    return make_csr(rows, rows, pattern, values);
}

template <class T>
std::vector<T> applied_to_ones(const Context& context, const Jacobi<T>& jacobi) {
    const Buffer<T> ones = copy_to_buffer(context, std::vector<T>(std::size_t(jacobi.rows()), 1));
    Buffer<T> z(context, jacobi.rows());
    jacobi.apply(context, ones.view(), z.view());
    return copy_to_host(context, z);
}

}  // namespace

TEST(jacobi, divides_by_the_diagonal) {
    for_reals([](auto real) {
        using T = decltype(real);
        auto random = generator();
        const Context device = context();
        for (const std::size_t rows : {0, 1, 2, 1000}) {
            auto diagonal = random_vector<T>(random, rows);
            for (T& entry : diagonal) entry += entry < 0 ? T(-0.1) : T(0.1);
            const CsrMatrix<T> matrix = copy_to(device, matrix_with_diagonal(diagonal).view());
            const Jacobi<T> jacobi(device, matrix.view());
            EXPECT_EQ(jacobi.singular_blocks(), 0);
            EXPECT_EQ(jacobi.rows(), Index(rows));
            const auto z = applied_to_ones(device, jacobi);
            for (std::size_t i = 0; i < rows; ++i) EXPECT_EQ(z[i], T(1) / diagonal[i]);
        }
    });
}

/// Application fused with a dot is bitwise equal.
TEST(jacobi, applied_with_its_dot) {
    for_reals([](auto real) {
        using T = decltype(real);
        auto random = generator();
        const Context device = context();
        for (const std::size_t rows : {0, 1, 5000}) {
            const CsrMatrix<T> matrix =
                copy_to(device, matrix_with_diagonal(std::vector<T>(rows, T(3))).view());
            const Jacobi<T> jacobi(device, matrix.view());
            const Buffer<T> r = copy_to_buffer(device, random_vector<T>(random, rows));
            Buffer<T> z(device, Offset(rows)), expected(device, Offset(rows)), sums(device, 2);
            jacobi.apply_dot(device, r.view(), z.view(), sums.data());
            jacobi.apply(device, r.view(), expected.view());
            dot<T>(device, r.view(), std::as_const(expected).view(), sums.data() + 1);
            EXPECT_EQ(copy_to_host(device, z), copy_to_host(device, expected));
            const auto found = copy_to_host(device, sums);
            EXPECT_EQ(found[0], found[1]);
        }
    });
}

TEST(jacobi, policies) {
    for_reals([](auto real) {
        using T = decltype(real);
        const Context device = context();
        const T nan = std::numeric_limits<T>::quiet_NaN();
        const T infinity = std::numeric_limits<T>::infinity();
        const T tiny = std::numeric_limits<T>::denorm_min();
        const T root = std::sqrt(std::numeric_limits<T>::epsilon());
        const std::vector<T> diagonal{2, 0, 0, -4, nan, infinity, tiny, -tiny, T(0.5)};
        const CsrMatrix<T> matrix = copy_to(device, matrix_with_diagonal(diagonal).view());
        for (const auto policy :
             {SingularPolicy::stop, SingularPolicy::identity, SingularPolicy::shift}) {
            const Jacobi<T> jacobi(device, matrix.view(), policy);
            EXPECT_EQ(jacobi.describe(), std::string("jacobi,singular=") + to_string(policy));
            EXPECT_EQ(jacobi.singular_blocks(), 6);
            const auto first = jacobi.report().first_singular;
            ASSERT_EQ(first.size(), 6u);
            const auto z = applied_to_ones(device, jacobi);
            EXPECT_EQ(z[0], T(0.5));
            EXPECT_EQ(z[3], T(-0.25));
            EXPECT_EQ(z[8], T(2));
            const std::vector<Index> rows{1, 2, 4, 5, 6, 7};
            for (std::size_t s = 0; s < 6; ++s) {
                const Index i = rows[s];
                const bool never = policy == SingularPolicy::stop || i == 4 || i == 5;
                EXPECT_EQ(first[s].block, i);
                EXPECT_EQ(first[s].first_row, i);
                EXPECT_EQ(first[s].rows, 1);
                EXPECT_EQ(first[s].info, 1);
                EXPECT_EQ(first[s].shift, never || policy == SingularPolicy::identity ? -1 : 0);
                const T value = z[std::size_t(i)];
                if (never) {
                    EXPECT_TRUE(std::isnan(value));
                } else {
                    EXPECT_EQ(value, policy == SingularPolicy::identity ? T(1) : T(1) / root);
                }
            }
        }
    });
}

TEST(jacobi, update_takes_new_values) {
    const Context device = context();
    const CsrMatrix<double> before =
        copy_to(device, matrix_with_diagonal(std::vector<double>{1, 0, 2}).view());
    const CsrMatrix<double> after =
        copy_to(device, matrix_with_diagonal(std::vector<double>{4, 8, 2}).view());
    Jacobi<double> jacobi(device, before.view());
    EXPECT_EQ(jacobi.singular_blocks(), 1);
    jacobi.update(device, after.view());
    EXPECT_EQ(jacobi.singular_blocks(), 0);
    EXPECT_EQ(applied_to_ones(device, jacobi), (std::vector<double>{0.25, 0.125, 0.5}));
}

}  // namespace tessera::test
