#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tessera/types.hpp"

namespace tessera {

/// Cells of first order, whose nodes are their corners; then those of second order by their number
/// of nodes. The order of nodes is that of VTK, Abaqus and CalculiX: first the corners, of a face
/// counterclockwise; of a tetrahedron so that (p1 - p0) x (p2 - p0) . (p3 - p0) > 0; of a
/// hexahedron or prism the lower face, then the upper one; of a pyramid the base, then the apex.
/// Then nodes in the middle of edges, here named by their corners:
///   triangle 01 12 20, quadrilateral 01 12 23 30, tetrahedron 01 12 20 03 13 23,
///   prism 01 12 20 34 45 53 03 14 25, hexahedron 01 12 23 30 45 56 67 74 04 15 26 37.
/// Last in quadrilateral9 the centre, in hexahedron27 the middle of the faces 0473, 1265, 0154,
/// 2376, 0321, 4567 and the centre.
enum class CellShape {
    point,
    segment,
    triangle,
    quadrilateral,
    tetrahedron,
    hexahedron,
    prism,
    pyramid,
    segment3,
    triangle6,
    quadrilateral8,
    quadrilateral9,
    tetrahedron10,
    prism15,
    hexahedron20,
    hexahedron27,
};
inline constexpr int cell_shape_count = 16;

constexpr int node_count(CellShape shape) {
    constexpr int counts[] = {1, 2, 3, 4, 4, 8, 6, 5, 3, 6, 8, 9, 10, 15, 20, 27};
    return counts[int(shape)];
}
constexpr int corners(CellShape shape) {
    constexpr int counts[] = {1, 2, 3, 4, 4, 8, 6, 5, 2, 3, 4, 4, 4, 6, 8, 8};
    return counts[int(shape)];
}
constexpr int dimensions(CellShape shape) {
    constexpr int counts[] = {0, 1, 2, 2, 3, 3, 3, 3, 1, 2, 2, 2, 3, 3, 3, 3};
    return counts[int(shape)];
}
/// Whether all nodes are corners.
constexpr bool is_first_order(CellShape shape) { return shape < CellShape::segment3; }

TESSERA_API const char* to_string(CellShape shape);

/// Numbers in host memory that nobody changes and copies share: their own, or those of a caller.
class SharedNumbers {
  public:
    SharedNumbers() = default;
    SharedNumbers(std::vector<double> values) {  // NOLINT: implicit
        const auto own = std::make_shared<const std::vector<double>>(std::move(values));
        *this = {*own, own};
    }
    SharedNumbers(std::initializer_list<double> values)
        : SharedNumbers(std::vector<double>(values)) {}
    /// Numbers of a caller, which stay there and do not change while `owner` lives.
    SharedNumbers(std::span<const double> values, std::shared_ptr<const void> owner)
        : values_(values), owner_(std::move(owner)) {}

    const double* data() const { return values_.data(); }
    std::size_t size() const { return values_.size(); }
    bool empty() const { return values_.empty(); }
    double operator[](std::size_t i) const { return values_[i]; }
    auto begin() const { return values_.begin(); }
    auto end() const { return values_.end(); }

  private:
    std::span<const double> values_;
    std::shared_ptr<const void> owner_;
};

/// Positions of the nodes of a matrix, the unknowns of each in consecutive rows: `dimensions`
/// numbers per node, in host memory.
struct NodeCoordinates {
    int dimensions = 3;
    SharedNumbers values = {};
    /// If some nodes have fewer unknowns than dimensions: for each row of the matrix its unknown,
    /// node * dimensions + axis, ascending. Empty: all nodes have the same number of unknowns.
    std::vector<Index> unknowns = {};
};

/// Cells of one shape: node_count(shape) nodes each.
struct Cells {
    CellShape shape = CellShape::triangle;
    std::vector<Index> nodes;
};

/// A named part of a mesh that supports or loads refer to: points, edges, faces or elements.
struct MeshGroup {
    std::string name;
    int dimensions = 0;  ///< Dimension of its cells, 0..3.
    std::vector<Cells> cells;
};

/// A finite-element mesh in host memory.
struct Mesh {
    int dimensions = 2;          ///< Dimensions of space and elements, 2 or 3.
    std::vector<double> points;  ///< `dimensions` coordinates per node.
    std::vector<Cells> elements;
    /// The region (of one material) of each element, all of elements[0] first: an index of
    /// region_names. Both are empty for one unnamed region.
    std::vector<int> regions;
    std::vector<std::string> region_names;
    std::vector<MeshGroup> groups;
    std::vector<std::string> empty_groups = {};  ///< Names of groups without elements, of a file.

    Index node_count() const {
        return dimensions > 0 ? Index(points.size() / std::size_t(dimensions)) : 0;
    }
    TESSERA_API Index element_count() const;
    /// The group of that name; throws InvalidArgument with the known names.
    TESSERA_API const MeshGroup& group(const std::string& name) const;
};

/// Throws InvalidArgument that names the first invalid array or element.
TESSERA_API void validate(const Mesh& mesh);

/// Structured meshes. Nodes are numbered with the first axis slowest.
namespace meshes {

struct GridOptions {
    std::array<double, 3> lengths{1, 1, 1};
    /// Length of the last cell of an axis over that of the first, in geometric progression.
    std::array<double, 3> gradings{1, 1, 1};
    /// In [0, 1): nodes inside are moved by at most jitter / 4 (in three dimensions jitter / 6) of
    /// the shorter neighbouring cell along each axis, which inverts no element.
    double jitter = 0;
    std::uint64_t seed = 1;  ///< Seed of the jitter: Philox 4x32-10 by seed and node.
};

/// [0, lengths[0]] x [0, lengths[1]] in nx x ny cells, each one quadrilateral or two triangles (by
/// the diagonal between the corners of even and of odd grid indices: inner nodes have 4 or 8
/// neighbours). Groups of edges, the outside on their right: left and right (first and last x),
/// bottom and top (y). Throws InvalidArgument for other shapes, sizes below 1 and too many nodes.
TESSERA_API Mesh rectangle(CellShape element, Index nx, Index ny, const GridOptions& options = {});

/// A cuboid with edges `lengths` in nx x ny x nz cells, each one hexahedron or six tetrahedra
/// (Kuhn's, mirrored from cell to cell). Groups of faces, counterclockwise seen from outside: left
/// and right (x), bottom and top (y), back and front (first and last z).
TESSERA_API Mesh box(CellShape element, Index nx, Index ny, Index nz,
                     const GridOptions& options = {});

/// A quarter of a square plate with a round hole in its middle: `size` cells from the hole to the
/// rim and on each half of the arc. Groups: hole, left and bottom (the lines of symmetry), right
/// and top (x or y = half_width). Throws InvalidArgument unless 0 < radius < half_width.
TESSERA_API Mesh plate_with_hole(CellShape element, Index size, double radius = 1,
                                 double half_width = 4);

/// Reverses elements whose Jacobian is negative at all corners, as where a program does not care.
/// Throws InvalidArgument as validate(mesh).
TESSERA_API void orient(Mesh& mesh);

/// The cells of a mesh of first order, and those of its groups, as cells of second order: with a
/// new node in the middle of each edge and, with `centres`, of each quadrilateral and hexahedron
/// and their faces (quadrilateral9 and hexahedron27; otherwise quadrilateral8 and hexahedron20).
/// The nodes of the mesh keep their numbers. Throws InvalidArgument as validate(mesh), for meshes
/// that are of second order, for pyramids and, with `centres`, for prisms.
TESSERA_API Mesh second_order(const Mesh& mesh, bool centres = false);

}  // namespace meshes
}  // namespace tessera
