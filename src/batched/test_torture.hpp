#pragma once

#include "batched/test_factors.hpp"

// Matrices that are hard to factor in one way or another, symmetric ones too.

namespace tessera::test {

template <class T>
std::vector<T> symmetrised(Index n, const std::vector<T>& a) {
    return block_of<T>(
        n, [&](Index i, Index j) { return a[std::size_t(i + j * n)] + a[std::size_t(j + i * n)]; });
}

template <class T>
std::vector<T> random_symmetric(std::mt19937_64& random, Index n) {
    return symmetrised(n, random_block<T>(random, n));
}

/// B B^T / n + shift I.
template <class T>
std::vector<T> random_definite(std::mt19937_64& random, Index n, double shift) {
    const auto b = random_block<double>(random, n);
    return block_of<T>(n, [&](Index i, Index j) {
        double sum = i == j ? shift : 0;
        for (Index k = 0; k < n; ++k) {
            sum += b[std::size_t(i + k * n)] * b[std::size_t(j + k * n)] / n;
        }
        return sum;
    });
}

/// A random matrix that the method factors without difficulty.
template <class T>
std::vector<T> random_matrix(std::mt19937_64& random, const Method& method, Index n) {
    if (method.factorisation == Factorisation::llt) return random_definite<T>(random, n, 0.1);
    if (method.symmetric()) return random_symmetric<T>(random, n);
    return random_block<T>(random, n);
}

template <class T>
HostBatch<T> random_batch(std::mt19937_64& random, const Method& method, Index count, Index low,
                          Index high) {
    HostBatch<T> batch;
    for (Index b = 0; b < count; ++b) {
        const Index n = low + Index(random() % std::uint64_t(high - low + 1));
        batch.add(n, random_matrix<T>(random, method, n));
    }
    return batch;
}

/// Pivots of 1 x 1 and 2 x 2 in small integers, many of them equal, in random order: nothing is
/// rounded when they are eliminated.
template <class T>
std::vector<T> exact_symmetric(std::mt19937_64& random, Index n) {
    std::vector<double> a(std::size_t(n) * std::size_t(n), 0);
    const auto order = random_order(random, n);
    const auto set = [&](Index i, Index j, double value) {
        const Index row = order[std::size_t(i)], column = order[std::size_t(j)];
        a[std::size_t(row + column * n)] = a[std::size_t(column + row * n)] = value;
    };
    for (Index s = 0; s < n; ++s) {
        const double sign = random() % 2 ? 1 : -1;
        if (s + 1 == n || random() % 2) {
            set(s, s, random() % 3 ? sign : 2 * sign);
            continue;
        }
        set(s + 1, s, random() % 3 ? sign : 4 * sign);
        if (random() % 2) set(s, s, sign / 2);
        ++s;
    }
    return {a.begin(), a.end()};
}

/// Matrices of n rows that have no inverse.
template <class T>
void add_singular(Zoo<T>& zoo, std::mt19937_64& random, const Method& method, Index n) {
    const auto some = random_matrix<T>(random, method, n);
    const auto v = random_vector<double>(random, std::size_t(n));
    const auto at = [](const auto& values, Index k) { return double(values[std::size_t(k)]); };
    zoo.add("zero", n, [](Index, Index) { return 0; });
    zoo.add("ones", n, [](Index, Index) { return 1; });
    zoo.add("rank one", n, [&](Index i, Index j) { return at(v, i) * at(v, j); });
    zoo.add("a zero row and column", n,
            [&](Index i, Index j) { return i == n / 2 || j == n / 2 ? 0 : at(some, i + j * n); });
    zoo.add("two equal rows and columns", n, [&](Index i, Index j) {
        return at(some,
                  std::min(i, n - 2 > 0 ? n - 2 : 0) + std::min(j, n - 2 > 0 ? n - 2 : 0) * n);
    });
}

/// [H B; B^T 0], H of `definite` rows.
template <class T>
std::vector<T> saddle_point(std::mt19937_64& random, Index n, Index definite) {
    const auto a = random_symmetric<T>(random, n);
    return block_of<T>(n, [&](Index i, Index j) {
        if (i >= definite && j >= definite) return T(0);
        return i == j ? T(n) : a[std::size_t(i + j * n)];
    });
}

/// A symmetric matrix with other scales, and near the ends of the range.
template <class T>
void add_scaled(Zoo<T>& zoo, Index n, const std::vector<T>& some) {
    using Limits = std::numeric_limits<T>;
    const auto power = [&](Index i) { return n > 1 ? 24 * i / (n - 1) - 12 : 0; };
    const auto add = [&](const char* name, auto&& exponent) {
        zoo.add(name, n, [&](Index i, Index j) {
            return std::ldexp(some[std::size_t(i + j * n)], exponent(i, j));
        });
    };
    add("scaled rows and columns", [&](Index i, Index j) { return power(i) + power(j); });
    add("scaled the other way", [&](Index i, Index j) { return -power(i) - power(j); });
    add("near the smallest values", [](Index, Index) { return Limits::min_exponent + 14; });
    add("near the largest values", [](Index, Index) { return Limits::max_exponent - 14; });
}

template <class T>
void add_symmetric(Zoo<T>& zoo, std::mt19937_64& random, Index n) {
    const auto some = random_symmetric<T>(random, n);
    const auto at = [&](Index i, Index j) { return some[std::size_t(i + j * n)]; };
    add_scaled(zoo, n, some);
    zoo.add("zero diagonal", n,
            [&](Index i, Index j) { return i == j && n > 1 ? T(0) : at(i, j); });
    zoo.add("small diagonal", n,
            [&](Index i, Index j) { return i == j ? std::ldexp(at(i, j), -20) : at(i, j); });
    zoo.add("exact", n, exact_symmetric<T>(random, n));
    zoo.add("saddle point", n, saddle_point<T>(random, n, (2 * n + 2) / 3));
    zoo.add("tridiagonal", n, [](Index i, Index j) {
        return i == j ? 0.5 : i - j == 1 || j - i == 1 ? 1 : 0;
    });
}

template <class T>
void add_definite(Zoo<T>& zoo, std::mt19937_64& random, Index n) {
    add_scaled(zoo, n, random_definite<T>(random, n, 0.01));
    zoo.add("identity", n, [](Index i, Index j) { return i == j; });
    zoo.add("Laplace", n, [](Index i, Index j) {
        return i == j ? 2 : i - j == 1 || j - i == 1 ? -1 : 0;
    });
    if (n <= (sizeof(T) == 4 ? 5 : 11)) {
        zoo.add("Hilbert", n, [](Index i, Index j) { return 1.0 / (i + j + 1); });
    }
}

inline std::vector<Index> torture_sizes() {
    std::vector<Index> sizes;
    for (Index n = 1; n <= 34; ++n) sizes.push_back(n);
    for (const Index n : {47, 64, 65, 100, 128}) sizes.push_back(n);
    return sizes;
}

/// Matrices with an inverse, for a factorisation.
template <class T>
Zoo<T> torture(std::mt19937_64& random, const Method& method) {
    Zoo<T> zoo;
    if (!method.symmetric()) return make_zoo<T>(random);
    for (const Index n : torture_sizes()) {
        if (method.factorisation == Factorisation::llt) {
            add_definite(zoo, random, n);
        } else {
            add_symmetric(zoo, random, n);
        }
    }
    return zoo;
}

/// Whether the factors, found in a wider type, stay in the range of T. Static pivoting and
/// Bunch-Kaufman promise nothing about their size.
template <class T>
bool factors_in_range(const std::vector<Wider<T>>& factors) {
    using std::abs;
    const auto limit = Wider<T>(std::numeric_limits<T>::max()) * Wider<T>(1e-6);
    return std::all_of(factors.begin(), factors.end(),
                       [&](Wider<T> value) { return abs(value) < limit; });
}

}  // namespace tessera::test
