#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tessera/csr.hpp"

/// What is done to a symmetric indefinite matrix A on the host before it is factorised in blocks of
/// k rows: large entries are matched and A is scaled by them, matched rows become pairs (candidates
/// for 2x2 pivots), the graph of the pairs is ordered, and the rows are packed into blocks so that
/// no pair is cut. All of it works in host memory with a CPU context, and gives the same result for
/// every number of threads.
namespace tessera {

/// A matching of largest cardinality of rows and columns of a square matrix, that of the largest
/// product of |a_ij| where all rows are matched, else among those of the same rows with the same
/// columns; as a proof scalings: |a_ij| 2^(r_i + c_j) <= 1, = 1 for matched ones, up to rounding.
struct ProductMatching {
    std::vector<Index> column_of_row;      ///< -1: the row is not matched.
    std::vector<double> row_exponents;     ///< r_i.
    std::vector<double> column_exponents;  ///< c_j.
    Index cardinality = 0;                 ///< The structural rank; stored zeros do not count.
};

/// Finds it by shortest augmenting paths (Hungarian method) on -log2 |a_ij|:
/// O(rows (nonzeros + rows) log rows) at worst, about O(nonzeros log rows) on most matrices, by one
/// thread. Throws InvalidArgument unless the matrix is square and its values are finite.
/// Source: I. S. Duff, J. Koster, "On algorithms for permuting large entries to the diagonal of a
/// sparse matrix", SIAM J. Matrix Anal. Appl. 22 (2001), pp. 973-996.
template <class T>
TESSERA_API ProductMatching maximum_product_matching(const Context& cpu, const CsrView<T>& matrix);

/// A scaling and pairs of rows for a symmetric matrix.
struct SymmetricMatching {
    /// s: |s_i a_ij s_j| <= 1, and for every row i that is matched some j with = 1, up to rounding.
    /// Kept within 2^-1000 .. 2^1000. 1 for rows without nonzero entries.
    std::vector<double> scaling;
    /// The other row of the pair of row i; i itself where it is in none.
    std::vector<Index> partner;
    Index pairs = 0;
    Index structural_rank = 0;
};

/// From the matching of A (where A is structurally singular: of A restricted to the rows that a
/// first matching could match) s_i = 2^((r_i + c_i) / 2); rows left over get 1 / max_k |a_ik| s_k.
/// The matching is a permutation of the rows; its cycles are cut: one row stays alone, an even
/// cycle is cut into pairs in the one of two ways that has the larger product of
/// |a_ii a_jj - a_ij^2| (scaled), of an odd one the row with the largest |a_ii| stays alone (zero,
/// where the whole diagonal of the cycle is). Throws InvalidArgument unless the matrix is square,
/// its values are finite and it is symmetric (SymmetryCheck).
/// Source: I. S. Duff, S. Pralet, "Strategies for scaling and pivoting for sparse symmetric
/// indefinite problems", SIAM J. Matrix Anal. Appl. 27 (2005), pp. 313-340.
template <class T>
TESSERA_API SymmetricMatching match_symmetric(const Context& cpu, const CsrView<T>& matrix);

/// How pairs (and single rows) are ordered: as they are, by the first row of each; reverse
/// Cuthill-McKee, with those that have more than 10 sqrt(vertices) neighbours last; approximate
/// minimum degree (SuiteSparse), which puts these last as well; nested dissection (METIS, which is
/// loaded when it is first asked for).
enum class OrderingMethod : std::uint8_t { natural, rcm, amd, metis };

TESSERA_API const char* to_string(OrderingMethod method);

struct OrderingOptions {
    Index block = 1;  ///< k, the rows of a block.
    OrderingMethod method = OrderingMethod::amd;
};

/// Rows in slots, k slots a block. Some slots are left empty so that no pair is cut.
struct BlockOrdering {
    Index block = 1;
    Index padding = 0;               ///< Empty slots.
    std::vector<Index> row_of_slot;  ///< A multiple of `block`; -1: empty.
    std::vector<Index> slot_of_row;

    Index blocks() const { return Index(row_of_slot.size()) / block; }
};

/// Orders the graph whose vertices are the pairs (`partner` as in SymmetricMatching, or empty: all
/// rows alone) and single rows, then packs them: where a pair would straddle the end of a block,
/// the next single row among the 64 vertices that follow takes the slot, else it stays empty. With
/// k = 1 pairs only stay adjacent. The matrix is square with a symmetric pattern. Throws
/// InvalidArgument on a bad block size, partners that are no pairs, and more than 2^31 - 1 slots,
/// and NotBuilt where METIS cannot be loaded.
/// Source: pairs as vertices: O. Schenk, A. Wächter, M. Hagemann, "Matching-based preprocessing
/// algorithms to the solution of saddle-point problems in large-scale nonconvex interior-point
/// optimization", Comput. Optim. Appl. 36 (2007), pp. 321-341.
template <class T>
TESSERA_API BlockOrdering order_blocks(const Context& cpu, const CsrView<T>& matrix,
                                       std::span<const Index> partner,
                                       const OrderingOptions& options);

/// P S A S P^T with a unit row and column for every empty slot.
template <class T>
struct ReorderedMatrix {
    CsrMatrix<T> matrix;
    /// The entry of A behind each entry, -1 on the diagonal of empty slots.
    std::vector<Offset> source;
};

/// Entries T(s_i a_ij s_j) in the places that the ordering gives to rows and columns; `scaling`
/// may be empty (all 1). The same bits for (i, j) and (j, i) where A has them. Throws
/// InvalidArgument where sizes differ.
template <class T>
TESSERA_API ReorderedMatrix<T> reorder(const Context& cpu, const CsrView<T>& matrix,
                                       std::span<const double> scaling,
                                       const BlockOrdering& ordering);

}  // namespace tessera
