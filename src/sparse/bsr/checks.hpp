#pragma once

#include <limits>

#include "base/checks.hpp"
#include "tessera/detail/bsr.hpp"

// Checks of the arguments of products; they read no array.

namespace tessera::bsr {

/// "3 x 4", or "3 x 4 blocks of 2 x 6".
template <class T>
std::string size_text(const BsrView<T>& matrix) {
    const std::string size = concat(matrix.block_rows, " x ", matrix.block_columns);
    if (matrix.block_size() == 1) return size;
    return concat(size, " blocks of ", matrix.height, " x ", matrix.width);
}

/// Throws InvalidArgument for sizes out of range, missing arrays and those in other memory.
template <class T>
void check_blocks(const Context& context, const char* who, const BsrView<T>& matrix) {
    constexpr Offset most = std::numeric_limits<Index>::max();
    require(matrix.block_rows >= 0 && matrix.block_columns >= 0 && matrix.blocks >= 0, who,
            ": the matrix has a negative size");
    require(matrix.height >= 1 && matrix.height <= max_bsr_block && matrix.width >= 1 &&
                matrix.width <= max_bsr_block,
            who, ": blocks have 1 to ", max_bsr_block, " rows and columns, not ", matrix.height,
            " x ", matrix.width);
    require(Offset(matrix.block_rows) * matrix.height <= most &&
                Offset(matrix.block_columns) * matrix.width <= most,
            who, ": the matrix has more than ", most, " rows or columns");
    require(matrix.row_offsets != nullptr, who,
            ": the matrix has no row offsets (null, or a moved-from matrix)");
    require(matrix.blocks == 0 || (matrix.column_indices != nullptr && matrix.values != nullptr),
            who, ": the matrix has no column indices or no values (null)");
    check_memory(context, who, matrix);
}

/// Throws InvalidArgument, with both sizes, unless there is a product of the matrices.
template <class T>
void check_factors(const char* who, const char* left, const BsrView<T>& a, const char* right,
                   const BsrView<T>& b) {
    if (a.block_columns == b.block_rows && a.width == b.height) return;
    throw InvalidArgument(concat(who, ": the columns of ", left, " (", size_text(a),
                                 ") are not the rows of ", right, " (", size_text(b), ")"));
}

/// Likewise for P^T A P.
template <class T>
void check_triple(const char* who, const BsrView<T>& p, const BsrView<T>& a) {
    check_factors(who, "A", a, "P", p);
    if (a.block_rows == a.block_columns && a.height == a.width) return;
    throw InvalidArgument(concat(who, ": A is not square but ", size_text(a)));
}

/// Throws InvalidArgument unless C has the size of A B, where A and B have a product.
template <class T>
void check_result(const char* who, const BsrView<T>& a, const BsrView<T>& b, const BsrView<T>& c) {
    const BsrView<T> expected{a.block_rows, b.block_columns, a.height, b.width};
    if (c.block_rows == expected.block_rows && c.block_columns == expected.block_columns &&
        c.height == expected.height && c.width == expected.width) {
        return;
    }
    throw InvalidArgument(
        concat(who, ": the product is ", size_text(c), ", but A B is ", size_text(expected)));
}

}  // namespace tessera::bsr
