#include <cmath>

#include "problems/generators.hpp"
#include "problems/grid.hpp"

namespace tessera::problems {

namespace {

constexpr double young_modulus = 1;
constexpr double poisson_ratio = 0.3;

/// The stiffness of one element, a square (2 dimensions) or cube (3) of the given side with
/// bilinear or trilinear shape functions N_a:
///   K(a,i; b,j) = lambda I(i,j) + mu I(j,i) + delta_ij mu sum_k I(k,k),
///   I(i,j) = integral over the element of (dN_a / dx_i) (dN_b / dx_j).
/// lambda is E nu / ((1 + nu)(1 - 2 nu)), in plane stress E nu / (1 - nu^2); mu = E / (2 (1 + nu)).
/// I is a product of one-axis integrals of polynomials of degree at most 2, which the two Gauss
/// points an axis of the usual quadrature integrate exactly; they are written in closed form here.
/// Corners are three bits, the last axis lowest; component i acts along axis 3 - dimensions + i.
class ElementStiffness {
  public:
    ElementStiffness(int dimensions, double side)
        : first_axis_(3 - dimensions),
          lambda_(young_modulus * poisson_ratio /
                  (dimensions == 2 ? 1 - poisson_ratio * poisson_ratio
                                   : (1 + poisson_ratio) * (1 - 2 * poisson_ratio))),
          mu_(young_modulus / (2 * (1 + poisson_ratio))),
          scale_(dimensions == 2 ? 1 : side) {}

    /// K(a,i; b,j). Equal to K(b,j; a,i) in every bit: the same products are summed in one order.
    double operator()(int a, int i, int b, int j) const {
        double sum = lambda_ * integral(a, i, b, j) + mu_ * integral(a, j, b, i);
        if (i == j) {
            double laplacian = 0;
            for (int k = 0; k < 3 - first_axis_; ++k) laplacian += integral(a, k, b, k);
            sum += mu_ * laplacian;
        }
        return scale_ * sum;
    }

  private:
    /// I(i,j) on the element of side 1; the side enters through its power dimensions - 2.
    double integral(int a, int i, int b, int j) const {
        double product = 1;
        for (int axis = first_axis_; axis < 3; ++axis) {
            const bool a_upper = (a >> (2 - axis)) & 1;
            const bool b_upper = (b >> (2 - axis)) & 1;
            const bool a_derived = axis == first_axis_ + i;
            const bool b_derived = axis == first_axis_ + j;
            if (a_derived && b_derived) {
                product *= a_upper == b_upper ? 1 : -1;
            } else if (a_derived) {
                product *= a_upper ? 0.5 : -0.5;
            } else if (b_derived) {
                product *= b_upper ? 0.5 : -0.5;
            } else {
                product *= a_upper == b_upper ? 1. / 3 : 1. / 6;
            }
        }
        return product;
    }

    int first_axis_;
    double lambda_;
    double mu_;
    double scale_;
};

/// Three small integers, one an axis.
using Step = std::array<int, 3>;

/// All steps in lower..upper, the last axis fastest.
std::vector<Step> steps(const Step& lower, const Step& upper) {
    std::vector<Step> all;
    for (int x = lower[0]; x <= upper[0]; ++x) {
        for (int y = lower[1]; y <= upper[1]; ++y) {
            for (int z = lower[2]; z <= upper[2]; ++z) all.push_back({x, y, z});
        }
    }
    return all;
}

/// The corner of the element at `element` (of its lowest corner) that is at `point`, or -1.
int corner(const Step& element, const Step& point) {
    int bits = 0;
    for (int axis = 0; axis < 3; ++axis) {
        const int bit = point[axis] - element[axis];
        if (bit != 0 && bit != 1) return -1;
        bits = 2 * bits + bit;
    }
    return bits;
}

/// The rows of a node: its couplings to the up to 3^dimensions nodes it shares an element with,
/// each the sum over the shared elements in ascending order (the same order as seen from the other
/// node: the matrix is symmetric in every bit). A clamped low side of the first axis has elements
/// there, but no nodes.
template <class T>
PointRows<T> node_rows(const Grid& grid, const Places& places, int dimensions, bool clamped,
                       const ElementStiffness& stiffness) {
    Step node_lower{}, node_upper{}, element_lower{}, element_upper{};
    for (int axis = 3 - dimensions; axis < 3; ++axis) {
        const bool before = has_before(places[axis]);
        node_lower[axis] = before ? -1 : 0;
        node_upper[axis] = has_after(places[axis]) ? 1 : 0;
        element_lower[axis] = before || (clamped && axis == 3 - dimensions) ? -1 : 0;
        element_upper[axis] = has_after(places[axis]) ? 0 : -1;
    }
    const std::vector<Step> neighbours = steps(node_lower, node_upper);
    const std::vector<Step> elements = steps(element_lower, element_upper);
    const std::array<Index, 3> strides = grid.strides();
    const std::size_t length = neighbours.size() * dimensions;
    PointRows<T> rows;
    rows.values.resize(length * dimensions);
    for (const Step& to : neighbours) {
        const std::size_t column = rows.columns.size();
        for (int j = 0; j < dimensions; ++j) {
            rows.columns.push_back(to[0] * strides[0] + to[1] * strides[1] + to[2] * strides[2] +
                                   j);
        }
        for (int i = 0; i < dimensions; ++i) {
            for (int j = 0; j < dimensions; ++j) {
                double sum = 0;
                for (const Step& element : elements) {
                    const int a = corner(element, {0, 0, 0});
                    const int b = corner(element, to);
                    if (b >= 0) sum += stiffness(a, i, b, j);
                }
                rows.values[i * length + column + j] = T(sum);
            }
        }
    }
    return rows;
}

/// The consistent nodal loads of the traction (0, -1, 0) on the side x = 1: the integral of each
/// shape function over the side, a product of h (inside) or h / 2 (ends) over the other axes.
template <class T>
std::vector<T> side_load(const Grid& grid, int dimensions, double side) {
    std::vector<T> load(std::size_t(grid.point_count()) * dimensions, T(0));
    const std::size_t side_points = std::size_t(grid.point_count()) / grid.points[3 - dimensions];
    const std::size_t first = std::size_t(grid.point_count()) - side_points;
    for (std::size_t k = 0; k < side_points; ++k) {
        double weight = 1;
        std::size_t rest = k;
        for (int axis = 2; axis > 3 - dimensions; --axis) {
            const Index point = Index(rest % grid.points[axis]);
            rest /= grid.points[axis];
            weight *= grid.place(axis, point) == Place::inside ? side : side / 2;
        }
        load[(first + k) * dimensions + 1] = T(-weight);
    }
    return load;
}

}  // namespace

template <class T>
Problem<T> elasticity(const Context& cpu, Spec& spec, int dimensions) {
    const Index size =
        required_size(spec, dimensions == 2 ? "elasticity2d:100" : "elasticity3d:20");
    const bool free = spec.flag("free");
    const GridChoice choice = grid_choice(spec, dimensions, true);
    spec.finish();
    const double first_axis = double(size) + (free ? 1 : 0);
    checked_unknowns(spec, dimensions * first_axis * std::pow(double(size) + 1, dimensions - 1));

    const bool simplices =
        choice.element == CellShape::triangle || choice.element == CellShape::tetrahedron;
    if (simplices || choice.options.jitter > 0 || choice.options.gradings[0] != 1) {
        return unit_elasticity<T>(cpu, choice, size, free);
    }

    Grid grid{{1, 1, 1}, dimensions};
    for (int axis = 3 - dimensions; axis < 3; ++axis) grid.points[axis] = size + 1;
    grid.points[3 - dimensions] = Index(first_axis);
    const double side = 1. / size;
    const ElementStiffness stiffness(dimensions, side);
    Problem<T> problem;
    problem.matrix = assemble<T>(cpu, grid, [&](const Places& places) {
        return node_rows<T>(grid, places, dimensions, !free, stiffness);
    });
    if (!free) problem.load = side_load<T>(grid, dimensions, side);
    problem.known_singular = free;
    problem.natural_block = dimensions;
    return problem;
}

template Problem<float> elasticity<float>(const Context&, Spec&, int);
template Problem<double> elasticity<double>(const Context&, Spec&, int);

}  // namespace tessera::problems
