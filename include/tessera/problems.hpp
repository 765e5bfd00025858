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
    Index natural_block = 1;      ///< Unknowns a node, rows a block; 1 where they differ.
    std::string name;             ///< The normalised text.
};

/// Builds a problem in the memory of `cpu`, a CPU context, by its threads; equal in every bit for
/// every number of threads. Values are computed in double and rounded to T once; N >= 1.
///
///   poisson2d:N, poisson3d:N, tridiagonal:N
///     -Laplace(u), Dirichlet, N points on each of 2, 3 or 1 axes, h = 1 / (N + 1), scaled by h^2:
///     2 per axis on the diagonal, -1 for each neighbour. Symmetric positive definite.
///   convection3d:N[,strength=S]
///     -Laplace(u) + S (1,1,1) . grad(u), first-order upwind, scaled by h^2 as above: diagonal
///     6 + 3 S h, lower neighbours -1 - S h, upper ones -1. Nonsymmetric M-matrix; S = 10, S >= 0.
///   arrow:N
///     N at the end of the diagonal, 2 on its other places, -1 in the last row and column.
///     Symmetric positive definite.
///   block_diagonal:N,K[,seed=1]
///     N rows in dense blocks of K (the last one smaller when K does not divide N), entries uniform
///     in [-1, 1).
///   random_blocks:N[,sizes=1-32][,condition=10][,seed=1]
///     N diagonal blocks D_b with sizes uniform in LOW..HIGH (at most 4096). D_b = U diag(s) V,
///     s_k = condition^(-k / (n - 1)), U and V three random Householder reflections each: 2-norm 1
///     and 2-norm condition number `condition` (1 where n = 1). The last row of each block is
///     coupled to the first column of the next by 0.1 / condition, so that A = D (I + E) with
///     ||E||_2 <= 0.1 (before rounding).
///   elasticity2d:N[,element=q4][,jitter=0][,seed=1][,free]
///   elasticity3d:N[,element=hex8][,jitter=0][,seed=1][,free]
///     Linear elasticity, E = 1, nu = 0.3, on the unit square (plane stress, thickness 1) of N x N
///     cells or the unit cube of N^3, each a bilinear square (q4) or trilinear cube (hex8), or two
///     triangles (t3) or six tetrahedra (tet4), see meshes.hpp; not scaled. `jitter`, at most 0.99,
///     moves the nodes inside. Unknowns are node-major, nodes are numbered with x slowest; all
///     couplings of nodes that share an element are stored, zeros too. The nodes on x = 0 are
///     clamped and left out; `load` is that of the traction (0, -1, 0) on x = 1. "free" clamps
///     nothing: singular, no load.
///   cantilever2d:N[,length=8][,element=q4][,jitter=0][,seed=1]
///   cantilever3d:N[,length=8][,element=hex8][,jitter=0][,seed=1]
///     The same for a beam of N cells on each side of its section, which is 1 wide, and `length`
///     times that along x.
///   plate_hole:N[,element=q4]
///     A quarter of a plate of width 8 with a hole of radius 1 under the traction (1, 0) on its
///     right side, N x 2 N cells, as meshes::plate_with_hole; E = 1, nu = 0.3, plane stress. Nodes
///     on a line of symmetry keep one unknown, so there is no natural block.
///
/// Points of a grid are numbered with the first axis slowest. Random numbers are Philox 4x32-10
/// keyed by the seed and the number of the row (block_diagonal) or block (random_blocks).
/// Throws InvalidArgument for another name, option or size, and for more than 2^31 - 1 unknowns.
template <class T>
TESSERA_API Problem<T> generate(const Context& cpu, Spec problem);

/// The names that `generate` knows.
TESSERA_API std::vector<std::string> names();

}  // namespace tessera::problems
