#pragma once

#include "base/for_each.hpp"
#include "tessera/detail/bsr.hpp"

// Loop bodies that make near-null vectors.

namespace tessera::multigrid {

/// A number of the rows of a node in 2 or 3 dimensions: translations, then the rotation in the
/// plane of each pair of axes, about a centre.
struct RigidBodyRows {
    static constexpr int work = 4;
    int dimensions;
    const double* positions;
    double centre[3];  ///< Near the nodes, so that rotations are no larger than need be.
    double* values;

    TESSERA_HOST_DEVICE void operator()(Offset place) const {
        const int d = dimensions, width = d == 2 ? 3 : 6, size = d * width;
        const Offset i = place / size;
        const int row = int(place % size) / width, column = int(place % size) % width;
        const double* const x = positions + i * d;
        double value = row == column;
        // Columns d and later: axes 0 and 1, 0 and 2, 1 and 2.
        const int a = column - d == 2, b = column - d == 0 ? 1 : 2;
        if (column >= d && row == a) value = -(x[b] - centre[b]);
        if (column >= d && row == b) value = x[a] - centre[a];
        values[place] = value;
    }
};

/// Raises a flag where a number is not finite.
struct CheckFinite {
    static constexpr int work = 1;
    const double* values;
    int* fault;

    TESSERA_HOST_DEVICE void operator()(Offset i) const {
        if (!(values[i] - values[i] == 0)) raise_flag(fault);
    }
};

/// One vector for each unknown of a node.
struct TranslationRow {
    static constexpr int work = 8;
    int block;
    double* values;

    TESSERA_HOST_DEVICE void operator()(Offset row) const {
        for (int c = 0; c < block; ++c) values[row * block + c] = c == int(row % block);
    }
};

/// Sets near-null vectors to zero at unknowns that are coupled to no other one, such as fixed ones:
/// the matrix maps no vector with another value there to a small one.
struct ClearUncoupled {
    static constexpr int work = 256;
    BsrView<double> matrix;
    int columns;
    double* values;

    TESSERA_HOST_DEVICE void operator()(Offset row) const {
        const int n = matrix.height, r = int(row % n);
        const Offset i = row / n;
        for (Offset k = matrix.row_offsets[i]; k < matrix.row_offsets[i + 1]; ++k) {
            const double* const entries = matrix.values + (k * n + r) * n;
            for (int c = 0; c < n; ++c) {
                const bool own = matrix.column_indices[k] == i && c == r;
                if (entries[c] != 0 && !own) return;
            }
        }
        for (int c = 0; c < columns; ++c) values[row * columns + c] = 0;
    }
};

}  // namespace tessera::multigrid
