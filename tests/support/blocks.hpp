#pragma once

#include "support/test.hpp"

// Small dense blocks, column-major: element (i, j) of an n x n block is a[i + j * n].

namespace tessera::test {

/// test(T()) for float and double.
template <class Test>
void for_reals(Test&& test) {
    test(float());
    test(double());
}

template <class T, class Element>
std::vector<T> block_of(Index n, Element&& element) {
    std::vector<T> a;
    for (Index j = 0; j < n; ++j) {
        for (Index i = 0; i < n; ++i) a.push_back(T(element(i, j)));
    }
    return a;
}

template <class T>
std::vector<T> random_block(std::mt19937_64& random, Index n) {
    return random_vector<T>(random, std::size_t(n) * std::size_t(n));
}

template <class T>
std::vector<T> transpose(Index n, const std::vector<T>& a) {
    return block_of<T>(n, [&](Index i, Index j) { return a[std::size_t(j + i * n)]; });
}

/// max_i sum_j |a_ij|.
template <class T>
double norm_inf(Index n, const std::vector<T>& a) {
    double norm = 0;
    for (Index i = 0; i < n; ++i) {
        double sum = 0;
        for (Index j = 0; j < n; ++j) sum += std::abs(double(a[std::size_t(i + j * n)]));
        norm = std::max(norm, sum);
    }
    return norm;
}

/// ||X A - I||_inf / (n eps ||A||_inf ||X||_inf), the product in long double. The right residual of
/// X is left_residual(n, x, a).
template <class T>
double left_residual(Index n, const std::vector<T>& a, const std::vector<T>& x) {
    std::vector<long double> product(a.size());
    for (Index j = 0; j < n; ++j) {
        for (Index i = 0; i < n; ++i) {
            long double sum = i == j ? -1 : 0;
            for (Index k = 0; k < n; ++k) {
                sum += (long double)x[std::size_t(i + k * n)] * a[std::size_t(k + j * n)];
            }
            product[std::size_t(i + j * n)] = sum;
        }
    }
    const double eps = double(std::numeric_limits<T>::epsilon());
    return norm_inf(n, product) / (n * eps * norm_inf(n, a) * norm_inf(n, x));
}

}  // namespace tessera::test
