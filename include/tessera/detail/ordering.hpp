#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tessera/csr.hpp"

/// Preprocessing of a symmetric indefinite matrix A for a factorisation in blocks of k rows:
/// maximum product matching and scaling, matched rows as pairs (candidates for 2x2 pivots),
/// ordering of the graph of the pairs, and packing of the rows into blocks, with no pair in two
/// blocks. All in host memory with a CPU context; the result does not depend on the number of
/// threads.
namespace tessera {

/// A scaling and pairs of rows for a symmetric matrix.
struct SymmetricMatching {
    /// s: |s_i a_ij s_j| <= 1, with equality (up to rounding) for some j in every matched row i.
    /// Within 2^-1000 .. 2^1000; 1 for rows without nonzero entries.
    std::vector<double> scaling;
    /// The other row of the pair of row i; i itself if it is in none.
    std::vector<Index> partner;
    Index pairs = 0;
    Index structural_rank = 0;  ///< Number of matched rows; stored zeros do not count.
};

/// Matches rows and columns with the largest product of |a_ij|, and finds exponents with |a_ij|
/// 2^(r_i + c_j) <= 1, = 1 for matched entries; s_i = 2^((r_i + c_i) / 2). If A is structurally
/// singular, this is done for A restricted to the rows of a first matching; the other rows get s_i
/// = 1 / max_k |a_ik| s_k. The matching is a permutation of the rows, whose cycles are cut into
/// pairs: an even cycle in the one of two ways with the larger product of |a_ii a_jj - a_ij^2|
/// (scaled); of an odd cycle the row with the largest |a_ii| stays single. About O(nonzeros log
/// rows) on most matrices. The matrix must be symmetric (check_symmetry), which is not checked.
/// Source: I. S. Duff, S. Pralet, "Strategies for scaling and pivoting for sparse symmetric
/// indefinite problems", SIAM J. Matrix Anal. Appl. 27 (2005), pp. 313-340.
template <class T>
TESSERA_API SymmetricMatching match_symmetric(const Context& cpu, const CsrView<T>& matrix);

/// A permutation of the rows of a matrix and scalings of its rows and columns.
struct ColumnMatching {
    /// r, c: |r_i a_ij c_j| <= 1, with equality (up to rounding) for matched entries. Within
    /// 2^-1000 .. 2^1000; 1 for rows and columns without nonzero entries.
    std::vector<double> row_scaling, column_scaling;
    /// The row of each column: a permutation. The last `rows - structural_rank` rows and columns
    /// that remained free are joined in their order.
    std::vector<Index> row_of_column;
    Index structural_rank = 0;  ///< Number of matched rows; stored zeros do not count.
};

/// Matches the rows and columns of a square matrix with the largest product of |a_ij|. About
/// O(nonzeros log rows) on most matrices.
/// Source: I. S. Duff, J. Koster, "On algorithms for permuting large entries to the diagonal of a
/// sparse matrix", SIAM J. Matrix Anal. Appl. 22 (2001), pp. 973-996.
template <class T>
TESSERA_API ColumnMatching match_columns(const Context& cpu, const CsrView<T>& matrix);

/// Ordering of pairs and single rows: natural, by the first row of each; reverse Cuthill-McKee,
/// with those that have more than 10 sqrt(vertices) neighbours last; approximate minimum degree,
/// which orders these last as well.
enum class OrderingMethod : std::uint8_t { natural, rcm, amd };
TESSERA_API const char* to_string(OrderingMethod method);

/// The rows of a symmetric pattern, with or without the diagonal, in the order of approximate
/// minimum degree, with a postorder of the tree of its elements; rows of more than 10 sqrt(rows)
/// entries last. About O(rows * entries of the pattern) at worst. A TimeLimit ends it. Throws
/// InvalidArgument where it finds the pattern not symmetric.
/// Source: P. R. Amestoy, T. A. Davis, I. S. Duff, "An approximate minimum degree ordering
/// algorithm", SIAM J. Matrix Anal. Appl. 17 (1996), pp. 886-905.
TESSERA_API std::vector<Index> minimum_degree(Index rows, const Offset* offsets,
                                              const Index* columns);

/// The row in each slot of blocks of `block` slots; -1: an empty slot. Orders the graph whose
/// vertices are the pairs (`partner` as in SymmetricMatching, or empty: no pairs) and single rows,
/// then packs them into blocks: if a pair would straddle the end of a block, the next single row
/// among the following 64 vertices takes the slot, else it stays empty. With blocks of one row
/// pairs only stay adjacent. The matrix is square with a symmetric pattern. Throws InvalidArgument
/// on a bad block size, partners that are no pairs, and more than 2^31 - 1 slots.
/// Source: pairs as vertices: O. Schenk, A. Wächter, M. Hagemann, "Matching-based preprocessing
/// algorithms to the solution of saddle-point problems in large-scale nonconvex interior-point
/// optimization", Comput. Optim. Appl. 36 (2007), pp. 321-341.
template <class T>
TESSERA_API std::vector<Index> order_blocks(const Context& cpu, const CsrView<T>& matrix,
                                            std::span<const Index> partner, Index block,
                                            OrderingMethod method = OrderingMethod::amd);

}  // namespace tessera
