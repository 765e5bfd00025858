#pragma once

#include "base/for_each.hpp"
#include "tessera/csr.hpp"

// Loop bodies that give all nodes of a matrix equally many unknowns.

namespace tessera::multigrid {

/// The entries of an unknown's row; one where it has no row.
template <class T>
struct PaddedLength {
    CsrView<T> matrix;
    const Index* row_of_unknown;  ///< -1: none.
    TESSERA_HOST_DEVICE Offset operator()(Offset unknown) const {
        const Index row = row_of_unknown[unknown];
        return row < 0 ? 1 : matrix.row_offsets[row + 1] - matrix.row_offsets[row];
    }
};

/// The row of an unknown, every lanes-th entry; that of an identity where it has none.
template <class T>
struct FillPadded {
    static constexpr int work = 64;
    int lanes;
    CsrView<T> matrix;
    const Index *row_of_unknown, *unknown_of_row;
    const Offset* offsets;
    Index* columns;
    T* values;

    TESSERA_HOST_DEVICE void operator()(Offset place) const {
        const Offset unknown = place / lanes, lane = place % lanes, to = offsets[unknown];
        const Index row = row_of_unknown[unknown];
        if (row < 0) {
            if (lane == 0) {
                columns[to] = Index(unknown);
                values[to] = T(1);
            }
            return;
        }
        const Offset first = matrix.row_offsets[row], count = matrix.row_offsets[row + 1] - first;
        for (Offset k = lane; k < count; k += lanes) {
            columns[to + k] = unknown_of_row[matrix.column_indices[first + k]];
            values[to + k] = matrix.values[first + k];
        }
    }
};

/// Three sums over the entries of row rows[i] for each unknown c of a node: the entries in columns
/// that are known to be unknown c of another node; the entries in the c-th column of its own node,
/// and of nodes with as many rows whose unknowns are not known yet; and the number of entries in
/// columns that are known to be unknown c of an incomplete node.
template <class T>
struct CouplingSums {
    static constexpr int work = 64;
    CsrView<T> matrix;
    const Index *rows, *node_of_row, *node_starts;
    const Index* unknown_of_row;  ///< Unknown of the node that each row is; -1: not known.
    int block;
    double* sums;

    TESSERA_HOST_DEVICE void operator()(Offset i) const {
        const Index row = rows[i], node = node_of_row[row];
        const Index size = node_starts[node + 1] - node_starts[node];
        double* const to = sums + 3 * i * block;
        for (int c = 0; c < 3 * block; ++c) to[c] = 0;
        for (Offset k = matrix.row_offsets[row]; k < matrix.row_offsets[row + 1]; ++k) {
            const Index column = matrix.column_indices[k], other = node_of_row[column];
            const Index first = node_starts[other], other_size = node_starts[other + 1] - first;
            const Index unknown = unknown_of_row[column];
            if (other != node && unknown >= 0) {
                to[unknown] += double(matrix.values[k]);
                if (other_size < block) to[2 * block + unknown] += 1;
            } else if (other_size == size) {
                to[block + column - first] += double(matrix.values[k]);
            }
        }
    }
};

/// y_i = x_index[i]; 0 where the index is negative.
template <class T>
struct Gather {
    static constexpr int work = 2;
    const Index* index;
    const T* x;
    T* y;
    TESSERA_HOST_DEVICE void operator()(Offset i) const {
        y[i] = index[i] < 0 ? T(0) : x[index[i]];
    }
};

}  // namespace tessera::multigrid
