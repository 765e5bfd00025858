#pragma once

#include <algorithm>
#include <array>
#include <span>

#include "tessera/mesh.hpp"

/// The nodes, edges and faces of cells, on their reference cell.
namespace tessera {

inline constexpr int max_cell_nodes = 27;

/// Reference cells: the simplex with the corners 0 and the unit vectors, the cube [-1, 1]^d, the
/// prism over the reference triangle for z in [-1, 1], and the pyramid over the square [-1, 1]^2
/// for z in [0, 1], as a cube with one face collapsed: x = X (1 - z), y = Y (1 - z) for X, Y, z in
/// [-1, 1]^2 x [0, 1].
enum class CellFamily { simplex, cube, prism, pyramid };

constexpr CellFamily family(CellShape shape) {
    constexpr auto s = CellFamily::simplex, c = CellFamily::cube, w = CellFamily::prism;
    constexpr CellFamily families[] = {c, c, s, c, s, c, w, CellFamily::pyramid,
                                       c, s, c, c, s, w, c, c};
    return families[int(shape)];
}

constexpr bool is_simplex(CellShape shape) { return family(shape) == CellFamily::simplex; }

/// Corners of the reference segment, square and cube.
inline constexpr int corner_signs[8][3] = {{-1, -1, -1}, {1, -1, -1}, {1, 1, -1}, {-1, 1, -1},
                                           {-1, -1, 1},  {1, -1, 1},  {1, 1, 1},  {-1, 1, 1}};

/// The cell of first order with the same corners.
constexpr CellShape first_order(CellShape shape) {
    if (is_first_order(shape)) return shape;
    constexpr CellShape shapes[] = {CellShape::segment,       CellShape::triangle,
                                    CellShape::quadrilateral, CellShape::quadrilateral,
                                    CellShape::tetrahedron,   CellShape::prism,
                                    CellShape::hexahedron,    CellShape::hexahedron};
    return shapes[int(shape) - int(CellShape::segment3)];
}

constexpr bool has_centres(CellShape shape) {
    return shape == CellShape::quadrilateral9 || shape == CellShape::hexahedron27;
}

/// The cell of second order with the same corners, with nodes in the middle of faces or without;
/// the shape itself where there is none.
constexpr CellShape second_order(CellShape shape, bool centres) {
    switch (first_order(shape)) {
        case CellShape::segment:
            return CellShape::segment3;
        case CellShape::triangle:
            return CellShape::triangle6;
        case CellShape::quadrilateral:
            return centres ? CellShape::quadrilateral9 : CellShape::quadrilateral8;
        case CellShape::tetrahedron:
            return CellShape::tetrahedron10;
        case CellShape::prism:
            return CellShape::prism15;
        case CellShape::hexahedron:
            return centres ? CellShape::hexahedron27 : CellShape::hexahedron20;
        default:
            return shape;
    }
}

/// Faces of solid cells by their corners, seen from outside counterclockwise; -1: three corners.
inline constexpr int tetrahedron_faces[4][4] = {
    {0, 2, 1, -1}, {0, 1, 3, -1}, {1, 2, 3, -1}, {0, 3, 2, -1}};
inline constexpr int hexahedron_faces[6][4] = {{0, 3, 2, 1}, {4, 5, 6, 7}, {0, 1, 5, 4},
                                               {1, 2, 6, 5}, {2, 3, 7, 6}, {3, 0, 4, 7}};
inline constexpr int prism_faces[5][4] = {
    {0, 2, 1, -1}, {3, 4, 5, -1}, {0, 1, 4, 3}, {1, 2, 5, 4}, {2, 0, 3, 5}};
inline constexpr int pyramid_faces[5][4] = {
    {0, 3, 2, 1}, {0, 1, 4, -1}, {1, 2, 4, -1}, {2, 3, 4, -1}, {3, 0, 4, -1}};

/// The number of faces; those of plane cells are their edges.
constexpr int face_count(CellShape shape) {
    constexpr int solid[] = {4, 6, 5, 5};
    return dimensions(shape) == 2 ? corners(shape) : solid[int(family(shape))];
}

/// The corner of the cell that is corner k of a face; -1: there is none.
constexpr int face_corner(CellShape shape, int face, int k) {
    if (dimensions(shape) == 2) return (face + k) % corners(shape);
    constexpr const int(*faces[])[4] = {tetrahedron_faces, hexahedron_faces, prism_faces,
                                        pyramid_faces};
    return faces[int(family(shape))][face][k];
}

constexpr CellShape face_shape(CellShape shape, int face) {
    const CellShape first = dimensions(shape) == 2            ? CellShape::segment
                            : face_corner(shape, face, 3) < 0 ? CellShape::triangle
                                                              : CellShape::quadrilateral;
    return is_first_order(shape) ? first : second_order(first, has_centres(shape));
}

/// The corners of edges, in the order of their nodes.
inline constexpr int simplex_edges[6][2] = {{0, 1}, {1, 2}, {2, 0}, {0, 3}, {1, 3}, {2, 3}};
inline constexpr int cube_edges[12][2] = {{0, 1}, {1, 2}, {2, 3}, {3, 0}, {4, 5}, {5, 6},
                                          {6, 7}, {7, 4}, {0, 4}, {1, 5}, {2, 6}, {3, 7}};
inline constexpr int prism_edges[9][2] = {{0, 1}, {1, 2}, {2, 0}, {3, 4}, {4, 5},
                                          {5, 3}, {0, 3}, {1, 4}, {2, 5}};

/// The corners, as bits, in whose middle a node lies: of a corner itself, of an edge, a face or the
/// cell.
constexpr unsigned corners_of_node(CellShape shape, int node) {
    if (node < corners(shape)) return 1u << node;
    const int edge = node - corners(shape);
    const int edges = shape == CellShape::segment3 ? 1 : dimensions(shape) == 2 ? 4 : 12;
    if (family(shape) != CellFamily::cube || edge < edges) {
        constexpr const int(*all[])[2] = {simplex_edges, cube_edges, prism_edges};
        const int(&ends)[2] = all[int(family(shape))][edge];
        return 1u << ends[0] | 1u << ends[1];
    }
    constexpr int centred_faces[] = {5, 3, 2, 4, 0, 1};
    if (dimensions(shape) == 2 || edge == edges + 6) return (1u << corners(shape)) - 1;
    unsigned bits = 0;
    for (const int corner : hexahedron_faces[centred_faces[edge - edges]]) bits |= 1u << corner;
    return bits;
}

/// The node in the middle of these corners; -1: none.
constexpr int node_between(CellShape shape, unsigned corner_bits) {
    for (int node = 0; node < node_count(shape); ++node) {
        if (corners_of_node(shape, node) == corner_bits) return node;
    }
    return -1;
}

/// The node of the cell that is node k of a face.
constexpr int face_node(CellShape shape, int face, int k) {
    unsigned bits = 0;
    const unsigned on_face = corners_of_node(face_shape(shape, face), k);
    for (int corner = 0; corner < 4; ++corner) {
        if (on_face >> corner & 1) bits |= 1u << face_corner(shape, face, corner);
    }
    return node_between(shape, bits);
}

template <class Node>
using CellKey = std::array<Node, 9>;

/// What cells with the same nodes share: their corners, sorted, and the least other node.
template <class Node>
CellKey<Node> cell_key(CellShape shape, std::span<const Node> nodes) {
    CellKey<Node> key;
    key.fill(-1);
    const auto count = std::size_t(corners(shape));
    std::copy_n(nodes.begin(), count, key.begin());
    if (nodes.size() > count) key.back() = *std::min_element(nodes.begin() + count, nodes.end());
    std::sort(key.begin(), key.begin() + std::min<std::size_t>(count, 8));
    return key;
}

using ReferencePoint = std::array<double, 3>;

constexpr ReferencePoint corner_point(CellShape shape, int corner) {
    ReferencePoint at{};
    const int axes = dimensions(shape);
    const auto simplex = [&](int k) {
        if (k > 0) at[std::size_t(k) - 1] = 1;
    };
    switch (family(shape)) {
        case CellFamily::simplex:
            simplex(corner);
            break;
        case CellFamily::cube:
            for (int i = 0; i < axes; ++i) at[std::size_t(i)] = corner_signs[corner][i];
            break;
        case CellFamily::prism:
            simplex(corner % 3);
            at[2] = corner < 3 ? -1 : 1;
            break;
        case CellFamily::pyramid:
            for (int i = 0; i < 2 && corner < 4; ++i) at[std::size_t(i)] = corner_signs[corner][i];
            at[2] = corner == 4 ? 1 : 0;
            break;
    }
    return at;
}

constexpr ReferencePoint node_point(CellShape shape, int node) {
    ReferencePoint at{};
    int count = 0;
    for (int corner = 0; corner < corners(shape); ++corner) {
        if (!(corners_of_node(shape, node) >> corner & 1)) continue;
        const ReferencePoint point = corner_point(shape, corner);
        for (std::size_t i = 0; i < 3; ++i) at[i] += point[i];
        ++count;
    }
    for (double& x : at) x /= count;
    return at;
}

/// The node at the place of `node` in the cell with reversed orientation: in the mirror image at
/// x = y, of a segment at x = 0.
constexpr int mirrored_node(CellShape shape, int node) {
    if (dimensions(shape) == 0) return node;
    const auto mirrored_corner = [&](int corner) {
        if (dimensions(shape) == 1) return 1 - corner;
        const int layer = family(shape) == CellFamily::prism ? 3 : 4, k = corner % layer;
        if (family(shape) == CellFamily::pyramid && corner == 4) return corner;
        if (is_simplex(shape) || family(shape) == CellFamily::prism) {
            return corner + (k == 1 ? 1 : k == 2 ? -1 : 0);
        }
        return corner + (k == 1 ? 2 : k == 3 ? -2 : 0);
    };
    unsigned bits = 0;
    for (int corner = 0; corner < corners(shape); ++corner) {
        if (corners_of_node(shape, node) >> corner & 1) bits |= 1u << mirrored_corner(corner);
    }
    return node_between(shape, bits);
}

}  // namespace tessera
