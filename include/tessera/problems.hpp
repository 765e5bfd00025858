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
///   elasticity2d:N[,element=q4][,jitter=0][,grading=1][,seed=1][,free]
///   elasticity3d:N[,element=hex8][,jitter=0][,grading=1][,seed=1][,free]
///     Linear elasticity, E = 1, nu = 0.3, on the unit square (plane stress, thickness 1) of N x N
///     cells or the unit cube of N^3, each a bilinear square (q4) or trilinear cube (hex8), or two
///     triangles (t3) or six tetrahedra (tet4), see meshes.hpp; not scaled. `jitter`, at most 0.99,
///     moves the nodes inside; `grading`, 1e-6 to 1e6, is the length of the last cell over that of
///     the first along every axis. Unknowns are node-major, nodes are numbered with x slowest; all
///     couplings of nodes that share an element are stored, zeros too. The nodes on x = 0 are
///     clamped and left out; `load` is that of the traction (0, -1, 0) on x = 1. "free" clamps
///     nothing: singular, no load.
///   cantilever2d:N[,length=8][,element=q4][,jitter=0][,grading=1][,seed=1]
///   cantilever3d:N[,length=8][,element=hex8][,jitter=0][,grading=1][,seed=1]
///     The same for a beam of N cells on each side of its section, which is 1 wide, and `length`
///     times that along x.
///   plate_hole:N[,element=q4]
///     A quarter of a plate of width 8 with a hole of radius 1 under the traction (1, 0) on its
///     right side, N x 2 N cells, as meshes::plate_with_hole; E = 1, nu = 0.3, plane stress. Nodes
///     on a line of symmetry keep one unknown, so there is no natural block.
///   kkt:N[,spread=4][,delta=0][,entries=3][,seed=1]
///     [-Theta J^T; J delta I] of an interior point method: N variables, Theta = 10^u with u
///     uniform in [-spread, spread), and M = N / 2 constraints (1 at least) with `entries` numbers
///     +-1 at random variables; each variable has a 1 at a random constraint besides. Indefinite,
///     N negative eigenvalues; spread=1 is mild.
///   qpband:N
///     [H J^T; J 0], H = tridiagonal (-1, 2, -1) of N variables, M = N / 3 constraints (1 at least)
///     e_i - e_(i + M). Indefinite, M negative eigenvalues.
///   bordered:N[,rows=20][,density=0.3][,spread=3][,seed=1]
///     [H J^T; J 0], H = diag(10^u), u uniform in [-spread, spread), N variables; J has `rows`
///     dense rows: normal numbers in the share `density` of their places, plus 1 at (i, i).
///     Indefinite, `rows` negative eigenvalues.
///   stokes:N[,beta=0]
///     Stokes flow in the closed unit square, N x N cells (2 at least), velocities on inner faces
///     and pressures in cells (marker and cell): [A B^T; B -beta I], A the 5-point Laplacian with
///     no slip on walls, B minus the divergence. Where beta = 0 the last pressure is left out.
///     Indefinite, as many negative eigenvalues as pressures.
///   darcy:N[,contrast=4][,seed=1]
///     Flow in a porous square on the same unknowns (lowest-order Raviart-Thomas elements, lumped):
///     [M B^T; B 0], M = h^2 times the mean of 1 / k on both sides of a face, k = 10^u in each
///     cell, u uniform in [-contrast / 2, contrast / 2), B scaled by h^2.
///   helmholtz:N[,kh=0.6]
///     Five-point Laplacian as poisson2d, less kh^2 I: waves with 2 pi / kh points a wave length.
///   schroedinger:N[,atoms=6][,shift=0.6][,seed=1]
///     -1/2 Laplace(u) + V u + sum of 2 w w^T u - shift u on N^3 points at the distance h = 0.6;
///     V = -sum over the atoms of 3 exp(-d^2 / 1.2), w = exp(-d) for d < 2.2 h, normalised: dense
///     blocks around the atoms, which are in the middle half of the cube. Indefinite.
///   shell:N[,thickness=0.01][,shift=0]
///     thickness L^2 + L - shift I with L = poisson2d:N (13 points): a plate under tension;
///     positive definite without shift, indefinite with, for example, 0.8.
///   circuit:N[,spread=2][,leak=0.001][,seed=1]
///     Conductances 10^u, u uniform in [-spread, spread), between neighbours of N x N points, and
///     `leak` to the ground at each. Symmetric positive definite.
///
/// Points of a grid are numbered with the first axis slowest. Random numbers are Philox 4x32-10
/// keyed by the seed and the number of the row, block, entry, cell or edge.
/// Throws InvalidArgument for another name, option or size, and for more than 2^31 - 1 unknowns.
template <class T>
TESSERA_API Problem<T> generate(const Context& cpu, Spec problem);

/// The names that `generate` knows.
TESSERA_API std::vector<std::string> names();

}  // namespace tessera::problems
