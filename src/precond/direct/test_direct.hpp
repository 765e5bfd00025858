#pragma once

#include <map>
#include <numeric>

#include "sparse/test_symmetric_matrices.hpp"
#include "support/blocks.hpp"
#include "tessera/direct.hpp"

// Matrices and bounds for the tests of exact factors.
namespace tessera::test {

/// A permutation with entries of size 1 to 4, and about `around` smaller entries per row.
inline Entries random_square(std::mt19937_64& random, Index rows, double around) {
    std::uniform_real_distribution<double> uniform(-1, 1);
    std::vector<Index> columns(std::size_t(rows), 0);
    std::iota(columns.begin(), columns.end(), 0);
    std::shuffle(columns.begin(), columns.end(), random);
    Entries entries(rows);
    for (Index k = 0; k < Index(around * rows); ++k) {
        entries.add(Index(random() % std::uint64_t(rows)), Index(random() % std::uint64_t(rows)),
                    uniform(random));
    }
    for (Index i = 0; i < rows; ++i) {
        entries.add(i, columns[std::size_t(i)],
                    (random() % 2 ? 1 : -1) * (2.5 + 1.5 * uniform(random)));
    }
    return entries;
}

/// For factors row by row, where rows are short, and by fronts: options of pivots are for these.
inline const DirectOptions both_kinds[] = {{}, {.threshold = 0.05}};

template <class T>
std::vector<T> applied(const Context& device, const Direct<T>& factors, const std::vector<T>& b) {
    const Buffer<T> right = copy_to_buffer(device, b);
    Buffer<T> x(device, Offset(b.size()));
    factors.apply(device, right.view(), x.view());
    return copy_to_host(device, x);
}

/// The largest |b - A x|_i / (|A| |x| + |b|)_i over gamma_(n_i + 2), n_i the entries of row i, and
/// the residual.
template <class T>
double backward_error(const CsrView<T>& a, const std::vector<T>& b, const std::vector<T>& x,
                      std::vector<T>& residual) {
    double worst = 0;
    residual.resize(b.size());
    for (std::size_t i = 0; i < b.size(); ++i) {
        long double rest = b[i], size = std::abs(b[i]);
        for (Offset k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) {
            const long double term = (long double)a.values[k] * x[std::size_t(a.column_indices[k])];
            rest -= term;
            size += std::abs(term);
        }
        residual[i] = T(rest);
        const double count = double(a.row_offsets[i + 1] - a.row_offsets[i]);
        const double allowed = gamma<T>(count + 2) * double(size);
        if (!(double(std::abs(rest)) <= worst * allowed)) worst = double(std::abs(rest)) / allowed;
    }
    return worst;
}

/// Solves, refines up to three times, and expects what rounding of a product with A allows
/// (R. D. Skeel, "Iterative refinement implies numerical stability for Gaussian elimination", Math.
/// Comput. 35, 1980).
template <class T>
void expect_solved_by(const Direct<T>& factors, const CsrMatrix<T>& matrix,
                      std::mt19937_64& random) {
    const Context device = context();
    const auto b = random_vector<T>(random, std::size_t(matrix.rows()));
    std::vector<T> x = applied(device, factors, b), residual;
    double error = backward_error(matrix.view(), b, x, residual);
    for (int step = 0; step < 3 && error > 1; ++step) {
        const std::vector<T> change = applied(device, factors, residual);
        for (std::size_t i = 0; i < x.size(); ++i) x[i] += change[i];
        error = backward_error(matrix.view(), b, x, residual);
    }
    EXPECT_LE(error, 1) << matrix.rows() << " rows, " << factors.describe();
    EXPECT_EQ(factors.report().null_pivots, 0);
}

template <class T>
void expect_solved(const CsrMatrix<T>& matrix, const DirectOptions& options,
                   std::mt19937_64& random) {
    const CsrMatrix<T> placed = copy_to(context(), matrix.view());
    expect_solved_by(Direct<T>(context(), placed.view(), options), matrix, random);
}

}  // namespace tessera::test
