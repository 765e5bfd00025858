#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>

#include "tessera/detail/cells.hpp"

/// The orientation of cells.
namespace tessera::detail {

using Vector = std::array<double, 3>;

/// Corners with the three corners at the ends of their edges, which make a right-handed system
/// where the element has the right orientation: of a tetrahedron one corner, of a pyramid those of
/// the base. Triangles and quadrilaterals are the first face with z as the third edge.
inline constexpr int tetrahedron_edges[1][4] = {{0, 1, 2, 3}};
inline constexpr int hexahedron_edges[8][4] = {{0, 1, 3, 4}, {1, 2, 0, 5}, {2, 3, 1, 6},
                                               {3, 0, 2, 7}, {4, 7, 5, 0}, {5, 4, 6, 1},
                                               {6, 5, 7, 2}, {7, 6, 4, 3}};
inline constexpr int prism_edges_of_corners[6][4] = {{0, 1, 2, 3}, {1, 2, 0, 4}, {2, 0, 1, 5},
                                                     {3, 5, 4, 0}, {4, 3, 5, 1}, {5, 4, 3, 2}};
inline constexpr int pyramid_edges[4][4] = {{0, 1, 3, 4}, {1, 2, 0, 4}, {2, 3, 1, 4}, {3, 0, 2, 4}};

inline std::span<const int[4]> corner_edges(CellShape shape) {
    switch (family(shape)) {
        case CellFamily::simplex:
            return tetrahedron_edges;
        case CellFamily::prism:
            return prism_edges_of_corners;
        case CellFamily::pyramid:
            return pyramid_edges;
        default:
            return std::span(hexahedron_edges).first(std::size_t(corners(shape)));
    }
}

/// The vector times a power of two, so that its largest component is in [1, 2): exact, and products
/// of three stay in range.
inline Vector scaled(Vector v) {
    const double largest = std::max({std::abs(v[0]), std::abs(v[1]), std::abs(v[2])});
    if (!(largest > 0 && std::isfinite(largest))) return v;
    const int exponent = std::ilogb(largest);
    for (double& component : v) component = std::scalbn(component, -exponent);
    return v;
}

/// The sign of (a x b) . c, 0 within rounding.
inline int orientation(const Vector& a, const Vector& b, const Vector& c) {
    const auto length = [](const Vector& v) {
        return std::sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
    };
    const double volume = (a[1] * b[2] - a[2] * b[1]) * c[0] + (a[2] * b[0] - a[0] * b[2]) * c[1] +
                          (a[0] * b[1] - a[1] * b[0]) * c[2];
    constexpr double rounding = 16 * std::numeric_limits<double>::epsilon();
    if (!(std::abs(volume) > rounding * length(a) * length(b) * length(c))) return 0;
    return volume > 0 ? 1 : -1;
}

/// The sign of the Jacobian of a triangle or quadrilateral (in x and y) or a solid element at its
/// corners, whose points are given: 1 or -1 where all corners agree; 0 where they do not or one is
/// zero within rounding, so that the element has no volume or folds over.
inline int orientation(CellShape shape, std::span<const Vector> points) {
    const bool plane = dimensions(shape) == 2;
    int sign = 0;
    for (const auto& corner : corner_edges(shape)) {
        const auto edge = [&](int e) {
            if (plane && e == 3) return Vector{0, 0, 1};
            const Vector &from = points[std::size_t(corner[0])],
                         &to = points[std::size_t(corner[e])];
            return scaled({to[0] - from[0], to[1] - from[1], to[2] - from[2]});
        };
        const int corner_sign = orientation(edge(1), edge(2), edge(3));
        if (corner_sign == 0 || corner_sign == -sign) return 0;
        sign = corner_sign;
    }
    return sign;
}

/// The orientation of an element of a mesh, by its corners.
inline int orientation(const Mesh& mesh, CellShape shape, const Index* nodes) {
    std::array<Vector, 8> points{};
    for (int c = 0; c < corners(shape); ++c) {
        std::copy_n(&mesh.points[std::size_t(nodes[c]) * mesh.dimensions], mesh.dimensions,
                    points[std::size_t(c)].begin());
    }
    return orientation(shape, points);
}

/// Renumbers the nodes of a cell so that its orientation is reversed.
inline void reverse_orientation(CellShape shape, Index* nodes) {
    Index old[max_cell_nodes];
    std::copy_n(nodes, node_count(shape), old);
    for (int k = 0; k < node_count(shape); ++k) nodes[k] = old[mirrored_node(shape, k)];
}

}  // namespace tessera::detail
