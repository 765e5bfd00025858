#include <array>

#include "problems/generators/generators.hpp"
#include "problems/memory.hpp"
#include "tessera/elasticity.hpp"

namespace tessera::problems {

namespace {

/// The stiffness of one element, a square (2 dimensions) or cube (3) of the given side with
/// bilinear or trilinear shape functions N_a:
///   K(a,i; b,j) = lambda I(i,j) + mu I(j,i) + delta_ij mu sum_k I(k,k),
///   I(i,j) = integral over the element of (dN_a / dx_i) (dN_b / dx_j).
/// lambda is E nu / ((1 + nu)(1 - 2 nu)), in plane stress E nu / (1 - nu^2); mu = E / (2 (1 + nu)).
/// I is a product of one-axis integrals of polynomials of degree at most 2, which the two Gauss
/// points per axis of the usual quadrature integrate exactly; they are written in closed form here.
/// Corners are three bits, the last axis lowest; component i acts along axis 3 - dimensions + i.
using ElementStiffness = double[8][3][8][3];

/// K(a,i; b,j) is bitwise equal to K(b,j; a,i): equal products are summed in one order.
void set_stiffness(int dimensions, double side, double poisson, ElementStiffness& stiffness) {
    constexpr double young = 1;
    const double mu = young / (2 * (1 + poisson));
    const double lambda =
        young * poisson /
        (dimensions == 2 ? 1 - poisson * poisson : (1 + poisson) * (1 - 2 * poisson));
    // Integrals over [0, 1] of the products of the shape functions of two corners: whether each is
    // derived, then whether each corner is the upper one.
    constexpr double one_axis[2][2][2][2] = {
        {{{1. / 3, 1. / 6}, {1. / 6, 1. / 3}}, {{-0.5, 0.5}, {-0.5, 0.5}}},
        {{{-0.5, -0.5}, {0.5, 0.5}}, {{1, -1}, {-1, 1}}}};
    const int first = 3 - dimensions;
    // I(i,j) on the element of side 1; the side enters through its power dimensions - 2.
    const auto integral = [&](int a, int i, int b, int j) {
        double product = 1;
        for (int axis = first; axis < 3; ++axis) {
            product *= one_axis[axis == first + i][axis == first + j][(a >> (2 - axis)) & 1]
                               [(b >> (2 - axis)) & 1];
        }
        return product;
    };
    const int rows = dimensions << dimensions;
    for (int k = 0; k < rows * rows; ++k) {
        const int a = k / rows / dimensions, i = k / rows % dimensions;
        const int b = k % rows / dimensions, j = k % dimensions;
        double sum = lambda * integral(a, i, b, j) + mu * integral(a, j, b, i);
        double laplacian = 0;
        for (int axis = 0; axis < dimensions; ++axis) laplacian += integral(a, axis, b, axis);
        if (i == j) sum += mu * laplacian;
        stiffness[a][i][b][j] = (dimensions == 2 ? 1 : side) * sum;
    }
}

/// Nodes of a grid with `dimensions` unknowns per node; the last axis is numbered fastest, the
/// unknowns of a node follow each other. In two dimensions the first axis has one node.
struct NodeGrid {
    using GridIndex = std::array<Index, 3>;  ///< Indices by axis.

    GridIndex nodes{1, 1, 1};
    int dimensions;
    bool clamped;  ///< The first axis has elements, but no nodes, before its first node.

    Index node_count() const { return nodes[0] * nodes[1] * nodes[2]; }
    GridIndex index_of(Index node) const {
        return {node / nodes[2] / nodes[1], node / nodes[2] % nodes[1], node % nodes[2]};
    }
    bool has_before(const GridIndex& index, int axis) const { return index[axis] > 0; }
    bool has_after(const GridIndex& index, int axis) const { return index[axis] + 1 < nodes[axis]; }
    /// Whether there is an element with the node as this corner.
    bool has_element(const GridIndex& index, int corner) const {
        bool exists = true;
        for (int axis = 3 - dimensions; axis < 3; ++axis) {
            const bool upper = (corner >> (2 - axis)) & 1;
            const bool before = has_before(index, axis) || (clamped && axis == 3 - dimensions);
            exists = exists && (upper ? before : has_after(index, axis));
        }
        return exists;
    }
};

/// The matrix on a grid of square or cubic elements: a node is coupled to the up to 3^dimensions
/// nodes that it shares an element with, each coupling the sum over the shared elements in
/// ascending order (as seen from both nodes: the matrix is bitwise symmetric).
Problem<double> assemble_grid(const Context& cpu, const NodeGrid& grid,
                              const ElementStiffness& stiffness) {
    const int d = grid.dimensions;
    constexpr int neighbour_of_corner[8] = {0, 1, 3, 4, 9, 10, 12, 13};  // Bits as base-3 digits.
    return assemble_rows(cpu, grid.node_count() * d, [&](Index i, RowEntries& row) {
        const Index node = i / d;
        const NodeGrid::GridIndex index = grid.index_of(node);
        double sums[27][3]{};  // By neighbour: a step of -1, 0 or 1 along each axis.
        for (int a = (1 << d) - 1; a >= 0; --a) {
            if (!grid.has_element(index, a)) continue;
            for (int b = 0; b < 1 << d; ++b) {
                double* const sum = sums[13 + neighbour_of_corner[b] - neighbour_of_corner[a]];
                for (int j = 0; j < d; ++j) sum[j] += stiffness[a][i - node * d][b][j];
            }
        }
        for (int k = 0; k < 27; ++k) {
            const int step[] = {k / 9 - 1, k / 3 % 3 - 1, k % 3 - 1};
            bool exists = true;
            for (int axis = 0; axis < 3; ++axis) {
                exists = exists && (step[axis] >= 0 || grid.has_before(index, axis)) &&
                         (step[axis] <= 0 || grid.has_after(index, axis));
            }
            if (!exists) continue;
            const Index other =
                node + (step[0] * grid.nodes[1] + step[1]) * grid.nodes[2] + step[2];
            for (int j = 0; j < d; ++j) row.store(Offset(other) * d + j, sums[k][j]);
        }
    });
}

/// The consistent nodal loads of the traction (0, -1, 0) on the side x = 1: the integral of each
/// shape function over the side, a product of h (inside) or h / 2 (ends) over the other axes.
std::vector<double> side_load(const NodeGrid& grid, double side) {
    const int x = 3 - grid.dimensions;
    std::vector<double> load(std::size_t(grid.node_count()) * grid.dimensions);
    for (Index node = grid.node_count() / grid.nodes[x] * (grid.nodes[x] - 1);
         node < grid.node_count(); ++node) {
        const NodeGrid::GridIndex index = grid.index_of(node);
        double weight = 1;
        for (int axis = 2; axis > x; --axis) {
            const bool inside = grid.has_before(index, axis) && grid.has_after(index, axis);
            weight *= inside ? side : side / 2;
        }
        load[std::size_t(node) * grid.dimensions + 1] = -weight;
    }
    return load;
}

CellShape read_element(Spec& spec, int dimensions) {
    if (dimensions == 2) {
        const bool t3 = spec.word("element", "q4", {"t3", "q4"}) == "t3";
        return t3 ? CellShape::triangle : CellShape::quadrilateral;
    }
    const bool tet4 = spec.word("element", "hex8", {"tet4", "hex8"}) == "tet4";
    return tet4 ? CellShape::tetrahedron : CellShape::hexahedron;
}

/// "X:Y:Z", the edges of a cell in units of those that it has otherwise.
void read_stretch(Spec& spec, std::array<double, 3>& lengths) {
    constexpr double largest_stretch = 1e6;
    const int d = dimensions_of(spec);
    std::string rest = spec.word("stretch", d == 2 ? "1:1" : "1:1:1");
    const auto fail = [&] {
        throw InvalidArgument(
            concat(spec.name(), ": stretch needs ", d,
                   " numbers from 1e-6 to 1e6, for example stretch=", d == 2 ? "1:10" : "1:1:10"));
    };
    for (int axis = 0; axis < d; ++axis) {
        const std::size_t end = rest.find(':');
        double& length = lengths[std::size_t(axis)];
        if ((end == std::string::npos) != (axis == d - 1) ||
            !parse_real(rest.substr(0, end), length).empty() || length < 1 / largest_stretch ||
            length > largest_stretch) {
            fail();
        }
        if (end != std::string::npos) rest.erase(0, end + 1);
    }
}

meshes::GridOptions read_grid_options(Spec& spec) {
    // Largest value that keeps elements a hundredth away from flat.
    constexpr double largest_jitter = 0.99;
    // The shortest of N cells is at least 1e-6 / N of an axis, 1e5 times the rounding errors of its
    // ends for 32,767 cells.
    constexpr double largest_grading = 1e6;
    meshes::GridOptions options;
    options.jitter = spec.real("jitter", 0, 0, largest_jitter);
    options.gradings.fill(spec.real("grading", 1, 1 / largest_grading, largest_grading));
    options.seed = seed_of(spec);
    read_stretch(spec, options.lengths);
    return options;
}

NodeCoordinates grid_coordinates(const NodeGrid& grid, double side) {
    std::vector<double> values;
    for (Index node = 0; node < grid.node_count(); ++node) {
        const NodeGrid::GridIndex index = grid.index_of(node);
        for (int axis = 3 - grid.dimensions; axis < 3; ++axis) {
            const bool shifted = grid.clamped && axis == 3 - grid.dimensions;
            values.push_back(side * (index[axis] + (shifted ? 1 : 0)));
        }
    }
    return {grid.dimensions, std::move(values)};
}

/// What a body of E = 1 is made of.
struct BodyMaterial {
    double poisson_ratio = 0.3;
    double contrast = 1;  ///< E of the half with the larger x.
};

BodyMaterial read_material(Spec& spec) {
    constexpr double largest_poisson_ratio =
        0.4999;  // lambda of a solid grows like 1 / (1/2 - nu).
    constexpr double largest_contrast = 1e12;
    BodyMaterial material;
    material.poisson_ratio = spec.real("poisson", 0.3, -0.99, largest_poisson_ratio);
    material.contrast = spec.real("contrast", 1, 1 / largest_contrast, largest_contrast);
    return material;
}

/// Throws unless there is memory for the system on a structured mesh of `nodes` nodes and `cells`
/// cells, of which `unknowns` are left. With `has_mesh` the mesh is stored, too.
void check_memory(const Spec& spec, CellShape element, double unknowns, double nodes, double cells,
                  bool has_mesh) {
    const bool is_simplex = element == CellShape::triangle || element == CellShape::tetrahedron;
    const int d = dimensions(element);
    // Nodes that a node shares elements with, itself among them.
    const double coupled = is_simplex ? (d == 2 ? 7 : 15) : std::pow(3, d);
    if (is_simplex) cells *= d == 2 ? 2 : 6;
    checked_unknown_count(
        spec, unknowns, unknowns * d * coupled,
        has_mesh ? mesh_bytes(element, nodes, cells) +
                       assembly_bytes(d, nodes, cells * corners(element),
                                      cells * corners(element) * neighbours_per_place(element))
                 : 0);
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
    problem.coordinates = system.coordinates(model.mesh);
    return problem;
}

/// The regions "near" and "far" of elements whose mean x is at most half of the largest, or not.
void set_halves(Mesh& mesh) {
    const int d = mesh.dimensions;
    const auto x_of = [&](Index node) { return mesh.points[std::size_t(node) * std::size_t(d)]; };
    double largest = 0;
    for (Index node = 0; node < mesh.node_count(); ++node) largest = std::max(largest, x_of(node));
    mesh.region_names = {"near", "far"};
    for (const Cells& cells : mesh.elements) {
        const auto each = std::size_t(corners(cells.shape));
        for (std::size_t first = 0; first < cells.nodes.size(); first += each) {
            double sum = 0;
            for (std::size_t k = 0; k < each; ++k) sum += x_of(cells.nodes[first + k]);
            const double middle = double(each) * largest / 2 * (1 + 1e-12);
            mesh.regions.push_back(sum <= middle ? 0 : 1);
        }
    }
}

/// Clamped on the left and pulled down on the right, or free.
Problem<double> assembled(const Context& cpu, Mesh mesh, const BodyMaterial& material, bool free) {
    elasticity::Model model;
    model.formulation = elasticity::Formulation::full_integration;
    model.mesh = std::move(mesh);
    model.material.poisson_ratio = material.poisson_ratio;
    if (material.contrast != 1) {
        set_halves(model.mesh);
        model.materials["near"] = model.materials["far"] = model.material;
        model.materials["far"].young_modulus = material.contrast;
    }
    if (!free) {
        model.fixed_supports.push_back({"left"});
        model.tractions.push_back({"right", elasticity::constant({0, -1, 0})});
    }
    return assembled(cpu, model);
}

}  // namespace

/// Linear elasticity, E = 1, nu = `poisson`, on the unit square (plane stress) of N x N cells or
/// the unit cube of N^3, axes multiplied by `stretch`; not scaled. E = `contrast` in the half with
/// the larger x. `grading` is the length of the last cell over that of the first along every axis.
/// Unknowns are node-major. The nodes on x = 0 are clamped and left out; the load is
/// that of the traction (0, -1, 0) on x = 1. "free" clamps nothing: singular, no load.
Problem<double> elasticity(const Context& cpu, Spec& spec, Index size) {
    const int dimensions = dimensions_of(spec);
    const bool free = spec.flag("free");
    const CellShape element = read_element(spec, dimensions);
    const meshes::GridOptions options = read_grid_options(spec);
    const BodyMaterial material = read_material(spec);
    spec.finish();
    const double first_axis = double(size) + (free ? 1 : 0);
    const bool simplices = element == CellShape::triangle || element == CellShape::tetrahedron;
    const bool has_mesh = simplices || options.jitter > 0 || options.gradings[0] != 1 ||
                          material.contrast != 1 ||
                          options.lengths != meshes::GridOptions().lengths;
    check_memory(
        spec, element, dimensions * first_axis * std::pow(double(size) + 1, dimensions - 1),
        std::pow(double(size) + 1, dimensions), std::pow(double(size), dimensions), has_mesh);
    if (has_mesh) {
        return assembled(cpu, beam(element, size, size, options), material, free);
    }
    NodeGrid grid{.dimensions = dimensions, .clamped = !free};
    for (int axis = 3 - dimensions; axis < 3; ++axis) grid.nodes[axis] = size + 1;
    grid.nodes[3 - dimensions] = Index(first_axis);
    const double side = 1. / size;
    ElementStiffness stiffness;
    set_stiffness(dimensions, side, material.poisson_ratio, stiffness);
    auto problem = assemble_grid(cpu, grid, stiffness);
    if (!free) problem.load = side_load(grid, side);
    problem.known_singular = free;
    problem.natural_block = dimensions;
    problem.coordinates = grid_coordinates(grid, side);
    return problem;
}

/// Elasticity of a beam of N cells on each side of its section, which is 1 wide, and `length` times
/// that along x.
Problem<double> cantilever(const Context& cpu, Spec& spec, Index size) {
    const int dimensions = dimensions_of(spec);
    const double length = double(spec.integer("length", 8, 1, 1000));
    const CellShape element = read_element(spec, dimensions);
    meshes::GridOptions options = read_grid_options(spec);
    const BodyMaterial material = read_material(spec);
    spec.finish();
    const double nodes = (length * size + 1) * std::pow(double(size) + 1, dimensions - 1);
    check_memory(spec, element, dimensions * nodes, nodes,
                 length * std::pow(double(size), dimensions), true);
    options.lengths[0] *= length;
    return assembled(cpu, beam(element, Index(length) * size, size, options), material, false);
}

/// A quarter of a plate of width 8 with a hole of radius 1 under the traction (1, 0) on its right
/// side. Nodes on a line of symmetry have one unknown, so there is no natural block.
Problem<double> plate_hole(const Context& cpu, Spec& spec, Index size) {
    const CellShape element = read_element(spec, 2);
    spec.finish();
    const double nodes = (double(size) + 1) * (2 * double(size) + 1);
    check_memory(spec, element, 2 * nodes, nodes, 2 * double(size) * double(size), true);
    elasticity::Model model;
    model.formulation = elasticity::Formulation::full_integration;
    model.mesh = meshes::plate_with_hole(element, size);
    model.fixed_supports = {{"left", {true, false, false}}, {"bottom", {false, true, false}}};
    model.tractions.push_back({"right", elasticity::constant({1, 0, 0})});
    return assembled(cpu, model);
}

}  // namespace tessera::problems
