#pragma once

#include <vector>

#include "base/gather_rows.hpp"
#include "tessera/csr.hpp"
#include "tessera/direct.hpp"

namespace tessera::direct {

/// A symmetric pattern in compressed rows, in any order; entries of the diagonal do not matter.
struct PatternView {
    Index rows = 0;
    const Offset* offsets = nullptr;
    const Index* columns = nullptr;

    std::span<const Index> row(Index i) const {
        return {columns + offsets[i], std::size_t(offsets[i + 1] - offsets[i])};
    }
};

/// A matrix scaled and with large entries permuted to its diagonal: row row_of_column[j] of A
/// belongs to column j, and entry (i, j) is r_i a_ij c_j.
struct Arrangement {
    bool symmetric = false;  ///< Rows belong to columns of their own number, r = c.
    bool matched = false;    ///< Whether large entries were permuted.
    bool by_pattern =
        false;  ///< Whether any entries were: pivots must be searched in all of a row.
    Index structural_rank = 0;
    double memory_share = 1;  ///< As in DirectOptions.
    std::vector<Index> row_of_column;
    std::vector<double> row_scaling, column_scaling;  ///< r and c.
    std::vector<Index> partner;  ///< As in SymmetricMatching, or empty: no pairs.
    /// The diagonal block of the block upper triangular form that a column is in; their number.
    std::vector<Index> block_of_column;
    Index blocks = 1;
    /// Pattern of the diagonal blocks, with that of their transpose, by columns of A; empty: that
    /// of A.
    GatheredRows symmetric_pattern;

    /// Whether it serves other values in the same places: all rows were matched, and the largest
    /// entries of the scaled rows and columns are within 1e5 of each other.
    template <class T>
    bool suits(const CsrView<T>& matrix) const;
    template <class T>
    PatternView pattern(const CsrView<T>& a) const {
        if (symmetric_pattern.offsets.empty()) return {a.rows, a.row_offsets, a.column_indices};
        return {a.rows, symmetric_pattern.offsets.data(), symmetric_pattern.items.data()};
    }
};

/// Arranges a square matrix in host memory, whose values are finite. `symmetric`: they are
/// symmetric. `may_match_any`: rows of few entries need not have large ones on the diagonal.
template <class T>
Arrangement arrange(const Context& cpu, const CsrView<T>& matrix, bool symmetric,
                    const DirectOptions& options, bool may_match_any = false);

/// The columns in order of elimination, by minimum degree; block by block, both of a pair together.
std::vector<Index> elimination_order(const Context& cpu, const PatternView& pattern,
                                     const Arrangement& arrangement);

}  // namespace tessera::direct
