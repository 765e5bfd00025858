#pragma once

#include "base/for_each.hpp"
#include "tessera/detail/bsr.hpp"

// Loop bodies that invert the coarsest matrix.

namespace tessera::multigrid {

/// Row i of A V and of |A| |V|, for vectors V with `columns` numbers per row.
struct ApplyToModes {
    static constexpr int work = 1024;
    BsrView<double> matrix;
    int columns;
    const double* vectors;
    double *images, *sizes;

    TESSERA_HOST_DEVICE void operator()(Offset row) const {
        const int n = matrix.height, r = int(row % n);
        for (int c = 0; c < columns; ++c) {
            double image = 0, size = 0;
            for (Offset k = matrix.row_offsets[row / n]; k < matrix.row_offsets[row / n + 1]; ++k) {
                for (int t = 0; t < n; ++t) {
                    const Offset j = Offset(matrix.column_indices[k]) * n + t;
                    const double term =
                        matrix.values[(k * n + r) * n + t] * vectors[j * columns + c];
                    image += term;
                    size += term < 0 ? -term : term;
                }
            }
            images[row * columns + c] = image;
            sizes[row * columns + c] = size;
        }
    }
};

/// The entries of a row among zeros.
struct WriteDense {
    static constexpr int work = 64;
    BsrView<double> matrix;
    Offset rows;
    double* dense;

    TESSERA_HOST_DEVICE void operator()(Offset row) const {
        const int n = matrix.height, r = int(row % n);
        for (Offset k = matrix.row_offsets[row / n]; k < matrix.row_offsets[row / n + 1]; ++k) {
            for (int t = 0; t < n; ++t) {
                dense[row * rows + Offset(matrix.column_indices[k]) * n + t] =
                    matrix.values[(k * n + r) * n + t];
            }
        }
    }
};

/// A + V V^T, for `count` vectors V of `rows` numbers, one after the other.
struct AddModes {
    static constexpr int work = 16;
    Offset rows;
    int count;
    const double* vectors;
    double* dense;

    TESSERA_HOST_DEVICE void operator()(Offset e) const {
        double sum = dense[e];
        for (int m = 0; m < count; ++m) {
            sum += vectors[m * rows + e / rows] * vectors[m * rows + e % rows];
        }
        dense[e] = sum;
    }
};

struct CopyDiagonal {
    static constexpr int work = 1;
    Offset rows;
    const double* dense;
    double* diagonal;
    TESSERA_HOST_DEVICE void operator()(Offset i) const { diagonal[i] = dense[i * (rows + 1)]; }
};

/// What an elimination found.
struct EliminationFaults {
    Index dependent = 0;  ///< Pivots that were rounding errors.
    Index negative = 0;   ///< Set by a negative one.
};

/// The sweep operator of a pivot: after those of all rows, A has become -A^-1, symmetric to the
/// last bit. A pivot that is a rounding error leaves a row and a column of zeros.
struct Sweep {
    static constexpr int work = 8;
    Offset rows, pivot;
    double least;  ///< Relative to the diagonal at first.
    const double *diagonal, *from;
    double* to;
    EliminationFaults* faults;

    TESSERA_HOST_DEVICE void operator()(Offset e) const {
        const Offset i = e / rows, j = e % rows;
        const double d = from[pivot * (rows + 1)], given = diagonal[pivot];
        const bool own_row = i == pivot, own_column = j == pivot;
        if (!(d > least * given && given > 0)) {
            to[e] = own_row || own_column ? 0 : from[e];
            if (!(own_row && own_column)) return;
            faults->dependent += 1;
            if (!(d > -1000 * least * given && given > 0)) faults->negative = 1;
            return;
        }
        const double inverse = 1 / d;
        if (own_row && own_column) {
            to[e] = -inverse;
        } else if (own_row || own_column) {
            to[e] = from[e] * inverse;
        } else {
            const double product = from[i * rows + pivot] * from[j * rows + pivot];
            to[e] = from[e] - product * inverse;
        }
    }
};

/// A dense n x n matrix as a sparse one.
template <class C>
struct WriteRows {
    static constexpr int work = 4;
    Offset rows;
    const double* dense;
    Offset* offsets;
    Index* columns;
    C* values;

    TESSERA_HOST_DEVICE void operator()(Offset e) const {
        columns[e] = Index(e % rows);
        values[e] = C(dense[e]);
        if (e % rows == 0) offsets[e / rows + 1] = e + rows;
        if (e == 0) offsets[0] = 0;
    }
};

struct Negate {
    static constexpr int work = 1;
    double* values;
    TESSERA_HOST_DEVICE void operator()(Offset e) const { values[e] = -values[e]; }
};

}  // namespace tessera::multigrid
