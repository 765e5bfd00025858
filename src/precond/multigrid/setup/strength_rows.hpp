#pragma once

#include <cmath>

#include "base/for_each.hpp"
#include "tessera/detail/bsr.hpp"

// Loop bodies that find strong couplings.

namespace tessera::multigrid {

/// ||A_k|| of every block. Entries that a transpose exchanges are added first, so that blocks which
/// are each other's transposes have one norm.
struct BlockNorms {
    static constexpr int work = 16;
    BsrView<double> matrix;
    double* norms;

    TESSERA_HOST_DEVICE void operator()(Offset k) const {
        const int n = matrix.height;
        const double* const block = matrix.values + k * n * n;
        double sum = 0;
        for (int r = 0; r < n; ++r) {
            sum += block[r * n + r] * block[r * n + r];
            for (int c = 0; c < r; ++c) {
                sum += block[r * n + c] * block[r * n + c] + block[c * n + r] * block[c * n + r];
            }
        }
        norms[k] = std::sqrt(sum);
    }
};

/// What makes couplings strong.
struct Couplings {
    BsrView<double> matrix;
    const double* norms;      ///< Of the blocks; null: they do not matter.
    const double* positions;  ///< Of the nodes; null: they do not matter.
    int dimensions;
    double theta;
    double* diagonal;  ///< ||A_ii||
    double* nearness;  ///< The sum of |x_i - x_j|^-2 over the neighbours j.

    /// |x_i - x_j|^-2; nodes at one place are as near as can be.
    TESSERA_HOST_DEVICE double near(Offset i, Offset j) const {
        double square = 0;
        for (int axis = 0; axis < dimensions; ++axis) {
            const double step = positions[i * dimensions + axis] - positions[j * dimensions + axis];
            square += step * step;
        }
        return 1 / (square > 1e-300 ? square : 1e-300);
    }
    /// use(j, weight) for the strong neighbours of i, itself among them, ascending.
    template <class Use>
    TESSERA_HOST_DEVICE void visit(Index i, Use&& use) const {
        bool itself = false;
        for (Offset k = matrix.row_offsets[i]; k < matrix.row_offsets[i + 1]; ++k) {
            const Index j = matrix.column_indices[k];
            if (j >= i && !itself) {
                use(i, 1.0);
                itself = true;
            }
            if (j == i) continue;
            double weight = 0;
            if (norms != nullptr) {
                weight = norms[k] / (std::sqrt(diagonal[i]) * std::sqrt(diagonal[j]));
                if (!(weight > theta)) continue;
            }
            if (positions != nullptr) {
                weight = near(i, j) / (std::sqrt(nearness[i]) * std::sqrt(nearness[j]));
                if (!(weight > theta)) continue;
            }
            use(j, weight);
        }
        if (!itself) use(i, 1.0);
    }
};

/// The sums of a node.
struct SumCouplings {
    static constexpr int work = 64;
    Couplings couplings;

    TESSERA_HOST_DEVICE void operator()(Offset i) const {
        const BsrView<double>& matrix = couplings.matrix;
        double sum = 0, norm = 0;
        for (Offset k = matrix.row_offsets[i]; k < matrix.row_offsets[i + 1]; ++k) {
            const Index j = matrix.column_indices[k];
            if (j == i && couplings.norms != nullptr) norm = couplings.norms[k];
            if (j != i && couplings.positions != nullptr) sum += couplings.near(i, j);
        }
        couplings.diagonal[i] = norm;
        couplings.nearness[i] = sum;
    }
};

struct CountStrong {
    static constexpr int work = 64;
    Couplings couplings;
    Index* counts;

    TESSERA_HOST_DEVICE void operator()(Offset i) const {
        Index count = 0;
        couplings.visit(Index(i), [&](Index, double) { ++count; });
        counts[i] = count;
    }
};

struct FillStrong {
    static constexpr int work = 64;
    Couplings couplings;
    const Offset* offsets;
    Index* neighbours;
    float* weights;

    TESSERA_HOST_DEVICE void operator()(Offset i) const {
        Offset to = offsets[i];
        couplings.visit(Index(i), [&](Index j, double weight) {
            neighbours[to] = j;
            weights[to++] = float(weight);
        });
    }
};

}  // namespace tessera::multigrid
