#pragma once

#include "distributed/test_ranks.hpp"
#include "precond/multigrid/ranks/distributed_amg.hpp"
#include "precond/multigrid/test_amg.hpp"

// Problems for the tests of multigrid over ranks.
namespace tessera::test {

/// A problem with its nodes in the order in which ranks own them.
struct Problem {
    CsrMatrix<double> matrix;
    AmgOptions options;
    std::vector<double> b;
};

/// The options of the nodes of a rank.
inline AmgOptions own_options(const AmgOptions& whole, const std::vector<Offset>& starts,
                              int rank) {
    AmgOptions own = whole;
    const NodeCoordinates& points = *whole.coordinates;
    const std::vector<double> all(points.values.begin(), points.values.end());
    if (!all.empty()) {
        const auto part = own_part(all, starts, rank, points.dimensions);
        own.coordinates =
            NodeCoordinates{points.dimensions, std::vector<double>(part.begin(), part.end())};
    }
    const NearNullSpace& near_null = *whole.near_null;
    if (!near_null.values.empty()) {
        const auto part = own_part(near_null.values, starts, rank, whole.block * near_null.columns);
        own.near_null =
            NearNullSpace{near_null.columns, std::vector<double>(part.begin(), part.end())};
    }
    return own;
}

inline Problem problem_of(const Body& body) {
    auto random = generator();
    Problem problem{body.matrix(), body.options(), {}};
    problem.b = random_vector<double>(random, std::size_t(problem.matrix.rows()));
    return problem;
}

inline Body grid(const std::string& text, int block, int dimensions, Index along, Index size) {
    return {text, block, dimensions, along, size};
}

/// Some rows of a problem of nodes of 3 unknowns as those of other systems: entry(row, column,
/// value) is the new value, 0 where there is none.
inline CsrMatrix<double> changed(const CsrView<double>& a,
                                 const std::function<double(Index, Index, double)>& entry) {
    std::vector<std::vector<Index>> pattern(std::size_t(a.rows));
    std::vector<std::vector<double>> values(pattern.size());
    for (Index i = 0; i < a.rows; ++i) {
        for (Offset k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) {
            const double value = entry(i, a.column_indices[k], a.values[k]);
            if (value == 0) continue;
            pattern[std::size_t(i)].push_back(a.column_indices[k]);
            values[std::size_t(i)].push_back(value);
        }
    }
    return make_csr<double>(a.rows, a.columns, pattern, values);
}

}  // namespace tessera::test
