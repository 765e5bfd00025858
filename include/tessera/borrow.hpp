#pragma once

#include "tessera/csr.hpp"

namespace tessera {

/// Whether the columns of each row are sorted, and the values of equal ones added up in the order
/// given. The pattern is sorted by the host; the values stay in the memory of the Context.
enum class SortColumns : std::uint8_t {
    no,         ///< Columns must be sorted and unique in each row.
    if_needed,  ///< If they are not; finding out is part of the pass of `validate`.
    yes,
};

/// Treatment of the caller's arrays by borrow_csr and borrow_bsr.
struct BorrowOptions {
    /// Checks that offsets ascend from 0 to the number of columns given, and that columns are in
    /// range and, with SortColumns::no, sorted and unique in each row; one pass over them. Sorting
    /// checks always.
    bool validate = true;
    SortColumns sort = SortColumns::no;
};

/// Order of the values inside a block: (r, c) at r * block + c, or at r + c * block.
enum class BlockOrder : std::uint8_t { row_major, column_major };

/// A CSR view of a matrix in the caller's arrays. Arrays that already have the form of CSR are used
/// in place: the caller must keep them as long as the view is in use; they are never written. The
/// others are copied. All are in the memory of the Context.
template <class T>
class TESSERA_API BorrowedMatrix {
  public:
    BorrowedMatrix();
    ~BorrowedMatrix();
    BorrowedMatrix(BorrowedMatrix&&) noexcept;
    BorrowedMatrix& operator=(BorrowedMatrix&&) noexcept;

    /// Empty if moved from.
    CsrView<T> view() const;
    /// Whether view().values are the caller's.
    bool borrows_values() const;
    /// Whether columns were sorted.
    bool was_sorted() const;
    /// New values in the caller's order on the same pattern; view() may change. Does not block.
    void update(const Context& context, const T* values);

    struct State;
    explicit BorrowedMatrix(std::unique_ptr<State> state);

  private:
    std::unique_ptr<State> state_;
};

/// Compressed sparse rows with 32- or 64-bit row offsets (rows + 1) and columns, 0-based. Offsets
/// of 32 bits are widened and columns of 64 bits narrowed into arrays of Tessera; the values are
/// borrowed unless they are sorted. Blocks until the work is complete. Throws InvalidArgument that
/// names the argument or the first invalid row, and OutOfMemory before it takes memory of the host
/// that is not free.
template <class T, class RowOffset, class Column>
TESSERA_API BorrowedMatrix<T> borrow_csr(const Context& context, Index rows, Index columns,
                                         Offset nonzeros, const RowOffset* row_offsets,
                                         const Column* column_indices, const T* values,
                                         const BorrowOptions& options = {});

/// Block sparse rows: `blocks` blocks of block x block values among block_rows x block_columns,
/// with the offsets and columns of blocks. The entries, zeros included, are copied to the order of
/// CSR. Otherwise as borrow_csr.
template <class T, class RowOffset, class Column>
TESSERA_API BorrowedMatrix<T> borrow_bsr(const Context& context, Index block_rows,
                                         Index block_columns, Index block, Offset blocks,
                                         const RowOffset* row_offsets, const Column* column_indices,
                                         const T* values, BlockOrder order = BlockOrder::row_major,
                                         const BorrowOptions& options = {});

/// `entries` coordinates in any order; the values of entries that are given several times are added
/// up in the order given. The pattern is sorted by the host; the values are copied. Blocks until
/// the work is complete. Throws InvalidArgument that names the first entry out of range, and
/// OutOfMemory as borrow_csr.
template <class T, class Coordinate>
TESSERA_API BorrowedMatrix<T> borrow_coo(const Context& context, Index rows, Index columns,
                                         Offset entries, const Coordinate* row_indices,
                                         const Coordinate* column_indices, const T* values);

}  // namespace tessera
