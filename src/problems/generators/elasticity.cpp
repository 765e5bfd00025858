#include <array>

#include "problems/generators/generators.hpp"
#include "tessera/elasticity.hpp"

namespace tessera::problems {

namespace {

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
          lambda_(young * poisson /
                  (dimensions == 2 ? 1 - poisson * poisson : (1 + poisson) * (1 - 2 * poisson))),
          mu_(young / (2 * (1 + poisson))),
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
    static constexpr double young = 1;
    static constexpr double poisson = 0.3;
    /// Integrals over [0, 1] of the products of the shape functions of two corners: whether each is
    /// derived, then whether each corner is the upper one.
    static constexpr double one_axis[2][2][2][2] = {
        {{{1. / 3, 1. / 6}, {1. / 6, 1. / 3}}, {{-0.5, 0.5}, {-0.5, 0.5}}},
        {{{-0.5, -0.5}, {0.5, 0.5}}, {{1, -1}, {-1, 1}}}};

    /// I(i,j) on the element of side 1; the side enters through its power dimensions - 2.
    double integral(int a, int i, int b, int j) const {
        double product = 1;
        for (int axis = first_axis_; axis < 3; ++axis) {
            product *= one_axis[axis == first_axis_ + i][axis == first_axis_ + j]
                               [(a >> (2 - axis)) & 1][(b >> (2 - axis)) & 1];
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

/// Nodes of a grid, `unknowns` at each; the last axis is numbered fastest, the unknowns of a node
/// follow each other. Two dimensions leave the first axis with one node.
struct NodeGrid {
    Step nodes{1, 1, 1};
    int unknowns;

    Index node_count() const { return nodes[0] * nodes[1] * nodes[2]; }
    Step place(Index node) const {
        return {node / nodes[2] / nodes[1], node / nodes[2] % nodes[1], node % nodes[2]};
    }
    bool has_before(const Step& place, int axis) const { return place[axis] > 0; }
    bool has_after(const Step& place, int axis) const { return place[axis] + 1 < nodes[axis]; }
    /// 0..63, equal for places with neighbours in the same directions.
    std::size_t kind(const Step& place) const {
        std::size_t bits = 0;
        for (int axis = 0; axis < 3; ++axis) {
            bits = 4 * bits + (has_before(place, axis) ? 2 : 0) + (has_after(place, axis) ? 1 : 0);
        }
        return bits;
    }
};

/// The rows of one kind of node.
struct NodeRows {
    std::vector<Index> columns;  ///< Relative to the first unknown of the node, ascending.
    std::vector<double> values;  ///< columns.size() values for each unknown of the node.
};

/// The couplings of a node to the up to 3^dimensions nodes it shares an element with, each the sum
/// over the shared elements in ascending order (the same order as seen from the other node: the
/// matrix is symmetric in every bit). A clamped low side of the first axis has elements there, but
/// no nodes.
NodeRows node_rows(const NodeGrid& grid, const Step& place, bool clamped,
                   const ElementStiffness& stiffness) {
    const int dimensions = grid.unknowns;
    Step node_lower{}, node_upper{}, element_lower{}, element_upper{};
    for (int axis = 3 - dimensions; axis < 3; ++axis) {
        const bool before = grid.has_before(place, axis);
        node_lower[axis] = before ? -1 : 0;
        node_upper[axis] = grid.has_after(place, axis) ? 1 : 0;
        element_lower[axis] = before || (clamped && axis == 3 - dimensions) ? -1 : 0;
        element_upper[axis] = grid.has_after(place, axis) ? 0 : -1;
    }
    const std::vector<Step> neighbours = steps(node_lower, node_upper);
    const std::vector<Step> elements = steps(element_lower, element_upper);
    const std::size_t length = neighbours.size() * dimensions;
    NodeRows rows;
    rows.values.resize(length * dimensions);
    for (const Step& to : neighbours) {
        const std::size_t column = rows.columns.size();
        const Index distance = (to[0] * grid.nodes[1] + to[1]) * grid.nodes[2] + to[2];
        for (int j = 0; j < dimensions; ++j) rows.columns.push_back(distance * dimensions + j);
        for (int i = 0; i < dimensions; ++i) {
            for (int j = 0; j < dimensions; ++j) {
                double sum = 0;
                for (const Step& element : elements) {
                    const int a = corner(element, {0, 0, 0});
                    const int b = corner(element, to);
                    if (b >= 0) sum += stiffness(a, i, b, j);
                }
                rows.values[i * length + column + j] = sum;
            }
        }
    }
    return rows;
}

/// The matrix on a grid of square or cubic elements.
Problem<double> assemble_grid(const Context& cpu, const NodeGrid& grid, bool clamped,
                              const ElementStiffness& stiffness) {
    std::array<NodeRows, 64> rows_of_kind;
    for (const Step& at : steps({0, 0, 0}, {2, 2, 2})) {  // the first, second and last of each axis
        Step place;
        for (int axis = 0; axis < 3; ++axis) {
            const Index last = grid.nodes[axis] - 1;
            place[axis] = at[axis] == 2 ? last : std::min(at[axis], last);
        }
        rows_of_kind[grid.kind(place)] = node_rows(grid, place, clamped, stiffness);
    }
    return assemble_rows(cpu, grid.node_count() * grid.unknowns, [&](Index i, RowList& row) {
        const Index node = i / grid.unknowns;
        const NodeRows& rows = rows_of_kind[grid.kind(grid.place(node))];
        const std::size_t length = rows.columns.size();
        const double* const values = rows.values.data() + (i - node * grid.unknowns) * length;
        for (std::size_t k = 0; k < length; ++k) {
            row.store(node * grid.unknowns + rows.columns[k], values[k]);
        }
    });
}

/// The consistent nodal loads of the traction (0, -1, 0) on the side x = 1: the integral of each
/// shape function over the side, a product of h (inside) or h / 2 (ends) over the other axes.
std::vector<double> side_load(const NodeGrid& grid, double side) {
    const int x = 3 - grid.unknowns;
    std::vector<double> load(std::size_t(grid.node_count()) * grid.unknowns);
    for (Index node = grid.node_count() / grid.nodes[x] * (grid.nodes[x] - 1);
         node < grid.node_count(); ++node) {
        const Step place = grid.place(node);
        double weight = 1;
        for (int axis = 2; axis > x; --axis) {
            const bool inside = grid.has_before(place, axis) && grid.has_after(place, axis);
            weight *= inside ? side : side / 2;
        }
        load[std::size_t(node) * grid.unknowns + 1] = -weight;
    }
    return load;
}

CellShape read_element(Spec& spec, int dimensions) {
    const std::vector<std::string> words = dimensions == 2
                                               ? std::vector<std::string>{"t3", "q4"}
                                               : std::vector<std::string>{"tet4", "hex8"};
    const bool simplex = spec.word("element", words[1], words) == words[0];
    return dimensions == 2 ? (simplex ? CellShape::triangle : CellShape::quadrilateral)
                           : (simplex ? CellShape::tetrahedron : CellShape::hexahedron);
}

meshes::GridOptions read_grid_options(Spec& spec) {
    // Elements stay a hundredth away from flat.
    constexpr double largest_jitter = 0.99;
    // Of N cells the shortest is at least 1e-6 / N of an axis, 1e5 times what rounding moves its
    // ends for the 32,767 of a square.
    constexpr double largest_grading = 1e6;
    meshes::GridOptions options;
    options.jitter = spec.real("jitter", 0, 0, largest_jitter);
    options.gradings.fill(spec.real("grading", 1, 1 / largest_grading, largest_grading));
    options.seed = seed_of(spec);
    return options;
}

/// `along` cells on the first axis and `size` on the others.
Mesh beam(CellShape element, Index along, Index size, const meshes::GridOptions& options) {
    return dimensions(element) == 2 ? meshes::rectangle(element, along, size, options)
                                    : meshes::box(element, along, size, size, options);
}

Problem<double> assembled(const Context& cpu, const elasticity::Model& model) {
    elasticity::System system = elasticity::assemble(cpu, model);
    Problem<double> problem;
    problem.matrix = std::move(system.matrix);
    if (!model.tractions.empty()) problem.load = std::move(system.load);
    problem.known_singular = system.known_singular;
    problem.natural_block = system.natural_block;
    return problem;
}

/// Clamped on the left and pulled down on the right, or free.
Problem<double> assembled(const Context& cpu, Mesh mesh, bool free) {
    elasticity::Model model;
    model.mesh = std::move(mesh);
    if (!free) {
        model.holds.push_back({"left"});
        model.tractions.push_back({"right", elasticity::constant({0, -1, 0})});
    }
    return assembled(cpu, model);
}

}  // namespace

/// Linear elasticity, E = 1, nu = 0.3, on the unit square (plane stress) of N x N cells or the unit
/// cube of N^3; not scaled. `grading` is the length of the last cell over that of the first along
/// every axis. Unknowns are node-major. The nodes on x = 0 are clamped and left out; the load is
/// that of the traction (0, -1, 0) on x = 1. "free" clamps nothing: singular, no load.
Problem<double> elasticity(const Context& cpu, Spec& spec, Index size) {
    const int dimensions = dimensions_of(spec);
    const bool free = spec.flag("free");
    const CellShape element = read_element(spec, dimensions);
    const meshes::GridOptions options = read_grid_options(spec);
    spec.finish();
    const double first_axis = double(size) + (free ? 1 : 0);
    checked_unknowns(spec, dimensions * first_axis * std::pow(double(size) + 1, dimensions - 1));

    const bool simplices = element == CellShape::triangle || element == CellShape::tetrahedron;
    if (simplices || options.jitter > 0 || options.gradings[0] != 1) {
        return assembled(cpu, beam(element, size, size, options), free);
    }
    NodeGrid grid{.unknowns = dimensions};
    for (int axis = 3 - dimensions; axis < 3; ++axis) grid.nodes[axis] = size + 1;
    grid.nodes[3 - dimensions] = Index(first_axis);
    const double side = 1. / size;
    auto problem = assemble_grid(cpu, grid, !free, ElementStiffness(dimensions, side));
    if (!free) problem.load = side_load(grid, side);
    problem.known_singular = free;
    problem.natural_block = dimensions;
    return problem;
}

/// The same for a beam of N cells on each side of its section, which is 1 wide, and `length` times
/// that along x.
Problem<double> cantilever(const Context& cpu, Spec& spec, Index size) {
    const int dimensions = dimensions_of(spec);
    const double length = double(spec.integer("length", 8, 1, 1000));
    const CellShape element = read_element(spec, dimensions);
    meshes::GridOptions options = read_grid_options(spec);
    spec.finish();
    checked_unknowns(spec,
                     dimensions * (length * size + 1) * std::pow(double(size) + 1, dimensions - 1));
    options.lengths[0] = length;
    return assembled(cpu, beam(element, Index(length) * size, size, options), false);
}

/// A quarter of a plate of width 8 with a hole of radius 1 under the traction (1, 0) on its right
/// side. Nodes on a line of symmetry keep one unknown, so that there is no natural block.
Problem<double> plate_hole(const Context& cpu, Spec& spec, Index size) {
    const CellShape element = read_element(spec, 2);
    spec.finish();
    checked_unknowns(spec, 2 * (double(size) + 1) * (2 * double(size) + 1));
    elasticity::Model model;
    model.mesh = meshes::plate_with_hole(element, size);
    model.holds = {{"left", {true, false, false}}, {"bottom", {false, true, false}}};
    model.tractions.push_back({"right", elasticity::constant({1, 0, 0})});
    return assembled(cpu, model);
}

}  // namespace tessera::problems
