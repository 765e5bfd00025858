#pragma once

#include <cmath>
#include <limits>

#include "base/find_csr_entry.hpp"
#include "base/for_each.hpp"
#include "precond/multigrid/blocks/block_norm.hpp"
#include "tessera/detail/bsr.hpp"

// Loop bodies of for_each_index for matrices whose diagonal blocks become identities.

namespace tessera::multigrid {

/// Replaces a = L L^T, a symmetric positive definite n x n block, row-major, by L^-1. A pivot
/// within
/// +-pivot_error becomes 1, without couplings, and sets `singular`. Returns false if a pivot is
/// lower or NaN, or infinite and pivot_error is 0.
TESSERA_HOST_DEVICE inline bool invert_factor(int n, double* a, double pivot_error, int* singular) {
    constexpr double largest = std::numeric_limits<double>::max();
    for (int i = 0; i < n; ++i) {
        for (int j = 0; j <= i; ++j) {
            double sum = a[i * n + j];
            for (int k = 0; k < j; ++k) sum -= a[i * n + k] * a[j * n + k];
            if (j < i) {
                a[i * n + j] = sum / a[j * n + j];
            } else if (sum > pivot_error && sum <= largest) {
                a[i * n + i] = std::sqrt(sum);
            } else if (sum >= -pivot_error && pivot_error > 0) {
                for (int k = 0; k < i; ++k) a[i * n + k] = 0;
                a[i * n + i] = 1;
                raise_flag(singular);
            } else {
                return false;
            }
        }
    }
    // Column by column of L^-1, from its diagonal down; rows of L below are still needed.
    for (int j = 0; j < n; ++j) {
        a[j * n + j] = 1 / a[j * n + j];
        for (int i = j + 1; i < n; ++i) {
            double sum = 0;
            for (int k = j; k < i; ++k) sum -= a[i * n + k] * a[k * n + j];
            a[i * n + j] = sum / a[i * n + i];
            a[j * n + i] = 0;
        }
    }
    return true;
}

/// Sets *differ if a block row has different columns in the two matrices.
struct CompareBlocks {
    static constexpr int work = 64;
    BsrView<double> a, b;
    int* differ;

    TESSERA_HOST_DEVICE void operator()(Offset i) const {
        bool same = a.row_offsets[i + 1] == b.row_offsets[i + 1];
        for (Offset k = a.row_offsets[i]; same && k < a.row_offsets[i + 1]; ++k) {
            same = a.column_indices[k] == b.column_indices[k];
        }
        if (!same) raise_flag(differ);
    }
};

/// Results of InvertDiagonalFactors, initially 0.
struct DiagonalFaults {
    /// Position, counted from the end (1: the last), of the first block that is not positive
    /// definite; 0: none.
    Index first_bad_from_end;
    int singular;  ///< Whether some pivot was a rounding error.
};

/// S = L^-1 for each diagonal block L L^T, lower triangular, row-major.
struct InvertDiagonalFactors {
    static constexpr int work = 64;
    BsrView<double> matrix;
    double* scaling;
    double pivot_error;  ///< A smaller pivot is a rounding error.
    DiagonalFaults* faults;

    TESSERA_HOST_DEVICE void operator()(Offset i) const {
        const int size = matrix.block_size();
        double factor[max_bsr_block * max_bsr_block];
        const Offset k = find_csr_entry(matrix, Index(i), Index(i));
        for (int e = 0; e < size; ++e) factor[e] = k < 0 ? 0 : matrix.values[k * size + e];
        if (!invert_factor(matrix.height, factor, pivot_error, &faults->singular)) {
            raise_to(&faults->first_bad_from_end, Index(matrix.block_rows - i));
        }
        for (int e = 0; e < size; ++e) scaling[i * size + e] = factor[e];
    }
};

/// Columns that are below the diagonal though their numbers are larger than those of rows: ghosts
/// (distributed/numbering.hpp) that belong to lower ranks. Two ranks then compute the same bits for
/// blocks that are each other's transposes.
struct LowerGhosts {
    Index first = 0, end = 0;
    TESSERA_HOST_DEVICE bool below(Index i, Index j) const {
        return j < i || (j >= first && j < end);
    }
};

/// A_ij becomes S_i A_ij S_j^T; blocks that are each other's transposes remain so to the last bit.
/// A body of for_each_block, for blocks of N rows (0: any number).
template <int N>
struct ScaleBlocks {
    int height;
    const double* scaling;
    double* norms;  ///< Norms of the scaled blocks; may be null.
    LowerGhosts lower{};

    TESSERA_HOST_DEVICE void operator()(Offset k, Index i, Index j, double* block) const {
        constexpr int capacity = N > 0 ? N : max_bsr_block;
        const int n = N > 0 ? N : height;
        const bool below = lower.below(i, j);
        // A block below the diagonal is computed as the transpose of its mirror image.
        const double* const rows = scaling + Offset(below ? j : i) * n * n;
        const double* const columns = scaling + Offset(below ? i : j) * n * n;
        double product[capacity * capacity];
        TESSERA_UNROLL
        for (int r = 0; r < n; ++r) {
            TESSERA_UNROLL
            for (int c = 0; c < n; ++c) {
                double sum = 0;
                TESSERA_UNROLL
                for (int t = 0; t <= r; ++t)
                    sum += rows[r * n + t] * block[below ? c * n + t : t * n + c];
                product[r * n + c] = sum;
            }
        }
        TESSERA_UNROLL
        for (int r = 0; r < n; ++r) {
            TESSERA_UNROLL
            for (int c = 0; c < n; ++c) {
                double sum = 0;
                TESSERA_UNROLL
                for (int t = 0; t <= c; ++t) sum += product[r * n + t] * columns[c * n + t];
                block[below ? c * n + r : r * n + c] = i == j ? double(r == c) : sum;
            }
        }
        if (norms != nullptr) norms[k] = block_norm(n, block);
    }
};

/// The blocks R_ai of P^T become S_a R_ai. A body of for_each_block.
struct ScaleRows {
    int height, width;
    const double* scaling;

    TESSERA_HOST_DEVICE void operator()(Offset, Index a, Index, double* block) const {
        const double* const factor = scaling + Offset(a) * height * height;
        for (int r = height - 1; r >= 0; --r) {
            double coefficients[max_bsr_block];
            TESSERA_UNROLL
            for (int t = 0; t < max_bsr_block; ++t) {
                if (t > r) break;
                coefficients[t] = factor[r * height + t];
            }
            for (int c = 0; c < width; ++c) {
                double sum = 0;
                TESSERA_UNROLL
                for (int t = 0; t < max_bsr_block; ++t) {
                    if (t > r) break;
                    sum += block[t * width + c] * coefficients[t];
                }
                block[r * width + c] = sum;
            }
        }
    }
};

/// The blocks P_ia of a prolongator become P_ia S_a^T, to the last bit the transposes of those of
/// ScaleRows. A body of for_each_block.
struct ScaleColumns {
    int height, width;
    const double* scaling;

    TESSERA_HOST_DEVICE void operator()(Offset, Index, Index a, double* block) const {
        const double* const factor = scaling + Offset(a) * width * width;
        for (int r = width - 1; r >= 0; --r) {
            for (int c = 0; c < height; ++c) {
                double sum = 0;
                for (int t = 0; t <= r; ++t) sum += block[c * width + t] * factor[r * width + t];
                block[c * width + r] = sum;
            }
        }
    }
};

/// B_i becomes S_i^-T B_i, with `columns` numbers per row; one thread per node and column.
struct ScaleNearNull {
    static constexpr int work = 32;
    int height, columns;
    const double* scaling;
    double* values;

    TESSERA_HOST_DEVICE void operator()(Offset place) const {
        const Offset i = place / columns;
        const int n = height, c = int(place % columns);
        const double* const s = scaling + i * n * n;
        double* const b = values + i * n * columns;
        for (int r = n - 1; r >= 0; --r) {
            double sum = b[r * columns + c];
            for (int t = r + 1; t < n; ++t) sum -= s[t * n + r] * b[t * columns + c];
            b[r * columns + c] = sum / s[r * n + r];
        }
    }
};

/// y = S x, or S^T x.
template <class T>
struct ApplyScaling {
    static constexpr int work = 16;
    int height;
    bool transposed;
    const double* scaling;
    const T* x;
    T* y;

    TESSERA_HOST_DEVICE void operator()(Offset row) const {
        const Offset i = row / height;
        const int n = height, r = int(row % height);
        const double* const s = scaling + i * n * n;
        double sum = 0;
        if (transposed) {
            for (int t = r; t < n; ++t) sum += s[t * n + r] * double(x[i * n + t]);
        } else {
            for (int t = 0; t <= r; ++t) sum += s[r * n + t] * double(x[i * n + t]);
        }
        y[row] = T(sum);
    }
};

}  // namespace tessera::multigrid
