#pragma once

#include "tessera/context.hpp"
#include "tessera/detail/spmv_plan.hpp"

namespace tessera {

/// A view of a sparse matrix in compressed sparse rows; the arrays belong to the caller. Columns
/// are sorted and unique in each row. Row i has the entries row_offsets[i] .. row_offsets[i+1] - 1.
template <class T>
struct CsrView {
    Index rows = 0;
    Index columns = 0;
    Offset nonzeros = 0;
    const Offset* row_offsets = nullptr;    ///< rows + 1 offsets, row_offsets[0] == 0.
    const Index* column_indices = nullptr;  ///< nonzeros columns, 0-based.
    const T* values = nullptr;              ///< nonzeros values.

    std::span<const Offset> row_offsets_span() const {
        return {row_offsets, std::size_t(rows) + 1};
    }
    std::span<const Index> column_indices_span() const {
        return {column_indices, std::size_t(nonzeros)};
    }
    std::span<const T> values_span() const { return {values, std::size_t(nonzeros)}; }
};

/// A sparse matrix in compressed sparse rows that owns its arrays, in the memory of a Context.
/// Move-only; a moved-from matrix has no rows and no columns.
template <class T>
class CsrMatrix {
  public:
    CsrMatrix() = default;
    /// Allocates arrays, which the caller fills.
    CsrMatrix(const Context& context, Index rows, Index columns, Offset nonzeros)
        : rows_(rows),
          columns_(columns),
          row_offsets_(context, Offset(rows) + 1),
          column_indices_(context, nonzeros),
          values_(context, nonzeros) {
        if (rows < 0 || columns < 0) throw InvalidArgument("CsrMatrix: negative size");
    }

    Index rows() const { return rows_; }
    Index columns() const { return columns_; }
    Offset nonzeros() const { return values_.size(); }
    Buffer<Offset>& row_offsets() { return row_offsets_; }
    Buffer<Index>& column_indices() { return column_indices_; }
    Buffer<T>& values() { return values_; }
    const Buffer<Offset>& row_offsets() const { return row_offsets_; }
    const Buffer<Index>& column_indices() const { return column_indices_; }
    const Buffer<T>& values() const { return values_; }

    CsrView<T> view() const {
        return {rows_,         columns_, nonzeros(), row_offsets_.data(), column_indices_.data(),
                values_.data()};
    }
    operator CsrView<T>() const { return view(); }  // NOLINT: implicit

  private:
    detail::ZeroAfterMove<Index> rows_;
    detail::ZeroAfterMove<Index> columns_;
    Buffer<Offset> row_offsets_;
    Buffer<Index> column_indices_;
    Buffer<T> values_;
};

/// Copies a matrix from host memory to the memory of `context`. Blocks until the work is complete.
template <class T>
CsrMatrix<T> copy_to(const Context& context, const CsrView<T>& from) {
    CsrMatrix<T> to(context, from.rows, from.columns, from.nonzeros);
    copy_from_host(context, from.row_offsets_span(), to.row_offsets().view());
    copy_from_host(context, from.column_indices_span(), to.column_indices().view());
    copy_from_host(context, from.values_span(), to.values().view());
    return to;
}

template <class T>
CsrMatrix<T> copy_to(const Context& context, const CsrMatrix<T>& from) {
    return copy_to(context, from.view());
}

/// A copy in host memory of a matrix in the memory of `context`. Blocks until the work is complete.
template <class T>
CsrMatrix<T> copy_to_host(const Context& context, const CsrView<T>& from) {
    CsrMatrix<T> to(Context::cpu(context.threads()), from.rows, from.columns, from.nonzeros);
    copy_to_host(context, from.row_offsets_span(), to.row_offsets().view());
    copy_to_host(context, from.column_indices_span(), to.column_indices().view());
    copy_to_host(context, from.values_span(), to.values().view());
    return to;
}

/// Checks a matrix in host memory: offsets ascending from 0 to nonzeros, columns in range, sorted
/// and unique in each row, values finite. Throws InvalidArgument that names the first invalid row.
template <class T>
TESSERA_API void validate(const CsrView<T>& matrix);
template <class T>
void validate(const CsrMatrix<T>& matrix) {
    validate(matrix.view());
}

/// A^T, in the memory of `context`: the matrix for products with the transpose, in any format, and
/// for preconditioners of it. The host sorts the entries. Blocks until the work is complete. Throws
/// InvalidArgument for columns out of range.
template <class T>
TESSERA_API CsrMatrix<T> transpose(const Context& context, const CsrView<T>& matrix);
TESSERA_ACCEPT_OWNERS(transpose)

/// The plan of products with a matrix of this pattern. Blocks until the work is complete.
template <class T>
TESSERA_API SpmvPlan plan_spmv(const Context& context, const CsrView<T>& matrix);
TESSERA_ACCEPT_OWNERS(plan_spmv)

/// y = alpha A x + beta y. `x` has A.columns entries, `y` A.rows, no overlap; with beta = 0, y is
/// not read. Componentwise |error| <= gamma_(k+2) (|alpha| |A| |x| + |beta| |y|), k the number of
/// entries of the row. Bitwise repeatable, independent of threads and stream.
template <class T>
TESSERA_API void multiply(const Context& context, const CsrView<T>& matrix, const SpmvPlan& plan,
                          std::type_identity_t<T> alpha, Input<T> x, std::type_identity_t<T> beta,
                          std::span<std::type_identity_t<T>> y);

/// y_j = alpha A x_j + beta y_j for several vectors, each bitwise equal to the product with
/// one. The matrix is read once for up to eight of them.
template <class T>
TESSERA_API void multiply(const Context& context, const CsrView<T>& matrix, const SpmvPlan& plan,
                          std::type_identity_t<T> alpha,
                          const Vectors<const std::type_identity_t<T>>& x,
                          std::type_identity_t<T> beta, const Vectors<std::type_identity_t<T>>& y);
/// Does not compile: a product needs a plan, and making one waits for the device.
template <class T>
void multiply(const Context&, std::type_identity_t<T>, const CsrView<T>&, Input<T>,
              std::type_identity_t<T>, std::span<std::type_identity_t<T>>) {
    static_assert(
        detail::never<T>,
        "a product needs a plan, which waits: multiply(context, matrix, "
        "plan_spmv(context, matrix), alpha, x, beta, y), or a CsrOperator, which has one");
}
TESSERA_ACCEPT_OWNERS(multiply)

/// Whether a matrix is symmetric up to rounding, the one test of symmetry: square, all values
/// finite, and |a_ij - a_ji| <= 1000 eps min(max_k |a_ik|, max_k |a_jk|) for every entry, where one
/// that is not stored counts as 0. Blocks until the work is complete.
template <class T>
TESSERA_API bool is_symmetric(const Context& context, const CsrView<T>& matrix);
TESSERA_ACCEPT_OWNERS(is_symmetric)

/// The first row with a value that is NaN or infinite; -1: none. Blocks until the work is complete;
/// on a GPU all values are copied to the host.
template <class T>
TESSERA_API Index first_non_finite_row(const Context& context, const CsrView<T>& matrix);
TESSERA_ACCEPT_OWNERS(first_non_finite_row)

/// Unless is_symmetric, throws InvalidArgument whose message begins with `who` and names the first
/// entry (in row order) that differs. Returns whether the pattern is symmetric too: negligible
/// entries may lack their mirror image. Blocks until the work is complete.
template <class T>
TESSERA_API bool check_symmetry(const Context& context, const CsrView<T>& matrix, const char* who);
TESSERA_ACCEPT_OWNERS(check_symmetry)

}  // namespace tessera
