#include "tessera/mesh.hpp"

#include "tessera/error.hpp"

namespace tessera {

namespace {
struct ShapeFacts {
    const char* name;
    int corners;
    int dimensions;
};
constexpr ShapeFacts shape_facts[] = {{"point", 1, 0},       {"segment", 2, 1},
                                      {"triangle", 3, 2},    {"quadrilateral", 4, 2},
                                      {"tetrahedron", 4, 3}, {"hexahedron", 8, 3}};
}  // namespace

int corners(CellShape shape) { return shape_facts[int(shape)].corners; }
int dimensions(CellShape shape) { return shape_facts[int(shape)].dimensions; }
const char* to_string(CellShape shape) { return shape_facts[int(shape)].name; }

Index Mesh::element_count() const {
    Index count = 0;
    for (const Cells& cells : elements) count += Index(cells.nodes.size()) / corners(cells.shape);
    return count;
}

const MeshGroup& Mesh::group(const std::string& name) const {
    std::string names;
    for (const MeshGroup& group : groups) {
        if (group.name == name) return group;
        names += (names.empty() ? "" : ", ") + group.name;
    }
    throw InvalidArgument("the mesh has no group '" + name + "'; it has " +
                          (names.empty() ? "none" : names));
}

}  // namespace tessera
