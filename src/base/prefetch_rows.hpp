#pragma once

#include "tessera/types.hpp"

namespace tessera {

/// Asks for rows of a matrix in CSR that are read soon, where `row_at(n)` is the n-th row that is
/// read (-1: none) and the one at `at` is next: walks that take the rows of a matrix in another
/// order would wait for memory, twice for each. Inlined, as compilers drop calls that only ask for
/// memory.
template <class Csr, class RowAt>
[[gnu::always_inline]] inline void prefetch_rows(const Csr& matrix, Offset at, Offset count,
                                                 RowAt&& row_at) {
    constexpr Offset step = 8;
    if (at + 2 * step >= count) return;
    const Index far = row_at(at + 2 * step), near = row_at(at + step);
    if (far >= 0) __builtin_prefetch(matrix.row_offsets + far);
    if (near >= 0) __builtin_prefetch(matrix.column_indices + matrix.row_offsets[near]);
}

}  // namespace tessera
