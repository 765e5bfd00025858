#pragma once

#include <vector>

#include "tessera/detail/bsr.hpp"

namespace tessera {

/// The numbers that a rank gives to nodes of all ranks: its own ones, which are consecutive, and
/// after them some of others, its ghosts, in ascending order.
struct Numbering {
    Offset first = 0;                 ///< Global number of the first own node.
    Index own = 0;                    ///< Number of own nodes.
    std::vector<Offset> ghosts;       ///< Global numbers, ascending, on the host,
    Buffer<Offset> ghosts_of_device;  ///< and in the memory of the Context.

    Numbering() = default;
    Numbering(const Context& context, Offset first_own, Index own_nodes,
              std::vector<Offset> ghost_nodes);
    Index nodes() const { return own + Index(ghosts.size()); }
    /// The number of ghosts that belong to lower ranks: the first ones.
    Index ghosts_before() const;
};

/// Rows of blocks with the global numbers of their columns, in any order, each once.
struct GlobalRows {
    int height = 1, width = 1;
    Buffer<Offset> row_offsets, columns;
    Buffer<double> values;
    Index rows() const { return Index(row_offsets.size()) - 1; }
};

// All functions wait.

/// Columns in a numbering become global ones.
GlobalRows with_global_columns(const Context& context, BsrMatrix<double> rows,
                               const Numbering& columns);
/// Global columns become those of a numbering that has them all; sorts the blocks of rows.
BsrMatrix<double> with_local_columns(const Context& context, const GlobalRows& rows,
                                     const Numbering& columns);
/// with_local_columns for rows whose blocks have the order of a numbering with the same own
/// columns, and so are sorted; takes the values.
BsrMatrix<double> renumbered(const Context& context, GlobalRows rows, const Numbering& columns);
/// The columns outside of first .. first + own - 1, ascending; `all`: columns of all ranks.
std::vector<Offset> foreign_columns(const Context& context, const GlobalRows& rows, Offset first,
                                    Index own, Offset all);
/// The union of ascending lists.
std::vector<Offset> merged(const std::vector<Offset>& a, const std::vector<Offset>& b);
/// The blocks of all rows, or of listed ones, in columns first .. first + width - 1, which become
/// the columns from 0 on.
BsrMatrix<double> column_range(const Context& context, const BsrView<double>& matrix, Index first,
                               Index width, const Buffer<Index>* listed_rows = nullptr);
/// The numbers of an array plus `shift`.
Buffer<Offset> shifted(const Context& context, const Buffer<Offset>& numbers, Offset shift);
/// Rows of own nodes, in the order of a numbering with the own columns of `columns`, then those of
/// ghosts, in any order, with columns numbered by `columns`, which gets the ghosts that they have.
/// `all`: columns of all ranks.
BsrMatrix<double> joined(const Context& context, const GlobalRows& own, const GlobalRows& ghosts,
                         Numbering& columns, Offset all);

}  // namespace tessera
