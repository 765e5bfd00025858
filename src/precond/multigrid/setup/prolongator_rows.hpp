#pragma once

#include <cmath>

#include "base/find_csr_entry.hpp"
#include "base/for_each.hpp"
#include "precond/multigrid/aggregates/node_graph.hpp"
#include "tessera/detail/bsr.hpp"

// Loop bodies on aggregates, and on the rows of prolongators.

namespace tessera::multigrid {

/// The threads that work on one aggregate: one, or (on a GPU) the lanes of a warp.
struct OneThread {
    static constexpr int first = 0, step = 1;
    TESSERA_HOST_DEVICE double sum(double value) const { return value; }
};

/// Copies the near-null rows of each node with an aggregate to its block; one thread per number.
struct CopyNearNull {
    static constexpr int work = 4;
    const Index* aggregate_of;
    const Offset* positions;
    int size;
    const double* near_null;
    Index* columns;
    double* values;

    TESSERA_HOST_DEVICE void operator()(Offset place) const {
        const Offset i = place / size, e = place % size;
        if (aggregate_of[i] < 0) return;
        if (e == 0) columns[positions[i]] = aggregate_of[i];
        values[positions[i] * size + e] = near_null[place];
    }
};

/// Orthonormalises the columns of the blocks of an aggregate's members: T = Q R, Q in the place of
/// T, with columns of zeros for those that are dropped.
struct Orthonormalise {
    static constexpr int work = 4096;
    /// A column that orthogonalisation makes smaller than this share of itself is dropped.
    static constexpr double dropped_below = 1e-8;
    const Offset* offsets;
    const Index* members;
    const Offset* positions;  ///< The block of each node.
    int height, width;
    double* values;   ///< height x width for each block.
    double* factors;  ///< R, width x width for each aggregate.
    Index* dropped;

    /// f(row) for the rows of the members, each `width` numbers.
    template <class Group, class F>
    TESSERA_HOST_DEVICE void each_row(Offset a, const Group& group, F&& f) const {
        const Offset first = offsets[a];
        const int rows = int(offsets[a + 1] - first) * height;
        for (int row = group.first; row < rows; row += group.step) {
            const Offset block = positions[members[first + row / height]];
            f(values + (block * height + row % height) * width);
        }
    }
    /// change(row) for each row, and sums[b] = column b times column c after it, for b up to c.
    template <class Group, class F>
    TESSERA_HOST_DEVICE void dots_after(Offset a, const Group& group, int c, double* sums,
                                        F&& change) const {
        double mine[max_bsr_block] = {};
        each_row(a, group, [&](double* row) {
            change(row);
            TESSERA_UNROLL
            for (int b = 0; b < max_bsr_block; ++b) {
                if (b <= c) mine[b] += row[b] * row[c];
            }
        });
        TESSERA_UNROLL
        for (int b = 0; b < max_bsr_block; ++b) {
            if (b <= c) sums[b] = group.sum(mine[b]);
        }
    }
    template <class Group>
    TESSERA_HOST_DEVICE void run(Offset a, const Group& group) const {
        double* const r = factors + a * width * width;
        // Projection coefficients of column c on columns b < c, and the square of its norm.
        double shares[max_bsr_block] = {};
        const auto square_of = [&](int c) {
            double square = 0;
            TESSERA_UNROLL
            for (int b = 0; b < max_bsr_block; ++b) {
                if (b == c) square = shares[b];
            }
            return square;
        };
        dots_after(a, group, 0, shares, [](double*) {});
        for (int c = 0; c < width; ++c) {
            const double before = std::sqrt(square_of(c));
            if (group.first == 0) {
                for (int b = 0; b < width; ++b) r[b * width + c] = 0;
            }
            for (int pass = 0; pass < 2; ++pass) {
                TESSERA_UNROLL
                for (int b = 0; b < max_bsr_block; ++b) {
                    if (b < c && group.first == 0) r[b * width + c] += shares[b];
                }
                dots_after(a, group, c, shares, [&](double* row) {
                    double value = row[c];
                    TESSERA_UNROLL
                    for (int b = 0; b < max_bsr_block; ++b) {
                        if (b < c) value -= shares[b] * row[b];
                    }
                    row[c] = value;
                });
            }
            const double length = std::sqrt(square_of(c));
            const bool drop = !(length > dropped_below * before);
            if (group.first == 0) {
                dropped[a * width + c] = drop;
                r[c * width + c] = drop ? 0 : length;
            }
            dots_after(a, group, c + 1 < width ? c + 1 : c, shares,
                       [&](double* row) { row[c] = drop ? 0 : row[c] / length; });
        }
    }
    TESSERA_HOST_DEVICE void operator()(Offset a) const { run(a, OneThread()); }
};

/// use(k) for the blocks of row i with which prolongators are smoothed: of dense nodes their own.
/// Graphs have many hubs, to which other nodes are not coupled here either; in blocks they are
/// rigid bodies and the like, whose motions must fade out around them.
template <class Use>
TESSERA_HOST_DEVICE void visit_sparse(const BsrView<double>& matrix, const DenseNodes& dense,
                                      Offset i, Use&& use) {
    if (dense(i)) {
        const Offset diagonal = find_csr_entry(matrix, Index(i), Index(i));
        if (diagonal >= 0) use(diagonal);
        return;
    }
    for (Offset k = matrix.row_offsets[i]; k < matrix.row_offsets[i + 1]; ++k) {
        if (matrix.height > 1 || !dense(matrix.column_indices[k])) use(k);
    }
}

/// How many of these blocks a row has.
struct CountSparse {
    static constexpr int work = 32;
    BsrView<double> matrix;
    DenseNodes dense;
    Index* counts;

    TESSERA_HOST_DEVICE void operator()(Offset i) const {
        Index count = 0;
        visit_sparse(matrix, dense, i, [&](Offset) { ++count; });
        counts[i] = count;
    }
};

/// Copies them.
struct CopySparse {
    static constexpr int work = 64;
    BsrView<double> matrix;
    DenseNodes dense;
    const Offset* offsets;
    Index* columns;
    double* values;

    TESSERA_HOST_DEVICE void operator()(Offset i) const {
        Offset to = offsets[i];
        const int size = matrix.block_size();
        visit_sparse(matrix, dense, i, [&](Offset k) {
            columns[to] = matrix.column_indices[k];
            for (int e = 0; e < size; ++e) values[to * size + e] = matrix.values[k * size + e];
            ++to;
        });
    }
};

/// P = T - factor P, T with at most one block in each row; P = T in rows of DenseNodes.
struct SubtractFromTentative {
    static constexpr int work = 64;
    int lanes;  ///< Threads that share a row.
    DenseNodes dense;
    BsrView<double> tentative, product;
    double factor;
    double* values;

    TESSERA_HOST_DEVICE void operator()(Offset place) const {
        const Offset i = place / lanes, first = product.row_offsets[i];
        const int size = product.block_size(),
                  count = int(product.row_offsets[i + 1] - first) * size;
        for (int e = int(place % lanes); e < count; e += lanes) {
            const Offset k = tentative.row_offsets[i];
            const bool own =
                k < tentative.row_offsets[i + 1] &&
                product.column_indices[first + e / size] == tentative.column_indices[k];
            const double before = own ? tentative.values[k * size + e % size] : 0;
            double& value = values[first * size + e];
            value = before - (dense(i) ? 0 : factor) * value;
        }
    }
};

/// The diagonal entries of dropped unknowns.
struct SetDropped {
    static constexpr int work = 64;
    BsrView<double> matrix;
    const Index* dropped;
    double* values;

    TESSERA_HOST_DEVICE void operator()(Offset i) const {
        const int n = matrix.height;
        int any = 0;
        for (int c = 0; c < n; ++c) any |= dropped[i * n + c];
        const Offset k = any != 0 ? find_csr_entry(matrix, Index(i), Index(i)) : -1;
        if (k < 0) return;
        double* const block = values + k * n * n;
        double largest = 0;
        for (int c = 0; c < n; ++c) {
            if (block[c * (n + 1)] > largest) largest = block[c * (n + 1)];
        }
        for (int c = 0; c < n; ++c) {
            if (dropped[i * n + c] != 0) block[c * (n + 1)] = largest > 0 ? largest : 1;
        }
    }
};

struct Means {
    static constexpr int work = 128;
    const Offset* offsets;
    const Index* members;
    int dimensions;
    const double* positions;
    double* means;

    TESSERA_HOST_DEVICE void operator()(Offset a) const {
        for (int axis = 0; axis < dimensions; ++axis) {
            double sum = 0;
            for (Offset m = offsets[a]; m < offsets[a + 1]; ++m) {
                sum += positions[Offset(members[m]) * dimensions + axis];
            }
            means[a * dimensions + axis] = sum / double(offsets[a + 1] - offsets[a]);
        }
    }
};

}  // namespace tessera::multigrid

namespace tessera::cuda {
/// All aggregates, a warp for each.
void orthonormalise(const Context& context, Offset aggregates, const multigrid::Orthonormalise& f);
}  // namespace tessera::cuda
