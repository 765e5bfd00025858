#pragma once

#include "tessera/csr.hpp"

// Rows and columns whose entries sum to zero.
namespace tessera {

/// "row" or "column" where the entries of each of them sum to zero up to rounding, which makes the
/// matrix singular; else null.
template <class T>
const char* what_sums_to_zero(const Context& context, const CsrView<T>& matrix);

/// Whether b sums to zero on each part of the matrix, connected to no other, whose columns sum to
/// zero: else no x solves A x = b, as 1^T A = 0 on that part. Up to rounding.
template <class T>
bool is_balanced_on_parts(const Context& context, const CsrView<T>& matrix, std::span<const T> b);

}  // namespace tessera
