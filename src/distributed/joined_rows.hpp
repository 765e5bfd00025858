#pragma once

#include "distributed/halo.hpp"

namespace tessera {

/// The rows of own nodes of a matrix over ranks and, after them, those of ghosts, which come from
/// other ranks, with columns in one numbering. Rows of new values come on the same pattern.
class JoinedRows {
  public:
    /// `own`: the rows of own nodes, with columns in `columns`; `all`: columns of all ranks. The
    /// first call makes the pattern, and waits. Later ones take rows with the pattern of the first,
    /// of which they read the values alone. Collective.
    void set(const Context& context, const Halo& halo, const BsrMatrix<double>& own,
             const Numbering& columns, Offset all);
    BsrView<double> view() const { return rows_.view(); }
    /// The numbering `columns` with the ghosts that the rows have.
    const Numbering& columns() const { return columns_; }
    void release_values() { rows_.values() = {}; }

  private:
    void make_pattern(const Context& context, const Halo& halo, const BsrView<double>& own,
                      const Numbering& columns, Offset all);

    bool has_pattern_ = false;
    Numbering columns_;
    BsrMatrix<double> rows_;
    Halo::RowMessages messages_;
    Buffer<Offset> places_;  ///< Where blocks come to be, in the order received.
};

}  // namespace tessera
