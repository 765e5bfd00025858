#pragma once

#include <cmath>
#include <limits>

#include "base/find_csr_entry.hpp"
#include "base/for_each.hpp"
#include "tessera/csr.hpp"

// Loop bodies of for_each_index that scale a matrix.

namespace tessera::scaling {

/// Why a row cannot be scaled.
enum class Fault : Index {
    none = 0,
    not_positive = 1,  ///< The pivot is missing, not positive or not finite.
    not_full = 2,      ///< Columns differ from its block's rows, or cut a block of columns.
};

/// The faults of all rows, and a flag that is set if there is one.
struct Faults {
    Fault* of_row;
    int* any;

    TESSERA_HOST_DEVICE void set(Index row, Fault fault) const {
        of_row[row] = fault;
        if (fault != Fault::none) raise_flag(any);
    }
};

/// Consecutive rows as blocks, and k x k values of each, column-major.
template <class T>
struct Blocks {
    const Index* starts;        ///< One more than there are blocks.
    const Index* block_of_row;  ///< Block of each row.
    const Offset* offsets;      ///< Start of the values of each block.
    T* values;

    TESSERA_HOST_DEVICE Index first(Index row) const { return starts[block_of_row[row]]; }
    TESSERA_HOST_DEVICE Index last(Index row) const { return starts[block_of_row[row] + 1]; }
    /// Element (i, j) of a block, i and j rows of the matrix.
    TESSERA_HOST_DEVICE T& at(Index i, Index j) const {
        const Index b = block_of_row[i], size = starts[b + 1] - starts[b];
        return values[offsets[b] + (i - starts[b]) + Offset(size) * (j - starts[b])];
    }
};

/// The block of each row, and the sizes of the blocks.
struct MarkRows {
    static constexpr int work = 8;
    const Index* starts;
    Index* block_of_row;
    Index* sizes;

    TESSERA_HOST_DEVICE void operator()(Offset b) const {
        sizes[b] = starts[b + 1] - starts[b];
        for (Index i = starts[b]; i < starts[b + 1]; ++i) block_of_row[i] = Index(b);
    }
};

/// s_i = a_ii^(-1/2); NaN and a fault if that does not exist.
template <class T>
struct InvertRoot {
    static constexpr int work = 4;
    CsrView<T> matrix;
    T* diagonal;
    Faults faults;

    TESSERA_HOST_DEVICE void operator()(Offset row) const {
        const Index i = Index(row);
        const Offset position = find_csr_entry(matrix, i, i);
        const T root = std::sqrt(position < 0 ? T(0) : matrix.values[position]);
        const bool good = root > T(0) && std::isfinite(root);
        faults.set(i, good ? Fault::none : Fault::not_positive);
        diagonal[i] = good ? T(1) / root : std::numeric_limits<T>::quiet_NaN();
    }
};

/// The lower triangle of row i of its diagonal block, and whether the row is full: it has the
/// columns of the first row of its block, and of each block all columns or none.
template <class T>
struct CopyBlockRow {
    static constexpr int work = 64;
    CsrView<T> matrix;
    Blocks<T> blocks;
    Faults faults;

    TESSERA_HOST_DEVICE bool is_full(Index row) const {
        const Offset begin = matrix.row_offsets[row], end = matrix.row_offsets[row + 1];
        const Index first = blocks.first(row);
        const Offset model = matrix.row_offsets[first];
        if (matrix.row_offsets[first + 1] - model != end - begin) return false;
        for (Offset k = begin; k < end; ++k) {
            const Index column = matrix.column_indices[k];
            if (matrix.column_indices[model + (k - begin)] != column) return false;
            if (blocks.first(column) < column &&
                (k == begin || matrix.column_indices[k - 1] != column - 1)) {
                return false;
            }
            if (blocks.last(column) > column + 1 &&
                (k + 1 == end || matrix.column_indices[k + 1] != column + 1)) {
                return false;
            }
        }
        return true;
    }
    TESSERA_HOST_DEVICE void operator()(Offset row) const {
        const Index i = Index(row);
        faults.set(i, is_full(i) ? Fault::none : Fault::not_full);
        for (Index j = blocks.first(i); j <= i; ++j) {
            const Offset position = find_csr_entry(matrix, i, j);
            blocks.at(i, j) = position < 0 ? T(0) : matrix.values[position];
        }
    }
};

/// Column j of L^-1 by forward substitution; NaN, and a fault of the row, if the Cholesky factor of
/// a block does not exist: info as in batched::llt.
template <class T>
struct InvertColumn {
    static constexpr int work = 64;
    Blocks<T> factor, inverse;
    const Index* info;
    Faults faults;

    TESSERA_HOST_DEVICE void operator()(Offset row) const {
        const Index j = Index(row), first = factor.first(j), last = factor.last(j);
        const Index failed = info[factor.block_of_row[j]];
        if (failed == j - first + 1) faults.set(j, Fault::not_positive);
        for (Index i = j; i < last; ++i) {
            T sum = T(i == j);
            for (Index k = j; k < i; ++k) sum -= factor.at(i, k) * inverse.at(k, j);
            inverse.at(i, j) =
                failed == 0 ? sum / factor.at(i, i) : std::numeric_limits<T>::quiet_NaN();
        }
    }
};

/// a_ij (s_i s_j) for every lanes-th entry of a row.
template <class T>
struct ScalePoint {
    static constexpr int work = 16;
    int lanes;
    CsrView<T> matrix;
    const T* diagonal;
    T* scaled;

    TESSERA_HOST_DEVICE void operator()(Offset place) const {
        const Offset i = place / lanes;
        const T s = diagonal[i];
        for (Offset k = matrix.row_offsets[i] + place % lanes; k < matrix.row_offsets[i + 1];
             k += lanes) {
            scaled[k] = matrix.values[k] * (s * diagonal[matrix.column_indices[k]]);
        }
    }
};

/// Entries of S A S^T for full blocks, every lanes-th of a row. The inner sum is over the block row
/// with the larger number, within a diagonal block over the larger index, so that (i, j) and (j, i)
/// are bitwise equal.
template <class T>
struct ScaleBlockEntry {
    static constexpr int work = 64;
    int lanes;
    CsrView<T> matrix;
    Blocks<T> inverse;
    T* scaled;

    TESSERA_HOST_DEVICE T entry(Index i, Offset k) const {
        const Index j = matrix.column_indices[k];
        const Index row_first = inverse.first(i), column_first = inverse.first(j);
        // Position of column `column_first` in each row of the block row.
        const Offset corner = k - matrix.row_offsets[i] - (j - column_first);
        const auto value = [&](Index r, Index c) {
            return matrix.values[matrix.row_offsets[r] + corner + (c - column_first)];
        };
        T sum = T(0);
        if (i <= j) {
            for (Index c = column_first; c <= j; ++c) {
                T inner = T(0);
                for (Index r = row_first; r <= i; ++r) inner += inverse.at(i, r) * value(r, c);
                sum += inner * inverse.at(j, c);
            }
        } else {
            for (Index r = row_first; r <= i; ++r) {
                T inner = T(0);
                for (Index c = column_first; c <= j; ++c) inner += inverse.at(j, c) * value(r, c);
                sum += inner * inverse.at(i, r);
            }
        }
        return sum;
    }
    TESSERA_HOST_DEVICE void operator()(Offset place) const {
        const Index i = Index(place / lanes);
        for (Offset k = matrix.row_offsets[i] + place % lanes; k < matrix.row_offsets[i + 1];
             k += lanes) {
            scaled[k] = entry(i, k);
        }
    }
};

/// y = S x, or S^T x, for S = diag(L_b^-1).
template <class T>
struct ApplyBlocks {
    static constexpr int work = 16;
    bool transposed;
    Blocks<const T> inverse;
    const T* x;
    T* y;

    TESSERA_HOST_DEVICE void operator()(Offset row) const {
        const Index i = Index(row);
        T sum = T(0);
        if (transposed) {
            for (Index j = i; j < inverse.last(i); ++j) sum += inverse.at(j, i) * x[j];
        } else {
            for (Index j = inverse.first(i); j <= i; ++j) sum += inverse.at(i, j) * x[j];
        }
        y[i] = sum;
    }
};

}  // namespace tessera::scaling
