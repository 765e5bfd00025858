#pragma once

#include <span>
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

// Functions that give host memory or check columns wait; others do not.

/// The global numbers of columns in a numbering.
Buffer<Offset> global_columns(const Context& context, std::span<const Index> columns,
                              const Numbering& numbering);
/// Columns in a numbering become those of another one, which has all its ghosts and the same own
/// nodes: their order stays.
void renumber_columns(const Context& context, std::span<const Index> columns,
                      const Numbering& before, const Numbering& after, Index* renumbered);
/// Global columns become those of a numbering that has them all, sorted within rows; places[k] is
/// where block k comes to be.
void sort_columns(const Context& context, Index rows, const Offset* row_offsets,
                  const Buffer<Offset>& global, const Numbering& columns, Index* sorted,
                  Offset* places);
/// Blocks of `size` numbers at their places.
void place_blocks(const Context& context, int size, const Buffer<Offset>& places,
                  const double* from, double* to);
/// The rows with columns in a numbering that has them all, sorted.
BsrMatrix<double> with_local_columns(const Context& context, const GlobalRows& rows,
                                     const Numbering& columns);
/// The pattern of rows with renumber_columns.
BsrMatrix<double> renumbered(const Context& context, const BsrView<double>& rows,
                             const Numbering& before, const Numbering& after);
/// The columns of rows outside of first .. first + own - 1, ascending; `all`: columns of all ranks.
std::vector<Offset> foreign_columns(const Context& context, Index rows, const Offset* row_offsets,
                                    const Buffer<Offset>& columns, Offset first, Index own,
                                    Offset all);
/// The blocks of all rows, or of listed ones, in columns first .. first + width - 1, which become
/// the columns from 0 on. Only the pattern if the matrix has no values.
BsrMatrix<double> column_range(const Context& context, const BsrView<double>& matrix, Index first,
                               Index width, const Buffer<Index>* listed_rows = nullptr);
/// The numbers of an array plus `shift`.
Buffer<Offset> shifted(const Context& context, const Buffer<Offset>& numbers, Offset shift);

}  // namespace tessera
