#pragma once

#include <cmath>

#include "base/find_csr_entry.hpp"
#include "base/for_each.hpp"
#include "precond/multigrid/aggregates/node_graph.hpp"
#include "precond/multigrid/blocks/block_norm.hpp"
#include "tessera/detail/bsr.hpp"

// Loop bodies that find strong couplings.

namespace tessera::multigrid {

/// The criterion for strong couplings, and the numbers that it compares.
struct Couplings {
    BsrView<double> matrix;
    DenseNodes dense;
    const double* norms;      ///< ||A_k|| of every block.
    bool by_norm;             ///< Whether the norms are compared.
    const double* positions;  ///< Coordinates of the nodes; null if the strength ignores them.
    int dimensions;
    double theta;
    const double* diagonal_roots;  ///< ||A_ii||^(1/2)
    const double* nearness_roots;  ///< The root of the sum of |x_i - x_j|^-2 over neighbours j.

    /// |x_i - x_j|^-2; nodes at one place are as near as can be.
    TESSERA_HOST_DEVICE double near(Offset i, Offset j) const {
        double square = 0;
        for (int axis = 0; axis < dimensions; ++axis) {
            const double step = positions[i * dimensions + axis] - positions[j * dimensions + axis];
            square += step * step;
        }
        return 1 / (square > 1e-300 ? square : 1e-300);
    }
};

/// The norms of the blocks of a matrix. A body of for_each_block.
struct MeasureBlock {
    int height;
    double* norms;

    TESSERA_HOST_DEVICE void operator()(Offset k, Index, Index, const double* block) const {
        norms[k] = block_norm(height, block);
    }
};

/// ||A_ii||^(1/2) of a node, which counts as alone at first, unless it is dense.
struct MeasureDiagonal {
    static constexpr int work = 16;
    BsrView<double> matrix;
    DenseNodes dense;
    const double* norms;
    double* diagonal_roots;
    Index* alone;
    Offset* any_dense;

    TESSERA_HOST_DEVICE void operator()(Offset i) const {
        const Offset diagonal = find_csr_entry(matrix, Index(i), Index(i));
        diagonal_roots[i] = diagonal < 0 ? 0 : std::sqrt(norms[diagonal]);
        const bool is_dense = dense(i);
        if (is_dense) raise_to<Offset>(any_dense, 1);
        alone[i] = is_dense ? 0 : 1;
    }
};

/// Sums over the neighbours of a node in parts, as coarse levels have few nodes of many neighbours;
/// as many on every device, so that sums are equal.
struct SumNearness {
    static constexpr int work = 16, parts = 8;
    Couplings couplings;
    double* sums;  ///< `parts` of every node.

    TESSERA_HOST_DEVICE void operator()(Offset place) const {
        const BsrView<double>& matrix = couplings.matrix;
        const Offset i = place / parts;
        double sum = 0;
        for (Offset k = matrix.row_offsets[i] + place % parts; k < matrix.row_offsets[i + 1];
             k += parts) {
            const Index j = matrix.column_indices[k];
            if (j != i) sum += couplings.near(i, j);
        }
        sums[place] = sum;
    }
};

/// The root of the sum of these parts.
struct AddNearness {
    static constexpr int work = 8;
    const double* sums;
    double* nearness_roots;

    TESSERA_HOST_DEVICE void operator()(Offset i) const {
        double sum = 0;
        for (int part = 0; part < SumNearness::parts; ++part) {
            sum += sums[i * SumNearness::parts + part];
        }
        nearness_roots[i] = std::sqrt(sum);
    }
};

/// The weights of every lanes-th block of a row: 1 on the diagonal, weak where a coupling is not
/// strong. NaNs are weak.
struct WeighCouplings {
    static constexpr int work = 64;
    static constexpr float weak = -1;
    int lanes;
    Couplings couplings;
    float* weights;
    Index* alone;  ///< 0 for nodes with a coupling that is strong by norm; the others stay.

    TESSERA_HOST_DEVICE void operator()(Offset place) const {
        const Couplings& c = couplings;
        const BsrView<double>& matrix = c.matrix;
        const Offset i = place / lanes;
        const bool is_dense = c.dense(i);
        for (Offset k = matrix.row_offsets[i] + place % lanes; k < matrix.row_offsets[i + 1];
             k += lanes) {
            const Index j = matrix.column_indices[k];
            if (j == i || is_dense || c.dense(j)) {
                weights[k] = j == i ? 1 : weak;
                continue;
            }
            double weight = c.norms[k] / (c.diagonal_roots[i] * c.diagonal_roots[j]);
            const bool coupled = weight > c.theta;
            if (coupled) alone[i] = 0;
            bool strong = (coupled || !c.by_norm) && j < matrix.block_rows;  // No ghost.
            if (strong && c.positions != nullptr) {
                weight = c.near(i, j) / (c.nearness_roots[i] * c.nearness_roots[j]);
                strong = weight > c.theta;
            }
            weights[k] = strong ? float(weight) : weak;
        }
    }
};

/// The blocks of a row in `lanes` parts of one size, one after the other.
struct RowParts {
    const Offset* row_offsets;
    int lanes;
    /// The first block of a part; its last one is before the first of the next.
    TESSERA_HOST_DEVICE Offset first(Offset part) const {
        const Offset i = part / lanes, begin = row_offsets[i];
        const int lane = int(part % lanes);
        return lane == 0 ? begin : begin + (row_offsets[i + 1] - begin) * lane / lanes;
    }
};

/// The strong blocks of each part.
struct CountStrong {
    RowParts parts;
    const float* weights;
    TESSERA_HOST_DEVICE Offset operator()(Offset part) const {
        Offset count = 0;
        const Offset end = parts.first(part + 1);
        for (Offset k = parts.first(part); k < end; ++k) count += weights[k] >= 0;
        return count;
    }
};

/// The strong blocks of a part, one after the other from number `positions` of it on.
struct CopyStrong {
    static constexpr int work = 32;
    RowParts parts;
    const Index* columns;
    const float* weights;
    const Offset* positions;
    Offset* strong_offsets;
    Index* neighbours;
    float* strong_weights;

    TESSERA_HOST_DEVICE void operator()(Offset part) const {
        Offset to = positions[part];
        if (part % parts.lanes == 0) strong_offsets[part / parts.lanes] = to;
        const Offset end = parts.first(part + 1);
        for (Offset k = parts.first(part); k < end; ++k) {
            if (weights[k] < 0) continue;
            neighbours[to] = columns[k];
            strong_weights[to++] = weights[k];
        }
    }
};

}  // namespace tessera::multigrid
