#include "io/cell_orientation.hpp"

#include <cmath>
#include <limits>
#include <utility>

namespace tessera::io {

namespace {

struct Vector {
    double x, y, z;
};

double length(const Vector& a) { return std::sqrt(a.x * a.x + a.y * a.y + a.z * a.z); }

/// The sign of (a x b) . c, 0 within rounding.
int turn(const Vector& a, const Vector& b, const Vector& c) {
    const double volume = (a.y * b.z - a.z * b.y) * c.x + (a.z * b.x - a.x * b.z) * c.y +
                          (a.x * b.y - a.y * b.x) * c.z;
    constexpr double rounding = 16 * std::numeric_limits<double>::epsilon();
    if (!(std::abs(volume) > rounding * length(a) * length(b) * length(c))) return 0;
    return volume > 0 ? 1 : -1;
}

/// A corner and its neighbours; the edges to them make a right-handed system in an element that
/// stands right. A neighbour of -1 is the direction z of the plane.
struct Corner {
    int at, first, second, third;
};
constexpr Corner triangle_corners[] = {{0, 1, 2, -1}};
constexpr Corner quadrilateral_corners[] = {
    {0, 1, 3, -1}, {1, 2, 0, -1}, {2, 3, 1, -1}, {3, 0, 2, -1}};
constexpr Corner tetrahedron_corners[] = {{0, 1, 2, 3}};
constexpr Corner hexahedron_corners[] = {{0, 1, 3, 4}, {1, 2, 0, 5}, {2, 3, 1, 6}, {3, 0, 2, 7},
                                         {4, 7, 5, 0}, {5, 4, 6, 1}, {6, 5, 7, 2}, {7, 6, 4, 3}};

std::span<const Corner> corners_of(CellShape shape) {
    if (shape == CellShape::triangle) return triangle_corners;
    if (shape == CellShape::quadrilateral) return quadrilateral_corners;
    if (shape == CellShape::tetrahedron) return tetrahedron_corners;
    return hexahedron_corners;
}

}  // namespace

int orientation(CellShape shape, std::span<const double> corners) {
    const bool plane = dimensions(shape) == 2;
    const auto edge = [&](int from, int to) {
        if (to < 0) return Vector{0, 0, 1};
        const double* const a = &corners[3 * std::size_t(from)];
        const double* const b = &corners[3 * std::size_t(to)];
        return Vector{b[0] - a[0], b[1] - a[1], plane ? 0 : b[2] - a[2]};
    };
    int sign = 0;
    for (const Corner& c : corners_of(shape)) {
        const int here = turn(edge(c.at, c.first), edge(c.at, c.second), edge(c.at, c.third));
        if (here == 0 || here == -sign) return 0;
        sign = here;
    }
    return sign;
}

void turn_round(CellShape shape, Index* nodes) {
    switch (shape) {
        case CellShape::point:
            return;
        case CellShape::segment:
            std::swap(nodes[0], nodes[1]);
            return;
        case CellShape::triangle:
        case CellShape::tetrahedron:
            std::swap(nodes[1], nodes[2]);
            return;
        case CellShape::hexahedron:
            std::swap(nodes[5], nodes[7]);
            [[fallthrough]];
        case CellShape::quadrilateral:
            std::swap(nodes[1], nodes[3]);
    }
}

}  // namespace tessera::io
