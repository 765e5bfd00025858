#pragma once

#include <span>
#include <string>

#include "tessera/csr.hpp"

namespace tessera::bench {

/// A solve by exact factors of another library, in host memory, by one thread. SuperLU 5 crashes
/// on some singular matrices.
struct DirectPeerResult {
    std::string status;  ///< "converged", or why there is no solution.
    double setup_seconds = 0, solve_seconds = 0;
    double seconds() const { return setup_seconds + solve_seconds; }
};

/// Whether a solver is one of these libraries, which are loaded at run time: klu or superlu.
bool is_direct_peer(const std::string& solver);
/// Replaces b by x with A x = b. Throws Error if the library was not found, when the benchmark was
/// built or now.
DirectPeerResult solve_by_peer(const std::string& solver, const CsrView<double>& matrix,
                               std::span<double> b);

}  // namespace tessera::bench
