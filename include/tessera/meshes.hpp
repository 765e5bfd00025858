#pragma once

#include <array>
#include <cstdint>

#include "tessera/mesh.hpp"

/// Structured meshes. Nodes are numbered with the first axis slowest.
namespace tessera::meshes {

struct GridOptions {
    std::array<double, 3> lengths{1, 1, 1};
    /// Length of the last cell of an axis over that of the first; between them it grows
    /// geometrically.
    std::array<double, 3> gradings{1, 1, 1};
    /// In [0, 1): nodes inside are moved by at most jitter / 4 (in three dimensions jitter / 6) of
    /// the shorter neighbouring cell along each axis, which inverts no element.
    double jitter = 0;
    std::uint64_t seed = 1;  ///< Of the jitter: Philox 4x32-10 by seed and node.
};

/// [0, lengths[0]] x [0, lengths[1]] in nx x ny cells, each one quadrilateral or two triangles.
/// Cells are split along the diagonal between the corner whose grid indices are all even and the
/// one where they are all odd (Kuhn's simplices, mirrored from cell to cell), so that inner nodes
/// have 4 or 8 neighbours. Groups of edges, the outside on their right: left and right (first and
/// last x), bottom and top (y). Throws InvalidArgument for other shapes, sizes below 1 and too many
/// nodes.
TESSERA_API Mesh rectangle(CellShape element, Index nx, Index ny, const GridOptions& options = {});

/// The same with z: each cell is one hexahedron or six tetrahedra; of their inner nodes a
/// quarter has 26 neighbours and the others 10. Groups of faces, seen from outside
/// counterclockwise: left and right (x), bottom and top (y), back and front (first and last z).
TESSERA_API Mesh box(CellShape element, Index nx, Index ny, Index nz,
                     const GridOptions& options = {});

/// A quarter of a square plate with a round hole in its middle, x and y in [0, half_width] outside
/// of the circle about the origin: `size` cells from the hole to the rim, `size` on each half of
/// the arc, those at the hole about square. Quadrilaterals or triangles, split as above. Groups:
/// hole, left and bottom (the lines of symmetry x = 0 and y = 0), right (x = half_width) and top.
/// Throws InvalidArgument unless 0 < radius < half_width.
TESSERA_API Mesh plate_with_hole(CellShape element, Index size, double radius = 1,
                                 double half_width = 4);

}  // namespace tessera::meshes
