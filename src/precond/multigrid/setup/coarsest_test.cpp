#include "precond/multigrid/setup/coarsest.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "support/test.hpp"

namespace tessera::test {

using namespace multigrid;

namespace {

using Dense = std::vector<double>;  ///< n x n numbers.

BsrMatrix<double> one_by_one(const Dense& values, Index n) {
    BsrMatrix<double> matrix(context(), n, n, 1, 1, Offset(n) * n);
    std::vector<Offset> offsets;
    std::vector<Index> columns;
    for (Index i = 0; i <= n; ++i) offsets.push_back(Offset(i) * n);
    for (Index i = 0; i < n; ++i) {
        for (Index j = 0; j < n; ++j) columns.push_back(j);
    }
    matrix.row_offsets() = copy_to_buffer(context(), offsets);
    matrix.column_indices() = copy_to_buffer(context(), columns);
    matrix.values() = copy_to_buffer(context(), values);
    return matrix;
}

/// The inverse, exactly symmetric, and how many modes were found.
std::pair<Dense, int> invert(const Dense& values, Index n, const Dense& near_null) {
    const DeviceVectors vectors{1, copy_to_buffer(context(), near_null)};
    const CoarsestInverse found = invert_coarsest(context(), one_by_one(values, n), vectors,
                                                  std::numeric_limits<double>::epsilon());
    const Dense inverse = copy_to_host(context(), found.inverse);
    Dense transposed = inverse;
    for (Index i = 0; i < n; ++i) {
        for (Index j = 0; j < n; ++j)
            transposed[std::size_t(i * n + j)] = inverse[std::size_t(j * n + i)];
    }
    EXPECT_EQ(inverse, transposed);
    return {inverse, found.modes};
}

Dense product(const Dense& a, const Dense& b, Index n) {
    Dense c(a.size(), 0.0);
    for (Index i = 0; i < n; ++i) {
        for (Index k = 0; k < n; ++k) {
            const double factor = a[std::size_t(i * n + k)];
            for (Index j = 0; j < n; ++j)
                c[std::size_t(i * n + j)] += factor * b[std::size_t(k * n + j)];
        }
    }
    return c;
}

double largest(const Dense& a) {
    double most = 0;
    for (const double value : a) most = std::max(most, std::abs(value));
    return most;
}

double distance(const Dense& a, const Dense& b) {
    Dense difference = a;
    for (std::size_t e = 0; e < a.size(); ++e) difference[e] -= b[e];
    return largest(difference);
}

Dense identity(Index n) {
    Dense values(std::size_t(n) * std::size_t(n), 0.0);
    for (Index i = 0; i < n; ++i) values[std::size_t(i * n + i)] = 1;
    return values;
}

/// The Laplacian of a complete graph with random weights: rows sum to zero up to rounding.
Dense laplacian(Index n) {
    auto random = generator();
    std::uniform_real_distribution<double> weights(0.5, 1.5);
    Dense values(std::size_t(n) * std::size_t(n), 0.0);
    for (Index i = 0; i < n; ++i) {
        for (Index j = 0; j < i; ++j) {
            const double weight = weights(random);
            values[std::size_t(i * n + j)] = values[std::size_t(j * n + i)] = -weight;
            values[std::size_t(i * n + i)] += weight;
            values[std::size_t(j * n + j)] += weight;
        }
    }
    return values;
}

constexpr Index sizes[] = {1, 2, 15, 16, 17, 63, 64, 65, 130, 321};

}  // namespace

TEST(coarsest, inverse_of_a_definite_matrix) {
    for (const Index n : sizes) {
        SCOPED_TRACE(n);
        Dense values = laplacian(n);
        for (Index i = 0; i < n; ++i) values[std::size_t(i * n + i)] += 1;
        const auto [inverse, modes] = invert(values, n, Dense(std::size_t(n), 1.0));
        EXPECT_EQ(modes, 0);
        // The smallest eigenvalue is 1.
        const double bound = 8 * n * std::numeric_limits<double>::epsilon() *
                             std::max(1.0, largest(values)) * std::max(1.0, largest(inverse));
        EXPECT_LE(distance(product(values, inverse, n), identity(n)), bound);
    }
}

TEST(coarsest, known_modes_become_eigenvectors) {
    for (const Index n : sizes) {
        if (n == 1) continue;
        SCOPED_TRACE(n);
        Dense values = laplacian(n);
        const auto [inverse, modes] = invert(values, n, Dense(std::size_t(n), 3.0));
        EXPECT_EQ(modes, 1);
        for (double& value : values) value += 1.0 / n;
        const double bound = 8 * n * std::numeric_limits<double>::epsilon() * largest(values) *
                             std::max(1.0, largest(inverse));
        EXPECT_LE(distance(product(values, inverse, n), identity(n)), bound);
    }
}

TEST(coarsest, unknown_modes_leave_zeros) {
    for (const Index n : sizes) {
        if (n == 1) continue;
        SCOPED_TRACE(n);
        const Dense values = laplacian(n);
        Dense near_null(std::size_t(n), 1.0);
        near_null[0] = -1;  // No mode.
        const auto [inverse, modes] = invert(values, n, near_null);
        EXPECT_EQ(modes, 1);
        for (Index j = 0; j < n; ++j) EXPECT_EQ(inverse[std::size_t((n - 1) * n + j)], 0);
        const double bound = 64 * n * std::numeric_limits<double>::epsilon() * largest(values) *
                             std::max(1.0, largest(inverse));
        EXPECT_LE(distance(product(product(values, inverse, n), values, n), values),
                  bound * largest(values));
    }
}

TEST(coarsest, indefinite_matrices_are_refused) {
    for (const Index n : {2, 40, 130}) {
        Dense values = identity(n);
        values[std::size_t(n) * std::size_t(n) - 1] = -1;
        EXPECT_THROW(invert(values, n, Dense(std::size_t(n), 1.0)), NotPositiveDefinite);
    }
}

}  // namespace tessera::test
