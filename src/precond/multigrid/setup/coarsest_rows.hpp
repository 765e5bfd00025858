#pragma once

#include "base/for_each.hpp"
#include "tessera/detail/bsr.hpp"

// Loop bodies that invert the coarsest matrix.

namespace tessera::multigrid {

/// An entry of A V and of |A| |V|, for vectors V with `columns` numbers per row.
struct ApplyToModes {
    static constexpr int work = 256;
    BsrView<double> matrix;
    int columns;
    const double* vectors;
    double *images, *sizes;

    TESSERA_HOST_DEVICE void operator()(Offset place) const {
        const Offset row = place / columns;
        const int n = matrix.height, r = int(row % n), c = int(place % columns);
        double image = 0, size = 0;
        for (Offset k = matrix.row_offsets[row / n]; k < matrix.row_offsets[row / n + 1]; ++k) {
            for (int t = 0; t < n; ++t) {
                const Offset j = Offset(matrix.column_indices[k]) * n + t;
                const double term = matrix.values[(k * n + r) * n + t] * vectors[j * columns + c];
                image += term;
                size += term < 0 ? -term : term;
            }
        }
        images[place] = image;
        sizes[place] = size;
    }
};

/// The entries of every lanes-th block of a row among zeros.
struct WriteDense {
    static constexpr int work = 64;
    int lanes;
    BsrView<double> matrix;
    Offset rows;
    double* dense;

    TESSERA_HOST_DEVICE void operator()(Offset place) const {
        const Offset row = place / lanes;
        const int n = matrix.height, r = int(row % n);
        for (Offset k = matrix.row_offsets[row / n] + place % lanes;
             k < matrix.row_offsets[row / n + 1]; k += lanes) {
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

}  // namespace tessera::multigrid
