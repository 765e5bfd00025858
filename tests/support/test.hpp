#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "tessera/tessera.hpp"

namespace tessera::test {

/// The context that this run tests: the CPU with two threads (TESSERA_TEST_BACKEND=cpu or unset),
/// or the first GPU. It does not change during a test: wait for the results of one Context before
/// another one uses them. Without a GPU the whole run is skipped before any test starts.
Context context();

/// A CPU context for host-side work (reading, generating, references).
Context host(int threads = 2);

/// A generator seeded from the running test's name and TESSERA_TEST_SEED; the seed is printed when
/// the test fails.
std::mt19937_64 generator();

/// The folder of real matrices, or empty; tests that need it are then skipped.
std::string matrix_folder();

/// An empty folder for files of the running test.
std::string scratch_folder();

/// TESSERA_FULL=1 enables the long cases.
bool full_run();

/// TESSERA_FEWER=1 selects fewer matrices in cases that are slow under a sanitizer.
bool fewer_run();

/// gamma_k = k u / (1 - k u) of the standard rounding-error analysis, u the unit roundoff of T.
template <class T>
double gamma(double k) {
    const double u = double(std::numeric_limits<T>::epsilon()) / 2;
    return k * u / (1 - k * u);
}

/// Uniform in [-1, 1).
template <class T>
std::vector<T> random_vector(std::mt19937_64& random, std::size_t n) {
    std::uniform_real_distribution<double> uniform(-1, 1);
    std::vector<T> x(n);
    for (T& element : x) element = T(uniform(random));
    return x;
}

/// A CSR matrix in host memory from triplets that are sorted and unique.
template <class T>
CsrMatrix<T> make_csr(Index rows, Index columns, const std::vector<std::vector<Index>>& pattern,
                      const std::vector<std::vector<T>>& values) {
    Offset nonzeros = 0;
    for (const auto& row : pattern) nonzeros += Offset(row.size());
    CsrMatrix<T> matrix(host(), rows, columns, nonzeros);
    Offset at = 0;
    matrix.row_offsets().data()[0] = 0;
    for (std::size_t i = 0; i < pattern.size(); ++i) {
        for (std::size_t k = 0; k < pattern[i].size(); ++k, ++at) {
            matrix.column_indices().data()[at] = pattern[i][k];
            matrix.values().data()[at] = values[i][k];
        }
        matrix.row_offsets().data()[i + 1] = at;
    }
    return matrix;
}

}  // namespace tessera::test
