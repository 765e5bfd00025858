#pragma once

#include "krylov/test_systems.hpp"
#include "tessera/choice.hpp"
#include "tessera/problems.hpp"

namespace tessera::test {

inline CsrMatrix<double> problem(const std::string& text) {
    return problems::generate<double>(Context::cpu(), Spec(text)).matrix;
}

/// The matrix with the value of entry (row, row) replaced.
inline CsrMatrix<double> with_diagonal(CsrMatrix<double> matrix, Index row, double value) {
    const CsrView<double> view = matrix.view();
    for (Offset k = view.row_offsets[row]; k < view.row_offsets[row + 1]; ++k) {
        if (view.column_indices[k] == row) matrix.values().view()[std::size_t(k)] = value;
    }
    return matrix;
}

inline MatrixFacts facts_of(const CsrMatrix<double>& matrix,
                            const NodeCoordinates& coordinates = {}) {
    const CsrMatrix<double> placed = copy_to(context(), matrix);
    return find_facts(context(), placed.view(), coordinates);
}

}  // namespace tessera::test
