#pragma once

#include "tessera/krylov.hpp"

namespace tessera {

/// The solver of refinement(); the operators must outlive it.
std::unique_ptr<IterativeSolver<double>> make_refinement(const Context& context,
                                                         const Operator<double>& matrix,
                                                         const Operator<float>& low_matrix,
                                                         const Operator<float>* preconditioner,
                                                         const RefinementOptions& options);

}  // namespace tessera
