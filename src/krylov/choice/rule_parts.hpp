#pragma once

#include "krylov/rules.hpp"

// What the rules for definite and for other matrices share.
//
// Tables of measurements: system, rows; the chosen way and its milliseconds; a rejected way and its
// milliseconds; for setup and solve to 1e-8 from CSR, on two cores or on an H200.

namespace tessera {

inline constexpr const char* largest_blocks = "block_jacobi:32";
inline constexpr const char* few_operations = "exact factors take few operations";
inline constexpr const char* small_or_short = "a small system, or one with short rows";
inline constexpr double max_flops_of_any = 1e12;  ///< About a minute.

/// Operations of a factorisation that take about as long as so many products with the matrix: 30
/// for each entry of a product (10 GFLOP/s against 24 bytes at 8 GB/s, on one core).
inline double flops_of_products(const MatrixFacts& a, double products) {
    return 30 * products * double(a.nonzeros);
}

/// Whether coarse levels and factors of the graph fill up: it is no mesh.
inline bool fills_up(const MatrixFacts& a) {
    //   random graphs, degrees 4 and 10, 100,000 rows  4.8, 3.2  jacobi 0.10 s  multigrid 0.9 s
    //   poisson3d:60, elasticity3d:20                  2.8, 2.5
    // Few steps reach many nodes of quadratic tetrahedra, which have more neighbours than such
    // graphs of this dimension, 80 entries a row:
    //   bracket, 76,000 and 286,000 rows               2.9, 3.2
    //   cube, 71,000 rows                              3.8
    //   random, degree 4, blocks of 3, 180,000 rows    jacobi 0.3 s  multigrid first 1.9 s
    const bool has_wide_nodes = a.rows_per_node > 1 && a.entries_per_row() >= 60;
    return !a.has_coordinates && a.graph_dimension > (has_wide_nodes ? 4 : 3.05);
}

/// Whether the graph is that of a mesh of a plane or of a long body: its factors are small.
inline bool is_plane_graph(const MatrixFacts& a) {
    //   plane meshes of linear elements and of higher order  1.8 to 2.1
    //   cantilever3d:4,length=60                             1.0
    return a.graph_dimension > 0 && a.graph_dimension < 2.2;
}

/// Whether Jacobi iterations of a few digits each are certain: eigenvalues of D^-1 A are within
/// [0.1, 1.9] (Gershgorin), which takes conjugate gradients 40 iterations.
inline bool is_dominated_by_diagonal(const MatrixFacts& a) { return a.off_diagonal_share <= 0.9; }

}  // namespace tessera
