#pragma once

#include <string>
#include <vector>

#include "tessera/csr.hpp"
#include "tessera/mesh.hpp"
#include "tessera/spec.hpp"

namespace tessera::problems {

/// A generated system in host memory.
template <class T>
struct Problem {
    CsrMatrix<T> matrix;
    std::vector<T> load = {};          ///< Right-hand side of the problem; may be empty.
    bool known_singular = false;       ///< The matrix is singular: "free" elasticity, leak=0.
    Index natural_block = 1;           ///< Unknowns per node, rows per block; 1 if they vary.
    NodeCoordinates coordinates = {};  ///< Elasticity: the nodes with unknowns; else empty.
    std::string name = {};             ///< The normalised text.
};

/// Builds a problem in the memory of `cpu`, a CPU context, by its threads; bitwise equal for every
/// number of threads. Options are shown with their defaults. Symmetric positive definite:
///   poisson2d:N poisson3d:N tridiagonal:N arrow:N circuit:N[,spread=2][,leak=0.001][,seed=1]
///   diffusion3d:N[,checkerboard=1][,anisotropy=1]
///   elasticity2d:N[,element=q4][,jitter=0][,grading=1][,seed=1][,poisson=0.3][,contrast=1]
///     [,stretch=1:1][,free] (q4 or t3; free: singular)
///   elasticity3d:N[,element=hex8][,stretch=1:1:1] with the same options (hex8 or tet4)
///   cantilever2d:N[,length=8] cantilever3d:N[,length=8] with the same options, but free
///   plate_hole:N[,element=q4]
/// Symmetric indefinite (shell from some shift on):
///   kkt:N[,spread=4][,delta=0][,entries=3][,seed=1] qpband:N stokes:N[,beta=0]
///   bordered:N[,rows=20][,density=0.3][,spread=3][,seed=1] darcy:N[,contrast=4][,seed=1]
///   helmholtz:N[,kh=0.6] schroedinger:N[,atoms=6][,shift=0.6][,seed=1]
///   shell:N[,thickness=0.01][,shift=0]
/// Nonsymmetric:
///   convection2d:N[,strength=10][,scheme=upwind] convection3d:N with the same options
///   recirculation:N[,peclet=1000][,scheme=upwind] block_diagonal:N,K[,seed=1]
///   euler2d:N[,cfl=10][,mach=0.3] euler3d:N[,cfl=10][,mach=0.3]
///   random_blocks:N[,sizes=1-32][,condition=10][,seed=1]
/// docs/guide/options.md defines each. Random numbers are Philox 4x32-10 keyed by the seed
/// and the number of the row, block, entry, cell or edge. Throws InvalidArgument for another name,
/// option or size, and for more than 2^31 - 1 unknowns.
template <class T>
TESSERA_API Problem<T> generate(const Context& cpu, Spec problem);

/// The names that `generate` knows.
TESSERA_API std::vector<std::string> generator_names();

}  // namespace tessera::problems
