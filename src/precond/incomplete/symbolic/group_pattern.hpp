#pragma once

#include "base/gather_rows.hpp"
#include "tessera/csr.hpp"

namespace tessera::incomplete {

/// Maximum number of rows of a group.
inline constexpr Index max_group = 8;

/// The pattern of a square matrix by groups of `size` consecutive rows and columns, in the memory
/// of a Context: group i has an entry in the groups columns[offsets[i]] .. columns[offsets[i + 1] -
/// 1], ascending.
struct GroupPattern {
    Index size = 1;
    Index groups = 0;
    Offset entries = 0;
    const Offset* offsets = nullptr;
    const Index* columns = nullptr;
    /// The arrays, unless they are those of the matrix.
    Buffer<Offset> own_offsets = {};
    Buffer<Index> own_columns = {};
};

/// The pattern of a matrix in the memory of `context`, whose rows are a multiple of `size`, at most
/// max_group. With size 1 the arrays stay those of the matrix. Waits.
template <class T>
GroupPattern group_pattern(const Context& context, const CsrView<T>& matrix, Index size);

}  // namespace tessera::incomplete
