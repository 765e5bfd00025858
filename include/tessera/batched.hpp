#pragma once

#include <type_traits>

#include "tessera/context.hpp"

/// Batches of many small dense square matrices, of one size or of many.
///
/// All arrays are in the memory of the Context. Matrices have 0..128 rows; 1..32 rows are the fast
/// case. The result of a matrix does not depend on its neighbours, their order, the plan, the
/// stream or the number of threads, to the last bit. Operations are asynchronous, except for a
/// batch with `sizes` and without a Plan: then a Plan is made, which blocks. They throw
/// InvalidArgument on views that disagree.
namespace tessera::batched {

/// Largest number of rows of a matrix of a batch.
inline constexpr Index largest_size = 128;

/// Storage order: column_major: the row index varies fastest; row_major: the column index.
enum class Layout : std::uint8_t { column_major, row_major };

/// Matrices of a batch, made by one of the static functions. Matrix b is n_b x n_b; its element
/// (i, j) is start_b[i + j ld_b] (column_major) or start_b[i ld_b + j] (row_major).
template <class T>
struct BatchView {
    Index count = 0;
    Index size = 0;                   ///< n_b of all matrices, when `sizes` is null.
    const Index* sizes = nullptr;     ///< n_b of each matrix, or null; if given, ld_b = n_b.
    Offset leading_dimension = 0;     ///< ld_b of all matrices, when `sizes` is null.
    Offset stride = 0;                ///< start_b = values + b stride, without offsets and starts.
    const Offset* offsets = nullptr;  ///< start_b = values + offsets[b].
    T* values = nullptr;
    T* const* starts = nullptr;  ///< start_b = starts[b].
    Layout layout = Layout::column_major;

    /// Matrices of different sizes without padding: matrix b has sizes[b]^2 values from offsets[b].
    static BatchView packed(Index count, const Index* sizes, const Offset* offsets, T* values,
                            Layout layout = Layout::column_major) {
        return {count, 0, sizes, 0, 0, offsets, values, nullptr, layout};
    }
    /// n x n matrices `stride` values apart.
    static BatchView strided(Index count, Index n, Offset leading_dimension, Offset stride,
                             T* values, Layout layout = Layout::column_major) {
        return {count, n, nullptr, leading_dimension, stride, nullptr, values, nullptr, layout};
    }
    /// n x n matrices one after the other.
    static BatchView uniform(Index count, Index n, T* values,
                             Layout layout = Layout::column_major) {
        return strided(count, n, n, Offset(n) * n, values, layout);
    }
    /// n x n matrices at the addresses in the array `starts`.
    static BatchView pointers(Index count, Index n, Offset leading_dimension, T* const* starts,
                              Layout layout = Layout::column_major) {
        return {count, n, nullptr, leading_dimension, 0, nullptr, nullptr, starts, layout};
    }
    template <class U>
    requires(std::is_same_v<U, const T>) operator BatchView<U>() const {
        return {count, size, sizes, leading_dimension, stride, offsets, values, starts, layout};
    }
};

/// `vectors` right-hand sides, or solutions, of every matrix of a batch: element i of vector v of
/// matrix b is start_b[i + v leading_dimension].
template <class T>
struct VectorsView {
    Index vectors = 1;
    Offset leading_dimension = 0;     ///< Ignored for a single vector.
    Offset stride = 0;                ///< start_b = values + b stride, without offsets and starts.
    const Offset* offsets = nullptr;  ///< start_b = values + offsets[b].
    T* values = nullptr;
    T* const* starts = nullptr;  ///< start_b = starts[b].

    template <class U>
    requires(std::is_same_v<U, const T>) operator VectorsView<U>() const {
        return {vectors, leading_dimension, stride, offsets, values, starts};
    }
};

/// Read-only views as parameters: another argument decides T, so views of T are accepted, too.
template <class T>
using ConstBatch = BatchView<std::type_identity_t<const T>>;
template <class T>
using ConstVectors = VectorsView<std::type_identity_t<const T>>;

/// The matrices of a variable-size batch sorted by size; one plan serves all batches of these
/// sizes. Move-only; a moved-from plan has no matrices.
class TESSERA_API Plan {
  public:
    Plan() = default;
    /// Sorts `sizes` (count values in the memory of `context`). Blocks until the work is complete.
    /// Throws InvalidArgument that names the first size outside 0..128.
    Plan(const Context& context, Index count, const Index* sizes);

    Index count() const { return count_; }
    /// Rows of the largest matrix.
    Index largest() const { return largest_; }
    /// The matrices with n rows are order()[begin(n)] .. order()[begin(n + 1) - 1], ascending;
    /// n in 0..129.
    Index begin(Index n) const {
        if (n < 0 || std::size_t(n) >= begin_.size()) {
            throw InvalidArgument("Plan::begin: the plan has no matrices, or none of this size");
        }
        return begin_[std::size_t(n)];
    }
    const Index* order() const { return order_.data(); }

  private:
    tessera::detail::ZeroAfterMove<Index> count_, largest_;
    std::vector<Index> begin_;
    Buffer<Index> order_;
};

/// X_b = A_b^-1 by Gauss-Jordan elimination with implicit partial pivoting among rows (on a GPU
/// magnitudes that differ by less than 2^-13 of the larger count as equal). `a` and `x` have equal
/// counts, sizes and layout; they are the same arrays (in place) or do not overlap.
///   info   null, or an array of `count`: 0, or k if the k-th pivot (1-based) or its reciprocal is
///          zero or not finite, or n if an element of the inverse is not finite. A failed inverse
///          is all NaN.
/// For column-major matrices ||X A - I|| stays below n eps ||A|| ||X|| max(1, g) in the infinity
/// norm, g = max |u_ij| / max |a_ij| with the factor U of Gaussian elimination; row-major ones are
/// inverted as the transposes that they are, which bounds ||A X - I|| in the one norm instead.
/// Source: Anzt, Dongarra, Flegar, Quintana-Orti, Variable-size batched Gauss-Jordan elimination
/// for block-Jacobi preconditioning on graphics processors, Parallel Computing 81 (2019).
template <class T>
TESSERA_API void invert(const Context& context, const ConstBatch<T>& a, const BatchView<T>& x,
                        Index* info = nullptr, const Plan* plan = nullptr);

/// Optional outputs, one per matrix: arrays of `count`, or null.
template <class T>
struct ConditionResults {
    Index* info = nullptr;  ///< As in invert.
    /// 1 / (||A|| ||A^-1||) in the infinity norm; 1 for an empty matrix, 0 for a failed one.
    T* reciprocal_condition = nullptr;
};

/// Inverts and computes the outputs in one pass. The condition number differs from the exact one by
/// less than 10 n eps kappa, relatively. Row-major matrices are pivoted among their rows here, so
/// ||X A - I|| is bounded for both layouts.
/// Source: Anzt, Dongarra, Flegar, Gruetzmacher, Variable-size batched condition number calculation
/// on GPUs, SBAC-PAD 2018.
template <class T>
TESSERA_API void invert_with_condition(const Context& context, const ConstBatch<T>& a,
                                       const BatchView<T>& x,
                                       const ConditionResults<std::type_identity_t<T>>& results,
                                       const Plan* plan = nullptr);

/// The outputs of invert_with_condition, without storing the inverses.
template <class T>
TESSERA_API void condition(const Context& context, const ConstBatch<T>& a,
                           const ConditionResults<T>& results, const Plan* plan = nullptr);

/// norms[b] = max_i sum_j |a_ij| (infinity norm) or max_j sum_i |a_ij| (one norm) of matrix b; NaN
/// if an element is NaN; 0 for an empty matrix. Sums run in ascending order of the index.
template <class T>
TESSERA_API void norm_inf(const Context& context, const ConstBatch<T>& a, T* norms,
                          const Plan* plan = nullptr);
template <class T>
TESSERA_API void norm_one(const Context& context, const ConstBatch<T>& a, T* norms,
                          const Plan* plan = nullptr);

enum class Transpose : std::uint8_t { no, yes };

/// y_b = alpha op(A_b) x_b + beta y_b for all vectors, op(A) = A or its transpose; beta 0 does not
/// read y. x and y have equal numbers of vectors and do not overlap. The matrices are read once.
/// Each sum has an error below n eps sum |alpha a_ij x_j|, plus one rounding of the result.
template <class T>
TESSERA_API void multiply(const Context& context, std::type_identity_t<T> alpha,
                          const ConstBatch<T>& a, Transpose transpose, const ConstVectors<T>& x,
                          std::type_identity_t<T> beta, const VectorsView<T>& y,
                          const Plan* plan = nullptr);

}  // namespace tessera::batched
