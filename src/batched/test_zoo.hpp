#pragma once

#include <concepts>
#include <string>

#include "batched/test_batches.hpp"

// Matrices that are hard to invert in one way or another.

namespace tessera::test {

template <class T>
struct Zoo {
    HostBatch<T> batch;
    std::vector<std::string> names;

    void add(const std::string& name, Index n, const std::vector<T>& matrix) {
        batch.add(n, matrix);
        names.push_back(name);
    }
    template <std::invocable<Index, Index> Element>
    void add(const std::string& name, Index n, Element&& element) {
        add(name, n, block_of<T>(n, element));
    }
};

inline std::vector<Index> random_order(std::mt19937_64& random, Index n) {
    std::vector<Index> order(static_cast<std::size_t>(n));
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    return order;
}

/// Applies I - 2 v v^T / (v^T v) to the rows of a column-major matrix.
inline void reflect_rows(Index n, const std::vector<double>& v, std::vector<double>& a) {
    double vv = 0;
    for (const double element : v) vv += element * element;
    for (Index j = 0; j < n; ++j) {
        double va = 0;
        for (Index i = 0; i < n; ++i) va += v[std::size_t(i)] * a[std::size_t(i + j * n)];
        for (Index i = 0; i < n; ++i) {
            a[std::size_t(i + j * n)] -= 2 * va / vv * v[std::size_t(i)];
        }
    }
}

/// Singular values from 1 down to 1 / kappa, geometric, between random reflections.
template <class T>
std::vector<T> block_of_condition(std::mt19937_64& random, Index n, double kappa) {
    auto a = block_of<double>(n, [&](Index i, Index j) {
        return i == j ? std::pow(kappa, -double(i) / std::max<Index>(n - 1, 1)) : 0;
    });
    for (int side = 0; side < 2; ++side) {
        for (int k = 0; k < 3; ++k) {
            reflect_rows(n, random_vector<double>(random, std::size_t(n)), a);
        }
        a = transpose(n, a);
    }
    return {a.begin(), a.end()};
}

/// P L U in small integers and halves. Pivots are unique, and all that elimination computes before
/// the first zero pivot is exact; U has a zero in place `zero` (none: -1).
template <class T>
std::vector<T> exact_block(std::mt19937_64& random, Index n, Index zero) {
    std::vector<double> u(std::size_t(n), 1), right(std::size_t(n), 0), below(std::size_t(n), 0);
    for (Index i = 0; i < n; ++i) {
        u[std::size_t(i)] = random() % 2 ? 1 : -1;
        if (i + 1 < n) right[std::size_t(i)] = double(random() % 3) - 1;
        // L is its own inverse but for signs: only rows 1, 3, ... have an element left of 1.
        if (i % 2 == 0) below[std::size_t(i)] = random() % 2 ? 0.5 : -0.5;
    }
    if (zero >= 0) u[std::size_t(zero)] = 0;
    const auto order = random_order(random, n);
    const auto upper = [&](Index i, Index j) {
        return i == j ? u[std::size_t(i)] : j == i + 1 ? right[std::size_t(i)] : 0;
    };
    return block_of<T>(n, [&](Index row, Index j) {
        const Index i = order[std::size_t(row)];
        return upper(i, j) + (i > 0 ? below[std::size_t(i - 1)] * upper(i - 1, j) : 0);
    });
}

template <class T>
void add_structured(Zoo<T>& zoo, std::mt19937_64& random, Index n) {
    const auto order = random_order(random, n);
    const auto noise = random_block<T>(random, n);
    const auto noise_at = [&](Index i, Index j) { return noise[std::size_t(i + j * n)]; };
    const auto power = [&](Index i) { return n > 1 ? 80 * i / (n - 1) - 40 : 0; };
    zoo.add("identity", n, [](Index i, Index j) { return i == j; });
    zoo.add("permutation", n, [&](Index i, Index j) { return order[std::size_t(i)] == j; });
    zoo.add("diagonal", n,
            [&](Index i, Index j) { return i == j ? std::ldexp(1.5, power(i)) : 0; });
    zoo.add("graded rows", n,
            [&](Index i, Index j) { return std::ldexp(noise_at(i, j), power(i)); });
    zoo.add("graded columns", n,
            [&](Index i, Index j) { return std::ldexp(noise_at(i, j), power(j)); });
    zoo.add("zero diagonal", n,
            [&](Index i, Index j) { return i == j && n > 1 ? T(0) : noise_at(i, j); });
    zoo.add("near the smallest values", n, [&](Index i, Index j) {
        return std::ldexp(noise_at(i, j), std::numeric_limits<T>::min_exponent + 12);
    });
    zoo.add("near the largest values", n, [&](Index i, Index j) {
        return std::ldexp(noise_at(i, j), std::numeric_limits<T>::max_exponent - 12);
    });
    zoo.add("exact", n, exact_block<T>(random, n, -1));
}

/// Every kind in every size where it can be inverted in T.
template <class T>
Zoo<T> make_zoo(std::mt19937_64& random) {
    constexpr bool single = sizeof(T) == 4;
    Zoo<T> zoo;
    for (Index n = 1; n <= 40; ++n) add_structured(zoo, random, n);
    for (const Index n : {47, 64, 65, 97, 128}) add_structured(zoo, random, n);
    for (Index n = 1; n <= (single ? 6 : 11); ++n) {
        zoo.add("Hilbert", n, [](Index i, Index j) { return 1.0 / (i + j + 1); });
        zoo.add("Vandermonde", n,
                [&](Index i, Index j) { return std::pow((i + 1) / double(n), double(j)); });
    }
    for (const Index n : {2, 5, 12, 16, 25, 32, 33, 60}) {
        zoo.add("Kahan", n, [](Index i, Index j) {
            return std::pow(std::sin(1.2), i) * (i == j ? 1 : i < j ? -std::cos(1.2) : 0);
        });
        zoo.add("Wilkinson", n, [&](Index i, Index j) {
            return j == n - 1 || i == j ? 1 : i > j ? -1 : 0;
        });
    }
    for (const Index n : {2, 3, 4, 8, 15, 16, 24, 31, 32, 33, 48, 100}) {
        for (double kappa = 10; kappa <= (single ? 1e7 : 1e15); kappa *= 10) {
            zoo.add("condition " + std::to_string(std::log10(kappa)), n,
                    block_of_condition<T>(random, n, kappa));
        }
    }
    return zoo;
}

}  // namespace tessera::test
