#include "tessera/mesh.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "base/concat.hpp"
#include "base/philox.hpp"
#include "problems/memory.hpp"
#include "problems/unknown_name.hpp"
#include "tessera/detail/cells.hpp"

namespace tessera {

const char* to_string(CellShape shape) {
    constexpr const char* names[] = {
        "point",         "segment",    "triangle",       "quadrilateral",
        "tetrahedron",   "hexahedron", "prism",          "pyramid",
        "segment3",      "triangle6",  "quadrilateral8", "quadrilateral9",
        "tetrahedron10", "prism15",    "hexahedron20",   "hexahedron27"};
    return names[int(shape)];
}

Index Mesh::element_count() const {
    Index count = 0;
    for (const Cells& cells : elements)
        count += Index(cells.nodes.size() / std::size_t(tessera::node_count(cells.shape)));
    return count;
}

const MeshGroup& Mesh::group(const std::string& name) const {
    std::vector<std::string> names;
    for (const MeshGroup& group : groups) {
        if (group.name == name) return group;
        names.push_back(group.name);
    }
    if (std::ranges::find(empty_groups, name) != empty_groups.end()) {
        throw InvalidArgument(concat(
            "the group '", name,
            "' of the mesh has no elements: the file names it, but gives no "
            "element its tag (Gmsh's option Mesh.SaveAll = 1 leaves the tags out: set it to 0)"));
    }
    const bool is_region = std::ranges::find(region_names, name) != region_names.end();
    throw InvalidArgument(is_region
                              ? concat("'", name, "' is a region of elements, not a group of points, ",
                                       dimensions == 2 ? "edges" : "edges or faces",
                                       "; the groups are ", list_of(names))
                              : concat("the mesh has no group ", unknown_name(name, names)));
}

namespace {

/// Throws InvalidArgument if a node of an element does not exist or is repeated.
void check_nodes(std::span<const Index> nodes, Index node_count, Index element, CellShape shape) {
    for (std::size_t c = 0; c < nodes.size(); ++c) {
        require(nodes[c] >= 0 && nodes[c] < node_count, "element ", element, " (", to_string(shape),
                ") names node ", nodes[c], "; the mesh has ", node_count, " nodes, counted from 0");
        require(std::ranges::count(nodes.first(c), nodes[c]) == 0, "element ", element, " (",
                to_string(shape), ") names node ", nodes[c], " twice");
    }
}

}  // namespace

void validate(const Mesh& mesh) {
    const int d = mesh.dimensions;
    require(d == 2 || d == 3, "a mesh has 2 or 3 dimensions, this one ", d);
    require(mesh.points.size() % std::size_t(d) == 0, "the mesh has ", mesh.points.size(),
            " coordinates, not a multiple of ", d);
    require(mesh.points.size() / std::size_t(d) <= std::size_t(std::numeric_limits<Index>::max()),
            "a mesh has at most 2^31 - 1 nodes");
    Offset count = 0;
    for (const Cells& cells : mesh.elements) {
        const std::size_t size = std::size_t(node_count(cells.shape));
        require(dimensions(cells.shape) == d, "a mesh of ", d,
                " dimensions has no elements of shape ", to_string(cells.shape));
        require(cells.nodes.size() % size == 0, "elements of shape ", to_string(cells.shape),
                " name ", cells.nodes.size(), " nodes, not a multiple of ", size);
        for (std::size_t at = 0; at < cells.nodes.size(); at += size, ++count) {
            check_nodes(std::span(cells.nodes).subspan(at, size), mesh.node_count(), Index(count),
                        cells.shape);
        }
        require(count <= std::numeric_limits<Index>::max(), "a mesh has at most 2^31 - 1 elements");
    }
    require(mesh.regions.empty() || Offset(mesh.regions.size()) == count,
            "the mesh gives regions for ", mesh.regions.size(), " elements and has ", count);
}

}  // namespace tessera

namespace tessera::meshes {

namespace {

using GridIndex = std::array<Index, 3>;  ///< Index of a node or cell by axis.

/// Elements and boundary faces of a grid of cells; sides by axis, the lower one first.
class GridTopology {
  public:
    GridTopology(CellShape shape, int dimensions, const GridIndex& cells)
        : shape_(shape), dimensions_(dimensions), cells_(cells) {
        double nodes = 1;
        double count = 1;
        for (int axis = 0; axis < dimensions; ++axis) {
            require(cells[axis] >= 1, "a structured mesh has at least one cell on each axis");
            nodes *= double(cells[axis]) + 1;
            count *= double(cells[axis]);
        }
        const bool known = shape == CellShape::triangle || shape == CellShape::quadrilateral ||
                           shape == CellShape::tetrahedron || shape == CellShape::hexahedron;
        require(known && tessera::dimensions(shape) == dimensions,
                dimensions == 2 ? "a plane mesh is of triangles or quadrilaterals"
                                : "a box is of tetrahedra or hexahedra");
        if (shape == CellShape::triangle) count *= 2;
        if (shape == CellShape::tetrahedron) count *= 6;
        require(std::max(nodes, count) <= double(std::numeric_limits<Index>::max()),
                "the mesh has more than 2^31 - 1 nodes or elements; use a smaller size");
        require_host_memory(concat("a mesh of ", Index(count), " elements"),
                            problems::mesh_bytes(shape, nodes, count));
    }

    Index node(const GridIndex& index) const {
        Index number = 0;
        for (int axis = 0; axis < dimensions_; ++axis) {
            number = number * (cells_[axis] + 1) + index[axis];
        }
        return number;
    }
    GridIndex index_of(Index node) const {
        GridIndex index{};
        for (int axis = dimensions_ - 1; axis >= 0; --axis) {
            index[axis] = node % (cells_[axis] + 1);
            node /= cells_[axis] + 1;
        }
        return index;
    }

    /// The elements, and in `sides` the faces on each side.
    Cells elements(std::array<Cells, 6>& sides) const {
        Cells all{shape_, {}};
        for (Cells& side : sides) side.shape = face_shape(shape_, 0);
        GridIndex cell{};
        const Index depth = dimensions_ == 3 ? cells_[2] : 1;
        for (cell[0] = 0; cell[0] < cells_[0]; ++cell[0]) {
            for (cell[1] = 0; cell[1] < cells_[1]; ++cell[1]) {
                for (cell[2] = 0; cell[2] < depth; ++cell[2]) {
                    const std::size_t first = all.nodes.size();
                    add_cell(cell, all.nodes);
                    add_sides(cell, std::span<const Index>(all.nodes).subspan(first), sides);
                }
            }
        }
        return all;
    }

  private:
    void add_cell(const GridIndex& cell, std::vector<Index>& nodes) const {
        if (shape_ == CellShape::triangle || shape_ == CellShape::tetrahedron) {
            add_simplices(cell, nodes);
            return;
        }
        constexpr Index steps[8][3] = {{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {0, 1, 0},
                                       {0, 0, 1}, {1, 0, 1}, {1, 1, 1}, {0, 1, 1}};
        for (int c = 0; c < corners(shape_); ++c) {
            nodes.push_back(
                node({cell[0] + steps[c][0], cell[1] + steps[c][1], cell[2] + steps[c][2]}));
        }
    }

    /// Kuhn's simplices: one for each order of the axes, along which a path leads from the corner
    /// of even indices to the opposite one.
    void add_simplices(const GridIndex& cell, std::vector<Index>& nodes) const {
        std::array<int, 3> order{0, 1, 2};
        do {
            GridIndex index{};
            bool negative = false;
            for (int axis = 0; axis < dimensions_; ++axis) {
                index[axis] = cell[axis] + (cell[axis] & 1);
                negative ^= bool(cell[axis] & 1);  // a mirrored axis inverts the simplex
                for (int k = 0; k < axis; ++k) negative ^= order[k] > order[axis];
            }
            const std::size_t first = nodes.size();
            nodes.push_back(node(index));
            for (int k = 0; k < dimensions_; ++k) {
                const int axis = order[k];
                index[axis] = 2 * cell[axis] + 1 - index[axis];
                nodes.push_back(node(index));
            }
            if (negative) std::swap(nodes[first + dimensions_ - 1], nodes[first + dimensions_]);
        } while (std::next_permutation(order.begin(), order.begin() + dimensions_));
    }

    void add_sides(const GridIndex& cell, std::span<const Index> nodes,
                   std::array<Cells, 6>& sides) const {
        const int face_corners = corners(face_shape(shape_, 0));
        for (int side = 0; side < 2 * dimensions_; ++side) {
            const int axis = side / 2;
            const Index plane = side % 2 == 1 ? cells_[axis] : 0;
            if (cell[axis] != std::min(plane, cells_[axis] - 1)) continue;
            for (std::size_t element = 0; element < nodes.size(); element += corners(shape_)) {
                for (int face = 0; face < face_count(shape_); ++face) {
                    Index face_nodes[4];
                    bool outside = true;
                    for (int k = 0; k < face_corners; ++k) {
                        face_nodes[k] = nodes[element + face_corner(shape_, face, k)];
                        outside = outside && index_of(face_nodes[k])[axis] == plane;
                    }
                    if (!outside) continue;
                    sides[side].nodes.insert(sides[side].nodes.end(), face_nodes,
                                             face_nodes + face_corners);
                }
            }
        }
    }

    CellShape shape_;
    int dimensions_;
    GridIndex cells_;
};

/// n + 1 points from 0 to length, the last cell `grading` times as long as the first.
std::vector<double> graded_axis(Index n, double length, double grading) {
    require(length > 0 && std::isfinite(length), "lengths of a mesh are positive");
    require(grading > 0 && std::isfinite(grading), "gradings of a mesh are positive");
    std::vector<double> points(std::size_t(n) + 1);
    const double ratio = n > 1 ? std::pow(grading, 1. / (n - 1)) : 1;
    double coordinate = 0;
    double cell = 1;
    for (Index k = 0; k <= n; ++k, coordinate += cell, cell *= ratio) {
        points[k] = ratio == 1 ? double(k) : coordinate;
    }
    const double all = points[n];
    for (double& point : points) point = ratio == 1 ? point * (length / all) : point / all * length;
    points[n] = length;
    return points;
}

/// Graded coordinates, jittered by at most b = jitter / (2 d) of the shorter neighbouring cell:
/// then every Jacobian is, in units of the cells' lengths and up to permutation, I + F with |F_ij|
/// <= 2 b, which is diagonally dominant for b < 1 / (2 d). Kuhn's simplices have edges of the
/// cells, so this holds for them, too.
void set_points(const GridTopology& topology, const std::array<std::vector<double>, 3>& axes,
                const GridOptions& options, Mesh& mesh) {
    require(options.jitter >= 0 && options.jitter < 1, "the jitter of a mesh is in [0, 1)");
    const int d = mesh.dimensions;
    const double bound = options.jitter / (2 * d);
    for (std::size_t k = 0; k < mesh.points.size(); k += d) {
        const Index node = Index(k / d);
        const GridIndex index = topology.index_of(node);
        bool inside = true;
        for (int axis = 0; axis < d; ++axis) {
            mesh.points[k + axis] = axes[axis][index[axis]];
            inside = inside && index[axis] > 0 && index[axis] + 1 < Index(axes[axis].size());
        }
        if (!inside || bound == 0) continue;
        for (int axis = 0; axis < d; ++axis) {
            const philox::Words random =
                philox::words(options.seed, std::uint64_t(node), std::uint64_t(axis));
            const double move =
                2 * philox::unit_interval<double>(random.words[0], random.words[1]) - 1;
            const double* x = axes[axis].data() + index[axis];
            mesh.points[k + axis] += bound * move * std::min(x[1] - x[0], x[0] - x[-1]);
        }
    }
}

Mesh grid_mesh(CellShape element, int dimensions, const GridIndex& cells,
               const GridOptions& options) {
    const GridTopology topology(element, dimensions, cells);
    Mesh mesh;
    mesh.dimensions = dimensions;
    std::array<std::vector<double>, 3> axes;
    std::size_t nodes = 1;
    for (int axis = 0; axis < dimensions; ++axis) {
        axes[axis] = graded_axis(cells[axis], options.lengths[axis], options.gradings[axis]);
        nodes *= axes[axis].size();
    }
    mesh.points.resize(nodes * dimensions);
    set_points(topology, axes, options, mesh);
    std::array<Cells, 6> sides;
    mesh.elements.push_back(topology.elements(sides));
    constexpr const char* names[] = {"left", "right", "bottom", "top", "back", "front"};
    for (int side = 0; side < 2 * dimensions; ++side) {
        mesh.groups.push_back({names[side], dimensions - 1, {std::move(sides[side])}});
    }
    return mesh;
}

/// The grading g > 1 for which the first of n cells from hole to rim is as long as those of the
/// arc, pi radius / (4 n), for large n: n cells have n (g - 1) / log(g) times its length. 1 where
/// equal cells are shorter.
double square_grading(double radius, double half_width) {
    const double ratio = (half_width - radius) / (std::atan(1.) * radius);
    if (ratio <= 1) return 1;
    double grading = 1 + ratio * ratio;
    for (int k = 0; k < 100; ++k) grading = 1 + ratio * std::log(grading);
    return grading;
}

}  // namespace

Mesh rectangle(CellShape element, Index nx, Index ny, const GridOptions& options) {
    return grid_mesh(element, 2, {nx, ny, 0}, options);
}

Mesh box(CellShape element, Index nx, Index ny, Index nz, const GridOptions& options) {
    return grid_mesh(element, 3, {nx, ny, nz}, options);
}

Mesh plate_with_hole(CellShape element, Index size, double radius, double half_width) {
    require(radius > 0 && radius < half_width && std::isfinite(half_width),
            "the hole of a plate is larger than 0 and smaller than the plate");
    require(size >= 1 && size <= std::numeric_limits<Index>::max() / 2,
            "a plate has at least one cell on each axis");
    const GridTopology topology(element, 2, {size, 2 * size, 0});
    Mesh mesh;
    mesh.points.resize((std::size_t(size) + 1) * (2 * std::size_t(size) + 1) * 2);
    const std::vector<double> radial = graded_axis(size, 1, square_grading(radius, half_width));
    for (Index node = 0; std::size_t(node) < mesh.points.size() / 2; ++node) {
        const GridIndex index = topology.index_of(node);
        // Counted from the nearer line of symmetry, so that both halves are mirror images.
        const bool upper = index[1] > size;
        const double angle = std::atan(1.) * (upper ? 2 * size - index[1] : index[1]) / size;
        const double outward = radial[index[0]];
        const double tangent = index[1] == size ? 1 : std::tan(angle);
        double x = (1 - outward) * radius * std::cos(angle) + outward * half_width;
        double y = (1 - outward) * radius * std::sin(angle) + outward * half_width * tangent;
        if (upper) std::swap(x, y);
        mesh.points[2 * std::size_t(node)] = x;
        mesh.points[2 * std::size_t(node) + 1] = y;
    }
    std::array<Cells, 6> sides;
    mesh.elements.push_back(topology.elements(sides));
    const auto middle = sides[1].nodes.begin() + 2 * std::ptrdiff_t(size);
    mesh.groups = {
        {"hole", 1, {std::move(sides[0])}},
        {"left", 1, {std::move(sides[3])}},
        {"bottom", 1, {std::move(sides[2])}},
        {"right", 1, {{CellShape::segment, {sides[1].nodes.begin(), middle}}}},
        {"top", 1, {{CellShape::segment, {middle, sides[1].nodes.end()}}}},
    };
    return mesh;
}

}  // namespace tessera::meshes
