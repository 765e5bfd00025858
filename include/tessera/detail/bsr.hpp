#pragma once

#include <functional>
#include <optional>

#include "tessera/csr.hpp"

namespace tessera {

/// Largest number of rows or columns of a block.
inline constexpr int max_bsr_block = 8;

/// A view of a sparse matrix in block sparse rows: dense blocks of height x width, row-major, each
/// with 1 to max_bsr_block rows and columns. Those of a block row are sorted by block column, each
/// once. The arrays belong to the caller.
template <class T>
struct BsrView {
    Index block_rows = 0;
    Index block_columns = 0;
    int height = 1;  ///< Rows of a block.
    int width = 1;   ///< Columns of a block.
    Offset blocks = 0;
    const Offset* row_offsets = nullptr;    ///< block_rows + 1; row_offsets[0] == 0.
    const Index* column_indices = nullptr;  ///< The block column of each block.
    const T* values = nullptr;

    constexpr int block_size() const { return height * width; }
    constexpr Offset entries() const { return blocks * block_size(); }
};

/// A matrix in block sparse rows that owns its arrays, in the memory of a Context.
template <class T>
class BsrMatrix {
  public:
    BsrMatrix() = default;
    /// Allocates arrays, which the caller fills; those of the values unless that is to be later.
    BsrMatrix(const Context& context, Index block_rows, Index block_columns, int height, int width,
              Offset blocks, bool with_values = true)
        : block_rows_(block_rows),
          block_columns_(block_columns),
          height_(height),
          width_(width),
          row_offsets_(context, Offset(block_rows) + 1),
          column_indices_(context, blocks),
          values_(context, with_values ? blocks * height * width : 0) {}

    Offset blocks() const { return column_indices_.size(); }
    Offset entries() const { return values_.size(); }
    Buffer<Offset>& row_offsets() { return row_offsets_; }
    Buffer<Index>& column_indices() { return column_indices_; }
    Buffer<T>& values() { return values_; }
    const Buffer<Offset>& row_offsets() const { return row_offsets_; }
    const Buffer<Index>& column_indices() const { return column_indices_; }
    const Buffer<T>& values() const { return values_; }
    BsrView<T> view() const {
        return {block_rows_,         block_columns_,         height_,       width_, blocks(),
                row_offsets_.data(), column_indices_.data(), values_.data()};
    }

  private:
    Index block_rows_ = 0, block_columns_ = 0;
    int height_ = 1, width_ = 1;
    Buffer<Offset> row_offsets_;
    Buffer<Index> column_indices_;
    Buffer<T> values_;
};

// The functions below return matrices in the memory of `context`, bitwise equal for every number of
// threads; those that make a pattern wait until it is complete. They throw InvalidArgument for
// sizes that do not agree.

/// The matrix in blocks; their sizes must divide its own. Blocks with an entry are stored.
template <class T>
TESSERA_API BsrMatrix<T> to_bsr(const Context& context, const CsrView<T>& matrix, int height,
                                int width);
/// The pattern of to_bsr, without values.
template <class T>
TESSERA_API BsrMatrix<T> bsr_pattern(const Context& context, const CsrView<T>& matrix, int height,
                                     int width);
/// The matrix with all entries of its blocks.
template <class T>
TESSERA_API CsrMatrix<T> to_csr(const Context& context, const BsrView<T>& matrix);
/// A^T. On a GPU for rows of few blocks: a block takes as many steps as its row of A^T has.
template <class T>
TESSERA_API BsrMatrix<T> transpose(const Context& context, const BsrView<T>& matrix);

/// A^T and which block of its row of A each of its blocks is.
template <class T>
struct Transposed {
    BsrMatrix<T> matrix;
    Buffer<Index> places;
};
/// The pattern of A^T, without values.
template <class T>
TESSERA_API Transposed<T> transposed_pattern(const Context& context, const BsrView<T>& matrix);
/// Values on the pattern of A^T; allocates them if there are none.
template <class T>
TESSERA_API void transpose_values(const Context& context, const BsrView<T>& matrix,
                                  Transposed<T>& transposed);
/// The values of A from those of A^T, likewise.
template <class T>
TESSERA_API void transpose_values_back(const Context& context, const Transposed<T>& transposed,
                                       BsrMatrix<T>& matrix);

/// C = P^T (A P) of a symmetric matrix, exactly symmetric: blocks on and above the diagonal are
/// summed, the others mirrored. The values of A P may be released.
template <class T>
struct TripleProduct {
    BsrMatrix<T> p;            ///< P without its values, which are those of P^T.
    Transposed<T> transposed;  ///< P^T
    BsrMatrix<T> product;      ///< A P
    BsrMatrix<T> result;       ///< C
};
/// Only the pattern of C is checked for the symmetry of A; triple_product (tessera/products.hpp)
/// takes any A.
template <class T>
TESSERA_API TripleProduct<T> symmetric_triple_product(const Context& context, BsrMatrix<T> p,
                                                      const BsrView<T>& a);
/// This product, or nothing where A P or P^T (A P) takes more than `max_operations`
/// multiplications, which are estimated before each is begun: products of graphs that are no meshes
/// fill up. `release`, if any, is called when A is not needed any more.
template <class T>
TESSERA_API std::optional<TripleProduct<T>> bounded_triple_product(
    const Context& context, BsrMatrix<T> p, const BsrView<T>& a, double max_operations,
    const std::function<void()>& release = {});
/// Values anew for other values of A, and of P, which `products.p` has, on their patterns.
/// `release` as above.
template <class T>
TESSERA_API void update(const Context& context, const BsrView<T>& a, TripleProduct<T>& products,
                        const std::function<void()>& release = {});

}  // namespace tessera
