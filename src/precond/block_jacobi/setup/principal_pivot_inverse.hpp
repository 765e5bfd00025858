#pragma once

#include <atomic>
#include <cmath>
#include <limits>

#include "base/host_device.hpp"
#include "precond/block_jacobi/kernels.hpp"

/// The inverse, or a generalised inverse, of one block by principal pivot transforms (also called
/// sweeps) with complete pivoting, for the rare blocks that elimination with partial pivoting
/// cannot invert. CPU threads and warps run the same code, with equal bits.
namespace tessera {

/// `Lanes` is a warp, or a CPU thread as a warp of one lane: lanes, lane(), sync(),
///   largest(magnitude, element)  the largest magnitude of all lanes and its element, the first one
///                                where there are more;
///   smallest(x), all(x)          over all lanes;
///   atomic_max(to, value)        *to = max(*to, value), atomically.
struct OneThread {
    static constexpr int lanes = 1;
    int lane() const { return 0; }
    void sync() const {}
    template <class T>
    void largest(T&, int&) const {}
    int smallest(int x) const { return x; }
    bool all(bool holds) const { return holds; }
    void atomic_max(unsigned* to, unsigned value) const {
        const std::atomic_ref<unsigned> shared(*to);
        for (unsigned seen = shared; seen < value && !shared.compare_exchange_weak(seen, value);) {
        }
    }
};

/// The entry with the largest magnitude among rows and columns without a pivot, the first one in
/// memory; element -1 if all are zero. `diagonal`: only diagonal entries.
template <class Lanes, class T>
TESSERA_HOST_DEVICE inline T largest_unpivoted(const Lanes& lanes, int n, int stride, const T* a,
                                               const int* row_column, const int* column_row,
                                               bool diagonal, int& element) {
    T magnitude = 0;
    element = -1;
    for (int j = lanes.lane(); j < n; j += Lanes::lanes) {
        if (column_row[j] >= 0) continue;
        for (int i = diagonal ? j : 0; i < (diagonal ? j + 1 : n); ++i) {
            const T value = std::abs(a[i + j * stride]);
            if (row_column[i] < 0 && value > magnitude) {
                magnitude = value;
                element = i + j * stride;
            }
        }
    }
    lanes.largest(magnitude, element);
    return magnitude;
}

/// Principal pivot transform of y = A x at entry (p, q): swaps the roles of y_p and x_q.
template <class Lanes, class T>
TESSERA_HOST_DEVICE inline void pivot_transform(const Lanes& lanes, int n, int stride, T* a, int p,
                                                int q) {
    const T pivot = a[p + q * stride];
    lanes.sync();
    for (int j = lanes.lane(); j < n; j += Lanes::lanes) {
        if (j == q) continue;
        const T factor = a[p + j * stride] / pivot;
        for (int i = 0; i < n; ++i) {
            if (i != p) a[i + j * stride] = std::fma(-a[i + q * stride], factor, a[i + j * stride]);
        }
        a[p + j * stride] = -factor;
    }
    lanes.sync();
    for (int i = lanes.lane(); i < n; i += Lanes::lanes) {
        a[i + q * stride] = (i == p ? T(1) : a[i + q * stride]) / pivot;
    }
    lanes.sync();
}

/// Principal pivot transforms of the n x n array A (column-major, leading dimension `stride`), each
/// on the largest entry without a pivot, until no such entry exceeds `threshold`. If `symmetric`,
/// diagonal entries are preferred unless they are below 0.64 of the largest (Bunch and Parlett),
/// and the transform at (p, q) is followed by the one at (q, p), so that rows and columns of the
/// pivots are equal sets. Returns the number r of pivots. The pivot of row p is in column
/// row_column[p], the pivot of column q in row column_row[q], -1 if there is none; X(row_column[p],
/// column_row[q]) = A(p, q) over these is the inverse of that r x r submatrix of the original A.
template <class Lanes, class T>
TESSERA_HOST_DEVICE inline int pivot_transforms(const Lanes& lanes, int n, int stride, T* a,
                                                T threshold, bool symmetric, int* row_column,
                                                int* column_row) {
    for (int i = lanes.lane(); i < n; i += Lanes::lanes) row_column[i] = column_row[i] = -1;
    lanes.sync();
    int done = 0;
    const auto step = [&](int p, int q) {
        pivot_transform(lanes, n, stride, a, p, q);
        if (lanes.lane() == 0) {
            row_column[p] = q;
            column_row[q] = p;
        }
        lanes.sync();
        ++done;
    };
    while (done < n) {
        int element = -1;
        const T magnitude =
            largest_unpivoted(lanes, n, stride, a, row_column, column_row, false, element);
        // Also stops if the pivot or its reciprocal is not finite.
        constexpr T max = std::numeric_limits<T>::max();
        if (!(magnitude > threshold) || !(magnitude <= max) || !(1 / magnitude <= max)) break;
        int p = element % stride;
        int q = element / stride;
        if (symmetric && p != q) {
            int on_diagonal = -1;
            const T diagonal =
                largest_unpivoted(lanes, n, stride, a, row_column, column_row, true, on_diagonal);
            if (diagonal >= T(0.6403882) * magnitude) p = q = on_diagonal % stride;
        }
        step(p, q);
        if (symmetric && p != q) step(q, p);
    }
    return done;
}

/// The packed column-major X from the result of pivot_transforms, zero elsewhere; (X + X^T) / 2 if
/// `symmetric`. Returns whether all values of this lane are finite.
template <class Lanes, class T>
TESSERA_HOST_DEVICE inline bool transformed_inverse(const Lanes& lanes, int n, int stride,
                                                    const T* a, bool symmetric,
                                                    const int* row_column, const int* column_row,
                                                    T* to) {
    bool finite = true;
    const auto value_of = [&](int i, int j) {
        return column_row[i] < 0 || row_column[j] < 0 ? T(0)
                                                      : a[column_row[i] + row_column[j] * stride];
    };
    for (int j = lanes.lane(); j < n; j += Lanes::lanes) {
        for (int i = 0; i < n; ++i) {
            T value = value_of(i, j);
            if (symmetric && i != j) {
                const T other = value_of(j, i);
                value = i < j ? std::fma(T(0.5), value, T(0.5) * other)
                              : std::fma(T(0.5), other, T(0.5) * value);
            }
            finite = finite && std::abs(value) <= std::numeric_limits<T>::max();
            to[i + j * n] = value;
        }
    }
    return finite;
}

/// Whether ||X||_inf <= bound for the packed n x n array X.
template <class Lanes, class T>
TESSERA_HOST_DEVICE inline bool is_bounded(const Lanes& lanes, int n, const T* x, T bound) {
    bool bounded = true;
    for (int i = lanes.lane(); i < n; i += Lanes::lanes) {
        T sum = 0;
        for (int j = 0; j < n; ++j) sum += std::abs(x[i + j * n]);
        bounded = bounded && sum <= bound;
    }
    return lanes.all(bounded);
}

/// Writes to `to` what replaces the inverse of a singular block with finite entries: the identity,
/// the inverse of the shifted block, or a generalised inverse, by `policy`. `block` is n x n with
/// leading dimension `stride`; `a`, of equal size, and `columns`, 2 n numbers, are workspace.
/// Returns the exponent of the shift; -1: no shift.
///
/// The shift is s = 2^k sqrt(eps) ||B||_inf with the smallest k for which X = (B + s I)^-1
/// satisfies
/// ||X||_inf <= n eps^(-3/4) / ||B||_inf. With k = 0 that holds for a block with a zero row whose
/// other rows have a condition number below eps^(-1/4), but (B + s I)^-1 of a nilpotent block grows
/// like s^-n. Some k suffices for every block: where s >= 2 ||B||_inf, ||X||_inf is at most
/// 1 / (s - ||B||_inf) <= 1 / ||B||_inf.
template <class Lanes, class T>
TESSERA_HOST_DEVICE inline int replace_inverse(const Lanes& lanes, SingularPolicy policy, int n,
                                               int stride, const T* block, T* a, int* columns,
                                               T* to) {
    bool symmetric = true;
    T norm = 0;
    T largest = 0;
    for (int i = 0; i < n; ++i) {
        T sum = 0;
        for (int j = 0; j < n; ++j) {
            const T value = block[i + j * stride];
            symmetric = symmetric && value == block[j + i * stride];
            sum += std::abs(value);
            largest = std::abs(value) > largest ? std::abs(value) : largest;
        }
        norm = sum > norm ? sum : norm;
    }
    if (norm == T(0)) norm = 1;
    constexpr T epsilon = std::numeric_limits<T>::epsilon();
    const bool generalised = policy == SingularPolicy::generalised;
    const auto attempt = [&](T shift, T threshold) {
        for (int j = lanes.lane(); j < n; j += Lanes::lanes) {
            for (int i = 0; i < n; ++i) {
                a[i + j * stride] = block[i + j * stride] + (i == j ? shift : T(0));
            }
        }
        lanes.sync();
        const int done =
            pivot_transforms(lanes, n, stride, a, threshold, symmetric, columns, columns + n);
        const bool finite =
            transformed_inverse(lanes, n, stride, a, symmetric, columns, columns + n, to);
        lanes.sync();
        return lanes.all(finite) && (generalised || done == n);
    };
    const auto fill = [&](T on_diagonal, T elsewhere) {
        for (int j = lanes.lane(); j < n; j += Lanes::lanes) {
            for (int i = 0; i < n; ++i) to[i + j * n] = i == j ? on_diagonal : elsewhere;
        }
        return -1;
    };
    if (policy == SingularPolicy::identity) return fill(1, 0);
    if (policy == SingularPolicy::shift) {
        const T root = std::sqrt(epsilon);
        const T bound = T(n) / (root * std::sqrt(root)) / norm;  // Infinite where norm is tiny.
        for (int k = 0; k <= 60; ++k) {
            if (attempt(std::ldexp(std::sqrt(epsilon), k) * norm, T(0)) &&
                is_bounded(lanes, n, to, bound)) {
                return k;
            }
        }
    }
    if (generalised && attempt(0, T(n) * epsilon * largest)) return -1;
    return fill(std::numeric_limits<T>::quiet_NaN(), std::numeric_limits<T>::quiet_NaN());
}

/// Reads a block of n rows from CSR, column-major with leading dimension `stride`. Returns the
/// first row with a value that is not finite; n: none.
template <class Lanes, class T>
TESSERA_HOST_DEVICE inline int read_block(const Lanes& lanes, const CsrView<T>& matrix, Index first,
                                          int n, int stride, T* block) {
    for (int i = lanes.lane(); i < n * stride; i += Lanes::lanes) block[i] = T(0);
    lanes.sync();
    int first_non_finite = n;
    for (int i = 0; i < n; ++i) {
        const Offset end = matrix.row_offsets[first + i + 1];
        for (Offset x = matrix.row_offsets[first + i] + lanes.lane(); x < end; x += Lanes::lanes) {
            const Index c = matrix.column_indices[x] - first;
            if (c < 0 || c >= n) continue;
            const T value = matrix.values[x];
            block[i + c * stride] = value;
            if (!(std::abs(value) <= std::numeric_limits<T>::max()) && i < first_non_finite)
                first_non_finite = i;
        }
    }
    lanes.sync();
    return lanes.smallest(first_non_finite);
}

/// Number of values of workspace of replace_block for blocks of up to n rows.
constexpr int replace_values(int n) { return 2 * n * (n + 1) + 2 * n; }

/// Implements replace_singular for block b, whose shift was set to -1.
template <class Lanes, class T>
TESSERA_HOST_DEVICE inline void replace_block(const Lanes& lanes, const ReplaceJob<T>& job, Index b,
                                              T* work) {
    const Index row = job.blocks.block_offsets[b];
    const int n = job.blocks.block_offsets[b + 1] - row;
    const int stride = n + 1;  // Padded, against bank conflicts.
    const int first_non_finite = read_block(lanes, job.matrix, row, n, stride, work);
    if (first_non_finite < n)
        return lanes.atomic_max(&job.summary->rows_from_end,
                                job.blocks.rows - row - first_non_finite);
    if (job.policy == SingularPolicy::stop) return;
    T* const a = work + n * stride;
    int* const columns = reinterpret_cast<int*>(a + n * stride);
    const int shift = replace_inverse(lanes, job.policy, n, stride, work, a, columns,
                                      job.inverses + job.blocks.entry_offsets[b]);
    if (lanes.lane() == 0) job.shift_exponents[b] = std::int8_t(shift);
}

}  // namespace tessera
