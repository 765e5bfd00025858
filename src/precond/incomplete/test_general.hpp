#pragma once

#include "precond/incomplete/test_factor.hpp"

// Matrices that are not symmetric, whose rows belong to columns of other numbers, for the tests of
// ILU.

namespace tessera::test {

/// A matrix in host memory, and the row of each column.
template <class T>
struct General {
    CsrMatrix<T> matrix;
    std::vector<Index> row_of_column;
};

/// About `around` random entries per row, uniform in [-1, 1); `diagonal` times +-[0.5, 2) in the
/// places of the random permutation.
template <class T>
General<T> random_general(std::mt19937_64& random, Index rows, double around, double diagonal = 1) {
    std::uniform_real_distribution<double> uniform(-1, 1);
    General<T> result;
    result.row_of_column.resize(std::size_t(rows));
    std::iota(result.row_of_column.begin(), result.row_of_column.end(), 0);
    std::shuffle(result.row_of_column.begin(), result.row_of_column.end(), random);
    std::vector<std::map<Index, double>> by_rows(static_cast<std::size_t>(rows));
    const auto add = [&](Index i, Index j, double value) {  // Row i as its column.
        by_rows[std::size_t(result.row_of_column[std::size_t(i)])][j] = value;
    };
    for (Index i = 0; i < rows; ++i) {
        const int others = int(std::floor(around + (uniform(random) + 1) / 2));
        for (int e = 0; e < others; ++e) {
            const auto j = Index(random() % std::uint64_t(rows));
            if (j != i) add(i, j, uniform(random));
        }
        const double size = diagonal * (1.25 + 0.75 * uniform(random));
        add(i, i, uniform(random) < 0 ? -size : size);
    }
    std::vector<std::vector<Index>> columns(by_rows.size());
    std::vector<std::vector<T>> values(by_rows.size());
    for (std::size_t i = 0; i < by_rows.size(); ++i) {
        for (const auto& [column, value] : by_rows[i]) {
            columns[i].push_back(column);
            values[i].push_back(T(value));
        }
    }
    result.matrix = make_csr(rows, rows, columns, values);
    return result;
}

template <class T>
incomplete::NumericFactor<T> make_factor(const Context& context, const General<T>& general, Index k,
                                         std::vector<Index> slots, int fill, BlockLdltStage method,
                                         double epsilon,
                                         batched::Pivoting pivoting = batched::Pivoting::full) {
    return make_factor(context, general.matrix.view(),
                       incomplete::make_grid(context, k, general.matrix.rows(), std::move(slots),
                                             general.row_of_column),
                       false, fill, method, epsilon, pivoting);
}

}  // namespace tessera::test
