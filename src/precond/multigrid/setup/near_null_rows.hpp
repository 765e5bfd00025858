#pragma once

#include "base/for_each.hpp"
#include "tessera/detail/bsr.hpp"

// Loop bodies that make near-null vectors.

namespace tessera::multigrid {

/// The rows of a node in 2 or 3 dimensions: translations, then the rotation in the plane of each
/// pair of axes, about a centre.
struct RigidBodyRows {
    static constexpr int work = 32;
    int dimensions;
    const double* positions;
    double centre[3];  ///< Near the nodes, so that rotations are no larger than need be.
    double* values;

    TESSERA_HOST_DEVICE void operator()(Offset i) const {
        const int d = dimensions, width = d == 2 ? 3 : 6;
        const double* const x = positions + i * d;
        double* const rows = values + i * d * width;
        for (int e = 0; e < d * width; ++e) rows[e] = 0;
        for (int axis = 0; axis < d; ++axis) rows[axis * width + axis] = 1;
        int column = d;
        for (int a = 0; a < d; ++a) {
            for (int b = a + 1; b < d; ++b, ++column) {
                rows[a * width + column] = -(x[b] - centre[b]);
                rows[b * width + column] = x[a] - centre[a];
            }
        }
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

/// Zeros for an unknown that is coupled to no other one, such as a fixed one: no vector with
/// another value there is mapped to little.
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
