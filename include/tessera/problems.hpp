#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tessera/csr.hpp"
#include "tessera/spec.hpp"

namespace tessera::problems {

/// A generated system in host memory.
template <class T>
struct Problem {
    CsrMatrix<T> matrix;
    std::vector<T> load;          ///< Right-hand side that belongs to the problem; may be empty.
    bool known_singular = false;  ///< For kernels and benchmarks only ("free" elasticity).
    Index natural_block = 1;      ///< Unknowns a node.
    std::string name;             ///< The normalised text.
};

/// Builds a problem, assembled in parallel by the threads of `cpu` (a CPU context), equal for every
/// number of threads:
///   poisson2d:N, poisson3d:N          5- and 7-point Laplacian, Dirichlet, N points a side
///   convection3d:N[,strength=S]       7-point upwind convection-diffusion, nonsymmetric; S = 10
///   arrow:N                           dense first row and column and the diagonal
///   tridiagonal:N                     (-1, 2, -1)
///   block_diagonal:N,K[,seed=]        N rows in dense random blocks of K
///   random_blocks:N[,sizes=LOW-HIGH][,condition=C][,seed=]
///                                     N diagonal blocks with sizes drawn from LOW..HIGH, each with
///                                     2-norm condition number C, coupled to the next by one entry
///   elasticity2d:N[,free]             plane stress, N x N four-node squares
///   elasticity3d:N[,free]             N^3 eight-node cubes
/// The elasticity problems clamp the side x = 0 (its unknowns are removed) and load the side x = 1;
/// unknowns are node-major. "free" removes nothing (singular).
/// Throws InvalidArgument for another name, a wrong size, or one that exceeds 2^31 - 1 unknowns.
template <class T>
TESSERA_API Problem<T> generate(const Context& cpu, Spec problem);

/// The names that `generate` knows.
TESSERA_API std::vector<std::string> names();

}  // namespace tessera::problems
