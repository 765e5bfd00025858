#pragma once

#include "base/host_device.hpp"
#include "precond/direct/analysis/arrangement.hpp"
#include "precond/direct/device/device_factors.hpp"

namespace tessera::direct {

/// Loop body of for_each_index: *differ = 1 where row i of two matrices has other columns.
struct CompareRows {
    static constexpr int work = 32;
    const Offset *one_offsets, *other_offsets;
    const Index *one_columns, *other_columns;
    int* differ;

    TESSERA_HOST_DEVICE void operator()(Offset i) const {
        const Offset first = one_offsets[i], end = one_offsets[i + 1];
        bool equal = first == other_offsets[i] && end == other_offsets[i + 1];
        for (Offset k = first; equal && k < end; ++k) equal = one_columns[k] == other_columns[k];
        if (!equal) *differ = 1;
    }
};

/// Loop body of for_each_index: the values of row j of B = P D_r A D_c, in which row row_of[j] of A
/// is row j, or of its lower triangle.
template <class T>
struct ArrangeRow {
    static constexpr int work = 32;
    CsrView<T> a;
    const Index* row_of;
    const T *row_scaling, *column_scaling;
    bool is_lower;
    const Offset* offsets;
    T* values;

    TESSERA_HOST_DEVICE void operator()(Offset j) const {
        const Index i = row_of[j];
        Offset to = offsets[j];
        for (Offset k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) {
            const Index column = a.column_indices[k];
            if (is_lower && column > Index(j)) continue;
            values[to++] = row_scaling[i] * a.values[k] * column_scaling[column];
        }
    }
};

/// Loop body of for_each_index: P D_r b.
template <class T>
struct ArrangeElement {
    static constexpr int work = 4;
    const Index* row_of;
    const T *row_scaling, *b;
    T* arranged;

    TESSERA_HOST_DEVICE void operator()(Offset j) const {
        const Index i = row_of[j];
        arranged[j] = row_scaling[i] * b[i];
    }
};

/// A matrix in the memory of a GPU, with exact factors there.
template <class T>
class DeviceCopy {
  public:
    /// `on_host`: the same matrix in host memory. The library gets the lower triangle of a
    /// symmetric one, and a general one as it is arranged. Null where no library makes factors.
    static std::unique_ptr<DeviceCopy> make(const Context& context, const CsrView<T>& matrix,
                                            const CsrView<T>& on_host, MatrixKind kind,
                                            const Arrangement& arrangement);

    bool has_pattern_of(const Context& context, const CsrView<T>& matrix) const;
    /// Factors new values; false where the library cannot.
    bool factor(const Context& context, const CsrView<T>& matrix);
    /// x = A^-1 b, no overlap, by a solve and as many corrections x += M^-1 (b - A x) as the first
    /// right-hand side of these values needs. False where five do not bring its backward error to
    /// 1e-9 (float: 1e-4), or x is as large as that of a singular matrix: other pivots are needed.
    bool solve(const Context& context, Vectors<const T> b, Vectors<T> x);

    CsrView<T> matrix() const { return matrix_.view(); }
    MatrixKind kind() const { return kind_; }
    Offset factor_entries() const { return factors_->entries(); }

  private:
    bool solve_once(const Context& context, Vectors<const T> b, Vectors<T> x);
    bool correct(const Context& context, Vectors<const T> b, Vectors<T> x);

    CsrMatrix<T> matrix_;
    SpmvPlan plan_;
    MatrixKind kind_ = MatrixKind::general;
    Buffer<Index> row_of_;
    Buffer<T> row_scaling_, column_scaling_;
    CsrMatrix<T> arranged_;
    std::unique_ptr<DeviceFactors<T>> factors_;  ///< Of arranged_, whose memory they use.
    int corrections_ = -1;                       ///< Of a solve; -1: not known yet.
};

}  // namespace tessera::direct
