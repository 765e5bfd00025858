#pragma once

#include <memory>

#include "distributed/halo.hpp"

namespace tessera {

/// The rows of a matrix over ranks that this rank owns, in blocks of nodes, with the columns of
/// their numbering.
struct OwnRows {
    std::shared_ptr<const Halo> halo;
    BsrMatrix<double> rows;
};

/// From own rows with the columns of the whole matrix, `block` rows for each node: rank r has the
/// nodes starts[r] .. starts[r + 1] - 1. Collective; waits. Throws InvalidArgument on all ranks for
/// sizes that do not agree.
OwnRows own_rows(const Context& context, const Communicator& communicator,
                 std::vector<Offset> starts, const CsrView<double>& rows, int block);
/// Such rows where the halo is known: those of new values on the pattern that it was made for.
/// Collective; waits. Throws InvalidArgument on all ranks for columns that the halo lacks.
BsrMatrix<double> own_rows(const Context& context, const Halo& halo, const CsrView<double>& rows,
                           int block);

/// As own_rows, from rows in the two parts of MPI codes; each rank has whole nodes.
OwnRows own_rows(const Context& context, const Communicator& communicator, const RowsOfRank& rows,
                 int block);
BsrMatrix<double> own_rows(const Context& context, const Halo& halo, const RowsOfRank& rows,
                           int block);

}  // namespace tessera
