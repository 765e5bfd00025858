#pragma once

#include "tessera/mesh.hpp"

/// The faces of elements; those of plane shapes are their edges.
namespace tessera {

/// The corners of the faces of tetrahedra and hexahedra, seen from outside counterclockwise.
inline constexpr int tetrahedron_faces[4][3] = {{0, 2, 1}, {0, 1, 3}, {1, 2, 3}, {0, 3, 2}};
inline constexpr int hexahedron_faces[6][4] = {{0, 3, 2, 1}, {4, 5, 6, 7}, {0, 1, 5, 4},
                                               {1, 2, 6, 5}, {2, 3, 7, 6}, {3, 0, 4, 7}};

constexpr int face_count(CellShape shape) {
    return shape == CellShape::hexahedron ? 6 : corners(shape);
}

constexpr CellShape face_shape(CellShape shape) {
    if (dimensions(shape) == 2) return CellShape::segment;
    return shape == CellShape::tetrahedron ? CellShape::triangle : CellShape::quadrilateral;
}

/// The corner of the element that is corner k of a face.
constexpr int face_corner(CellShape shape, int face, int k) {
    return shape == CellShape::tetrahedron  ? tetrahedron_faces[face][k]
           : shape == CellShape::hexahedron ? hexahedron_faces[face][k]
                                            : (face + k) % corners(shape);
}

}  // namespace tessera
