#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>

#include "tessera/mesh.hpp"

/// The orientation of cells.
namespace tessera::io {

using Vector = std::array<double, 3>;

/// The corners of a tetrahedron, then of a hexahedron, each with the three corners at the ends of
/// its edges, which make a right-handed system where the element has the right orientation.
/// Triangles and quadrilaterals are the first face with z as the third edge.
inline constexpr int corner_edges[9][4] = {{0, 1, 2, 3}, {0, 1, 3, 4}, {1, 2, 0, 5},
                                           {2, 3, 1, 6}, {3, 0, 2, 7}, {4, 7, 5, 0},
                                           {5, 4, 6, 1}, {6, 5, 7, 2}, {7, 6, 4, 3}};

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

/// The sign of the Jacobian of a triangle or quadrilateral (in x and y), a tetrahedron or a
/// hexahedron at its corners: 1 or -1 where all corners agree; 0 where they do not or one is zero
/// within rounding, so that the element has no volume or folds over.
inline int orientation(CellShape shape, std::span<const Vector> points) {
    const bool plane = dimensions(shape) == 2;
    const bool simplex = shape == CellShape::triangle || shape == CellShape::tetrahedron;
    int sign = 0;
    for (int k = simplex ? 0 : 1; k <= (simplex ? 0 : corners(shape)); ++k) {
        const int(&corner)[4] = corner_edges[k];
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

/// Renumbers the corners of a cell so that its orientation is reversed.
inline void reverse_orientation(CellShape shape, Index* nodes) {
    if (shape == CellShape::segment) {
        std::swap(nodes[0], nodes[1]);
    } else if (shape == CellShape::triangle || shape == CellShape::tetrahedron) {
        std::swap(nodes[1], nodes[2]);
    } else {
        for (int face = 0; face + 4 <= corners(shape); face += 4) {
            std::swap(nodes[face + 1], nodes[face + 3]);
        }
    }
}

}  // namespace tessera::io
