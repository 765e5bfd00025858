#pragma once

#include <span>
#include <vector>

#include "base/gather_rows.hpp"
#include "tessera/csr.hpp"

// Scalings of a square matrix, and the symmetric pattern of a matrix in host memory whose rows are
// permuted, for factorisations.

namespace tessera {

/// Whether some diagonal entry is smaller than 1e-3 of the largest entries of its row and column.
/// Waits.
template <class T>
bool has_small_diagonal(const Context& context, const CsrView<T>& a);

/// Whether the largest entries of all rows and columns of R A C are zero or within 1e-3..1e3, as
/// where R and C were made for a matrix with similar values. Waits.
template <class T>
bool is_scaled(const Context& context, const CsrView<T>& a, std::span<const T> row_scale,
               std::span<const T> column_scale);

/// 1 / sqrt|a_ii|, or of the largest entry of the row where that is zero. No wait.
template <class T>
Buffer<double> diagonal_scaling(const Context& context, const CsrView<T>& a);

/// diagonal_scaling, for a matrix in host memory without a small diagonal entry; else empty.
template <class T>
std::vector<double> scaling_of_large_diagonal(const CsrView<T>& a);

/// Whether entries of S A S, S the diagonal_scaling, are far above its diagonal of ones, as where
/// the rows of a matrix are in other units than its columns. Waits.
template <class T>
bool has_large_entries(const Context& context, const CsrView<T>& a, const double* scaling);

/// has_small_diagonal or has_large_entries. Waits.
template <class T>
bool needs_matching(const Context& context, const CsrView<T>& a);

/// Rounds positive, normal numbers. Powers of two scale without rounding: rows that are equal stay
/// equal, and cancel.
void round_to_powers_of_two(std::vector<double>& scaling);

/// The transposed pattern.
template <class T>
GatheredRows transposed_pattern(const CsrView<T>& a);

/// The pattern, without the diagonal, of a matrix and its transpose whose row row_of_column[j]
/// belongs to column j, by columns of `a`, of which `transposed` is the transposed pattern.
/// `block_of_column`: entries between columns of different blocks are left out; empty: none.
template <class T>
GatheredRows union_pattern(const Context& cpu, const CsrView<T>& a, const GatheredRows& transposed,
                           const std::vector<Index>& row_of_column,
                           const std::vector<Index>& block_of_column = {});

}  // namespace tessera
