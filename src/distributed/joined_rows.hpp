#pragma once

#include "distributed/halo.hpp"

namespace tessera {

/// The rows of own nodes of a matrix over ranks and, after them, those of ghosts, which come from
/// other ranks, with columns in one numbering. Rows of new values come on the same pattern.
class JoinedRows {
  public:
    /// Makes the pattern from that of the rows of own nodes, with columns in `columns`, unless
    /// there is one; `all`: columns of all ranks. Collective; waits.
    void set_pattern(const Context& context, const Halo& halo, const BsrMatrix<double>& own,
                     const Numbering& columns, Offset all);
    /// The values of own rows, in the first part of a Buffer of view().entries() numbers, become
    /// those of all rows. Collective.
    void take_values(const Context& context, const Halo& halo, const BsrMatrix<double>& own,
                     Buffer<double> values);
    /// Both, with a copy of the values of own rows, on the pattern of the first call.
    void set(const Context& context, const Halo& halo, const BsrMatrix<double>& own,
             const Numbering& columns, Offset all);
    BsrView<double> view() const { return rows_.view(); }
    /// The numbering `columns` with those ghosts that the rows of ghosts have besides.
    const Numbering& columns() const { return columns_; }
    void release_values() { rows_.values() = {}; }

  private:
    bool has_pattern_ = false;
    Numbering columns_;
    BsrMatrix<double> rows_;
    Halo::RowMessages messages_;
    Buffer<Offset> places_;  ///< Where blocks come to be, in the order received.
};

}  // namespace tessera
