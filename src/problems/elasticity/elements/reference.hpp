#pragma once

#include <cmath>
#include <type_traits>
#include <vector>

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

/// Points of a cell: those of its stiffness and stresses, with weights; its centre; the corners,
/// where the map of a cell of first order is inverted first (of pyramids those of the base); and
/// those where stresses are most accurate: the centre of cells of first order, in cubes of second
/// order two Gauss points per axis, in prisms those of a triangle times two, in simplices the
/// stiffness points; and points, with weights, for squares of errors of strains, which vanish at
/// the stiffness points of simplices: there those of a simplex of second order or, in one, three
/// Gauss points per axis of a cube whose side x = 1 is collapsed to a corner.
enum class Rule { stiffness, centre, corners, accurate, error };

constexpr int power(int base, int exponent) {
    return exponent == 0 ? 1 : base * power(base, exponent - 1);
}

/// Stiffness points: of cubes two Gauss points per axis, or three in cells of second order; the
/// centre of simplices, or as many points as corners; in prisms those of a triangle of second order
/// times two or three Gauss points along the height; in pyramids two Gauss points per axis.
constexpr int point_count(CellShape shape, Rule rule = Rule::stiffness) {
    const bool pyramid = family(shape) == CellFamily::pyramid, first = is_first_order(shape);
    if (rule == Rule::corners) return pyramid ? 4 : corners(shape);
    if (rule == Rule::centre || (rule == Rule::accurate && first)) return 1;
    if (rule == Rule::accurate && !is_simplex(shape)) return point_count(first_order(shape));
    if (rule == Rule::error && is_simplex(shape)) {
        return first ? corners(shape) : power(3, dimensions(shape));
    }
    switch (family(shape)) {
        case CellFamily::simplex:
            return first ? 1 : corners(shape);
        case CellFamily::prism:
            return first ? 6 : 9;
        case CellFamily::pyramid:
            return 8;
        default:
            return power(first ? 2 : 3, dimensions(shape));
    }
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

/// Point p of a simplex of second order: a corner moved towards the centre.
inline ReferencePoint simplex_point(CellShape shape, int p) {
    const double scale = dimensions(shape) == 2 ? 1. / 2 : std::sqrt(1. / 5);
    ReferencePoint at = corner_point(shape, p);
    const ReferencePoint centre = centre_point(shape);
    for (std::size_t i = 0; i < 3; ++i) at[i] = centre[i] + scale * (at[i] - centre[i]);
    return at;
}

struct LinePoint {
    double at;
    double weight;
};

/// Point p of `count` Gauss points, 2 or 3, on [-1, 1].
inline LinePoint line_point(int count, int p) {
    if (count == 2) return {(2 * p - 1) * std::sqrt(1. / 3), 1};
    return {(p - 1) * std::sqrt(3. / 5), p == 1 ? 8. / 9 : 5. / 9};
}

inline WeightedPoint stiffness_point(CellShape shape, int p) {
    const bool first = is_first_order(shape);
    const int count = point_count(shape), axes = dimensions(shape);
    WeightedPoint point{centre_point(shape), 1};
    switch (family(shape)) {
        case CellFamily::simplex:
            if (!first) point.at = simplex_point(shape, p);
            point.weight = (axes == 2 ? 1. / 2 : 1. / 6) / count;
            break;
        case CellFamily::prism: {
            const int layers = first ? 2 : 3, in_layer = count / layers;
            const auto [z, weight] = line_point(layers, p / in_layer);
            point.at = simplex_point(CellShape::triangle6, p % in_layer);
            point.at[2] = z;
            point.weight = weight / 2 / in_layer;
            break;
        }
        case CellFamily::pyramid:
            for (std::size_t i = 0; i < 3; ++i) {
                const double x = corner_signs[p][i] * std::sqrt(1. / 3);
                point.at[i] = i < 2 ? x : (1 + x) / 2;
            }
            point.weight = 1. / 2;
            break;
        case CellFamily::cube:
            for (int i = 0; i < axes; ++i) {  // Two per axis in the order of the corners.
                const int digit = first ? (corner_signs[p][i] + 1) / 2 : p / power(3, i) % 3;
                const auto [x, weight] = line_point(first ? 2 : 3, digit);
                point.at[std::size_t(i)] = x;
                point.weight *= weight;
            }
            break;
    }
    return point;
}

/// Point p of three per axis of a cube [0, 1]^d that is collapsed to a simplex.
inline WeightedPoint collapsed_point(CellShape shape, int p) {
    WeightedPoint point{{}, 1};
    double rest = 1;  // 1 - the sum of the coordinates before.
    for (int i = 0; i < dimensions(shape); ++i) {
        const auto [x, weight] = line_point(3, p / power(3, i) % 3);
        const double share = (1 + x) / 2;
        point.weight *= weight / 2 * rest;
        point.at[std::size_t(i)] = share * rest;
        rest *= 1 - share;
    }
    return point;
}

/// Point p of a rule; corners have no weights.
inline WeightedPoint rule_point(CellShape shape, Rule rule, int p) {
    if (rule == Rule::centre) return {centre_point(shape), 1};
    if (rule == Rule::corners) return {corner_point(shape, p), 0};
    if (rule == Rule::accurate) {
        if (is_first_order(shape)) return {centre_point(shape), 0};
        return stiffness_point(is_simplex(shape) ? shape : first_order(shape), p);
    }
    if (rule == Rule::error && is_simplex(shape)) {
        if (!is_first_order(shape)) return collapsed_point(shape, p);
        return {simplex_point(shape, p), stiffness_point(shape, 0).weight / corners(shape)};
    }
    return stiffness_point(shape, p);
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

/// The functions that a cell's stresses are fitted by: its shape functions where it is a cube;
/// linear functions in simplices of second order; in prisms linear ones of a triangle times linear
/// ones of the height; otherwise a constant.
template <CellShape S>
std::vector<double> stress_functions(const ReferencePoint& at) {
    std::vector<double> values;
    if constexpr (family(S) == CellFamily::cube) {
        for (int n = 0; n < node_count(S); ++n) {
            Dual<1> x[3]{{at[0]}, {at[1]}, {at[2]}};
            values.push_back(shape_function<S>(n, x).value);
        }
    } else if constexpr (family(S) == CellFamily::prism) {
        const double triangle[] = {1, at[0], at[1]};
        for (int k = 0; k < 6; ++k) values.push_back(triangle[k % 3] * (k < 3 ? 1 : at[2]));
    } else {
        values.push_back(1);
        const bool linear = is_simplex(S) && !is_first_order(S);
        for (int i = 0; i < dimensions(S) && linear; ++i) {
            values.push_back(at[std::size_t(i)]);
        }
    }
    return values;
}

/// Values at the nodes of a cell of the least-squares fit of given values at the stiffness points:
/// node n has the sum over the points p of weights[n][p] times their values.
template <CellShape S>
struct Extrapolation {
    static constexpr int points = point_count(S);
    double weights[node_count(S)][points]{};

    Extrapolation() {
        std::vector<std::vector<double>> functions;
        for (int p = 0; p < points; ++p) {
            functions.push_back(stress_functions<S>(stiffness_point(S, p).at));
        }
        // The normal equations, and as right-hand sides the functions at the points.
        const std::size_t n = functions[0].size();
        std::vector<std::vector<double>> a(n, std::vector<double>(n + points, 0));
        for (std::size_t i = 0; i < n; ++i) {
            for (int p = 0; p < points; ++p) {
                for (std::size_t j = 0; j < n; ++j) a[i][j] += functions[p][i] * functions[p][j];
                a[i][n + p] = functions[p][i];
            }
        }
        for (std::size_t k = 0; k < n; ++k) {  // Gauss-Jordan: positive definite.
            const double pivot = a[k][k];
            for (double& entry : a[k]) entry /= pivot;
            for (std::size_t i = 0; i < n; ++i) {
                const double factor = a[i][k];
                for (std::size_t j = k; j < a[i].size() && i != k; ++j) a[i][j] -= factor * a[k][j];
            }
        }
        for (int node = 0; node < node_count(S); ++node) {
            const std::vector<double> at_node = stress_functions<S>(node_point(S, node));
            for (int p = 0; p < points; ++p) {
                for (std::size_t k = 0; k < n; ++k) weights[node][p] += at_node[k] * a[k][n + p];
            }
        }
    }
};

}  // namespace tessera::elasticity
