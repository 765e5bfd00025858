#pragma once

#include <cmath>
#include <type_traits>

#include "tessera/detail/cells.hpp"

/// Shape functions of all cells on their reference cells, and quadrature rules.
namespace tessera::elasticity {

template <CellShape S>
using ShapeTag = std::integral_constant<CellShape, S>;

/// A function's value and derivatives at a point, by the rules of sum and product.
template <int D>
struct Dual {
    double value = 0;
    double slopes[D]{};

    static Dual variable(int axis, double value) {
        Dual x{value};
        x.slopes[axis] = 1;
        return x;
    }
    friend Dual operator+(Dual a, const Dual& b) {
        a.value += b.value;
        for (int i = 0; i < D; ++i) a.slopes[i] += b.slopes[i];
        return a;
    }
    friend Dual operator+(Dual a, double b) {
        a.value += b;
        return a;
    }
    friend Dual operator*(const Dual& a, const Dual& b) {
        Dual product{a.value * b.value};
        for (int i = 0; i < D; ++i) {
            product.slopes[i] = a.slopes[i] * b.value + a.value * b.slopes[i];
        }
        return product;
    }
    friend Dual operator*(double a, Dual b) {
        b.value *= a;
        for (double& slope : b.slopes) slope *= a;
        return b;
    }
};

/// 1 where x = position, 0 at the other nodes of an edge: at -1 and 1, with `middle` also at 0.
template <class X>
X edge_function(double position, const X& x, bool middle) {
    const X linear = 0.5 * (position * x + 1.);
    if (!middle) return linear;
    return position == 0 ? (-1. * x + 1.) * (x + 1.) : position * x * linear;
}

/// Barycentric coordinate of a corner of a simplex with `axes` axes.
template <class X>
X barycentric(int corner, const X* x, int axes) {
    if (corner > 0) return x[corner - 1];
    X rest = -1. * x[0] + 1.;
    for (int i = 1; i < axes; ++i) rest = rest + -1. * x[i];
    return rest;
}

/// The function of a quadratic simplex with `axes` axes that is 1 in the middle of its corners a
/// and b, or, if a = b, at this corner.
template <class X>
X quadratic_simplex_function(int a, int b, const X* x, int axes) {
    const X of_a = barycentric(a, x, axes);
    return a == b ? of_a * (2. * of_a + -1.) : 4. * of_a * barycentric(b, x, axes);
}

/// Corners a and b of an edge's middle node, or a = b.
constexpr std::pair<int, int> ends_of_node(CellShape shape, int node) {
    const unsigned bits = corners_of_node(shape, node);
    int a = 0, b = corners(shape) - 1;
    while (!(bits >> a & 1)) ++a;
    while (!(bits >> b & 1)) --b;
    return {a, b};
}

/// Products of edge functions; quadrilateral8 and hexahedron20 are serendipity elements.
template <CellShape S, class X>
X cube_function(int node, const X* x) {
    constexpr int axes = dimensions(S);
    const ReferencePoint at = node_point(S, node);
    const bool serendipity = !is_first_order(S) && !has_centres(S);
    X product = edge_function(at[0], x[0], !is_first_order(S) && (!serendipity || at[0] == 0));
    for (int i = 1; i < axes; ++i) {
        product = product *
                  edge_function(at[std::size_t(i)], x[i],
                                !is_first_order(S) && (!serendipity || at[std::size_t(i)] == 0));
    }
    if (!serendipity || node >= corners(S)) return product;
    X sum = at[0] * x[0] + double(1 - axes);
    for (int i = 1; i < axes; ++i) sum = sum + at[std::size_t(i)] * x[i];
    return product * sum;
}

template <CellShape S, class X>
X prism_function(int node, const X* x) {
    const double height = node_point(S, node)[2];
    const auto [a, b] = ends_of_node(S, node);
    const X of_a = barycentric(a % 3, x, 2);
    if (is_first_order(S)) return of_a * edge_function(height, x[2], false);
    if (height == 0) return of_a * edge_function(0, x[2], true);
    const X layer = edge_function(height, x[2], false);
    if (a != b) return 4. * of_a * barycentric(b % 3, x, 2) * layer;
    return of_a * layer * (2. * of_a + height * x[2] + -2.);
}

/// The shape function of a node, at coordinates of type X.
template <CellShape S, class X>
X shape_function(int node, const X* x) {
    if constexpr (family(S) == CellFamily::cube) {
        return cube_function<S>(node, x);
    } else if constexpr (family(S) == CellFamily::prism) {
        return prism_function<S>(node, x);
    } else if constexpr (family(S) == CellFamily::pyramid) {
        if (node == 4) return x[2];
        return (-1. * x[2] + 1.) * edge_function(corner_signs[node][0], x[0], false) *
               edge_function(corner_signs[node][1], x[1], false);
    } else if constexpr (is_first_order(S)) {
        return barycentric(node, x, dimensions(S));
    } else {
        const auto [a, b] = ends_of_node(S, node);
        return quadratic_simplex_function(a, b, x, dimensions(S));
    }
}

/// Points of a cell: those of its stiffness, with weights; those where its stresses are most
/// accurate, from which they are extrapolated; its centre; and the corners, where the map of a cell
/// of first order is inverted first (of pyramids those of the base).
enum class Rule { stiffness, stress, centre, corners };

/// Stress points are corners moved towards the centre by these factors along each axis, or the
/// centre alone where the strain is constant or, in a pyramid, not linear.
struct StressPoints {
    int count = 1;
    ReferencePoint scale{};
};

inline StressPoints stress_points(CellShape shape) {
    const double line = std::sqrt(1. / 3), triangle = 1. / 2, tetrahedron = std::sqrt(1. / 5);
    const bool constant = is_simplex(shape) && is_first_order(shape);
    if (constant || family(shape) == CellFamily::pyramid) return {};
    if (family(shape) == CellFamily::cube) return {corners(shape), {line, line, line}};
    if (family(shape) == CellFamily::prism) return {corners(shape), {triangle, triangle, line}};
    const double simplex = dimensions(shape) == 2 ? triangle : tetrahedron;
    return {corners(shape), {simplex, simplex, simplex}};
}

constexpr int power(int base, int exponent) {
    return exponent == 0 ? 1 : base * power(base, exponent - 1);
}

/// The stiffness is integrated at the stress points, but with two Gauss points per axis in
/// pyramids, and with three per axis (of a prism: along its height) in cells of second order that
/// are no simplices.
constexpr int point_count(CellShape shape, Rule rule = Rule::stiffness) {
    const bool pyramid = family(shape) == CellFamily::pyramid;
    const bool constant = is_simplex(shape) && is_first_order(shape);
    if (rule == Rule::corners) return pyramid ? 4 : corners(shape);
    if (rule == Rule::centre || constant) return 1;
    if (rule == Rule::stress) return pyramid ? 1 : corners(shape);
    if (pyramid) return 8;
    if (is_first_order(shape) || is_simplex(shape)) return corners(shape);
    return family(shape) == CellFamily::prism ? 9 : power(3, dimensions(shape));
}

/// The centre of gravity of the reference cell.
constexpr ReferencePoint centre_point(CellShape shape) {
    switch (family(shape)) {
        case CellFamily::simplex: {
            const double share = 1. / (dimensions(shape) + 1);
            return {share, share, dimensions(shape) == 3 ? share : 0};
        }
        case CellFamily::prism:
            return {1. / 3, 1. / 3, 0};
        case CellFamily::pyramid:
            return {0, 0, 0.25};
        default:
            return {};
    }
}

struct WeightedPoint {
    ReferencePoint at{};
    double weight = 0;
};

/// A corner moved towards the centre.
inline ReferencePoint stress_point(CellShape shape, int k) {
    const StressPoints points = stress_points(shape);
    if (points.count == 1) return centre_point(shape);
    ReferencePoint at = corner_point(shape, k);
    const ReferencePoint centre = centre_point(shape);
    for (std::size_t i = 0; i < 3; ++i) at[i] = centre[i] + points.scale[i] * (at[i] - centre[i]);
    return at;
}

/// Volume of the reference cell.
constexpr double reference_volume(CellShape shape) {
    const int axes = dimensions(shape);
    return is_simplex(shape)                   ? (axes == 2 ? 1. / 2 : 1. / 6)
           : family(shape) == CellFamily::cube ? double(power(2, axes))
                                               : 1.;
}

/// Point p of the stiffness rules that are not stress points.
inline WeightedPoint gauss_point(CellShape shape, int p) {
    const double far = std::sqrt(3. / 5), near = std::sqrt(1. / 3);
    const double places[] = {-far, 0, far}, weights[] = {5. / 9, 8. / 9, 5. / 9};
    if (family(shape) == CellFamily::pyramid) {
        const int* const signs = corner_signs[p];
        return {{signs[0] * near, signs[1] * near, (1 + signs[2] * near) / 2}, 0.5};
    }
    if (family(shape) == CellFamily::prism) {
        WeightedPoint point{stress_point(shape, p % 3), weights[p / 3] / 6};
        point.at[2] = places[p / 3];
        return point;
    }
    WeightedPoint point{{}, 1};
    for (int i = 0; i < dimensions(shape); ++i, p /= 3) {
        point.at[std::size_t(i)] = places[p % 3];
        point.weight *= weights[p % 3];
    }
    return point;
}

/// Point p of a rule; only those of the stiffness and of the centre have weights.
inline WeightedPoint rule_point(CellShape shape, Rule rule, int p) {
    if (rule == Rule::centre) return {centre_point(shape), 1};
    if (rule == Rule::corners) return {corner_point(shape, p), 0};
    const int count = point_count(shape, rule);
    if (rule == Rule::stress || count == stress_points(shape).count) {
        return {stress_point(shape, p), reference_volume(shape) / count};
    }
    return gauss_point(shape, p);
}

/// Shape functions of shape S at P points of its reference cell, and the weights of the points.
template <CellShape S, int P>
struct Reference {
    static constexpr int axes = dimensions(S);
    static constexpr int nodes = node_count(S);
    double points[P][3];
    double values[P][nodes];
    double derivatives[P][nodes][axes];
    double weights[P];

    void set(int p, const WeightedPoint& point) {
        weights[p] = point.weight;
        Dual<axes> x[axes];
        for (int i = 0; i < 3; ++i) points[p][i] = point.at[std::size_t(i)];
        for (int i = 0; i < axes; ++i) x[i] = Dual<axes>::variable(i, points[p][i]);
        for (int c = 0; c < nodes; ++c) {
            const Dual<axes> function = shape_function<S>(c, x);
            values[p][c] = function.value;
            for (int i = 0; i < axes; ++i) derivatives[p][c][i] = function.slopes[i];
        }
    }
};

template <CellShape S, Rule rule = Rule::stiffness>
inline const Reference<S, point_count(S, rule)>& reference_points() {
    static const auto reference = [] {
        Reference<S, point_count(S, rule)> made;
        for (int p = 0; p < point_count(S, rule); ++p) made.set(p, rule_point(S, rule, p));
        return made;
    }();
    return reference;
}

/// Values at the nodes of a cell of the function that is linear along edges and has given values at
/// the stress points: node n has the sum over the points p of weights[n][p] times their values.
template <CellShape S>
struct Extrapolation {
    static constexpr int points = point_count(S, Rule::stress);
    double weights[node_count(S)][points];

    Extrapolation() {
        constexpr CellShape linear = first_order(S);
        const auto [count, scale] = stress_points(S);
        const ReferencePoint centre = centre_point(S);
        for (int n = 0; n < node_count(S); ++n) {
            ReferencePoint at = node_point(S, n);
            for (int i = 0; i < dimensions(S) && count > 1; ++i) {
                const auto k = std::size_t(i);
                at[k] = centre[k] + (at[k] - centre[k]) / scale[k];
            }
            Dual<1> x[3];
            for (int i = 0; i < 3; ++i) x[i].value = at[std::size_t(i)];
            for (int p = 0; p < points; ++p) {
                weights[n][p] = count == 1 ? 1 : shape_function<linear>(p, x).value;
            }
        }
    }
};

}  // namespace tessera::elasticity
