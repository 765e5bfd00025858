#pragma once

#include "base/host_device.hpp"
#include "precond/direct/analysis/arrangement.hpp"
#include "precond/direct/device/device_factors.hpp"

namespace tessera::direct {

/// Loop body of for_each_index: *differ = 1 where elements of two arrays differ.
template <class Number>
struct CompareElements {
    static constexpr int work = 2;
    const Number *one, *other;
    int* differ;

    TESSERA_HOST_DEVICE void operator()(Offset k) const {
        if (one[k] != other[k]) *differ = 1;
    }
};

/// Loop body of for_each_index: scaled entries of a matrix in another order.
template <class T>
struct ArrangeEntry {
    static constexpr int work = 4;
    const Offset* source;
    const T *factor, *values;
    T* arranged;

    TESSERA_HOST_DEVICE void operator()(Offset k) const {
        arranged[k] = factor[k] * values[source[k]];
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
    /// Whether that failed as the matrix is not positive definite.
    bool is_indefinite() const { return factors_->is_indefinite(); }
    /// x = A^-1 b, no overlap, by a solve and as many corrections x += M^-1 (b - A x) as the first
    /// right-hand side of these values needs. False where five do not bring its backward error to
    /// 1e-9 (float: 1e-4), or x is as large as that of a singular matrix: other pivots are needed.
    bool solve(const Context& context, Vectors<const T> b, Vectors<T> x);

    CsrView<T> matrix() const { return matrix_.view(); }
    MatrixKind kind() const { return kind_; }
    Offset factor_entries() const { return factors_->entries(); }

  private:
    void arrange(const Context& context, const CsrView<T>& a, const Arrangement& arrangement);
    bool solve_once(const Context& context, Vectors<const T> b, Vectors<T> x);
    bool judged_solve(const Context& context, Vectors<const T> b, Vectors<T> x);
    bool has_grown(const Context& context, std::span<const T> b, std::span<const T> x) const;
    bool correct(const Context& context, Vectors<const T> b, Vectors<T> x);

    CsrMatrix<T> matrix_;
    SpmvPlan plan_;
    MatrixKind kind_ = MatrixKind::general;
    // B = P D_r A D_c, in which row row_of_[j] of A is row j, or the lower triangle of A.
    Buffer<Index> row_of_;
    Buffer<T> row_scaling_, column_scaling_;
    CsrMatrix<T> arranged_;
    Buffer<Offset> source_;                      ///< Where the entries of B are in A.
    Buffer<T> factor_;                           ///< r_i c_j for each.
    std::unique_ptr<DeviceFactors<T>> factors_;  ///< They use the memory of arranged_.
    int corrections_ = -1;                       ///< In each solve; -1: not known yet.
};

}  // namespace tessera::direct
