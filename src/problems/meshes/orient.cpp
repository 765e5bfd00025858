#include "tessera/detail/orientation.hpp"

namespace tessera::meshes {

void orient(Mesh& mesh) {
    validate(mesh);
    for (Cells& cells : mesh.elements) {
        const auto count = std::size_t(node_count(cells.shape));
        for (std::size_t at = 0; at < cells.nodes.size(); at += count) {
            Index* const cell = &cells.nodes[at];
            if (detail::orientation(mesh, cells.shape, cell) < 0) {
                detail::reverse_orientation(cells.shape, cell);
            }
        }
    }
}

}  // namespace tessera::meshes
