#pragma once

#include <string>
#include <vector>

#include "tessera/export.hpp"
#include "tessera/types.hpp"

namespace tessera {

/// Corners in the order of VTK and Gmsh: around a face counterclockwise; of a tetrahedron so that
/// (p1 - p0) x (p2 - p0) . (p3 - p0) > 0; of a hexahedron the lower face, then the upper one above
/// it.
enum class CellShape { point, segment, triangle, quadrilateral, tetrahedron, hexahedron };

/// Cells of one shape: corners(shape) nodes each.
struct Cells {
    CellShape shape = CellShape::triangle;
    std::vector<Index> nodes;
};

/// A named part of a mesh on which something is held or loaded: points, edges, faces or elements.
struct MeshGroup {
    std::string name;
    int dimensions = 0;  ///< Of its cells, 0..3.
    std::vector<Cells> cells;
};

/// A finite-element mesh in host memory.
struct Mesh {
    int dimensions = 2;          ///< 2 or 3, of space and elements.
    std::vector<double> points;  ///< `dimensions` coordinates a node.
    std::vector<Cells> elements;
    /// A number for each element, all of elements[0] first; parts of different materials. Names
    /// belong to numbers; both are empty where there is one unnamed region.
    std::vector<int> regions;
    std::vector<std::string> region_names;
    std::vector<MeshGroup> groups;

    Index node_count() const { return Index(points.size()) / dimensions; }
    TESSERA_API Index element_count() const;
    /// The group of that name; throws InvalidArgument, listing the names there are.
    TESSERA_API const MeshGroup& group(const std::string& name) const;
};

TESSERA_API int corners(CellShape shape);
TESSERA_API int dimensions(CellShape shape);
TESSERA_API const char* to_string(CellShape shape);

}  // namespace tessera
