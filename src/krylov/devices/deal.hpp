#pragma once

#include "distributed/partition.hpp"
#include "distributed/preconditioner.hpp"
#include "tessera/precond.hpp"

namespace tessera {

/// How a system is dealt out over ranks.
struct Deal {
    int block = 1;                ///< Unknowns of a node.
    PreconditionerInputs inputs;  ///< For the whole matrix.
    NodePartition partition;
    bool by_coordinates = false;
};

/// Chooses the nodes of each rank. Throws InvalidArgument for matrices that are not for multigrid
/// over ranks, and inputs that do not fit them.
Deal deal_out(const Context& cpu, const CsrView<double>& matrix, const ConfigOverRanks& config,
              const PreconditionerInputs& given, int ranks);

/// Throws InvalidArgument for matrices that are not symmetric, or have diagonal entries that are
/// not positive.
void require_definite(const Context& cpu, const CsrView<double>& matrix);

/// The inputs of the nodes of a rank.
PreconditionerInputs own_inputs(const Context& cpu, const Deal& deal, int rank);

}  // namespace tessera
