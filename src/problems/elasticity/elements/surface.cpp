#include <limits>

#include "problems/elasticity/elements/elements.hpp"

namespace tessera::elasticity {

std::vector<unsigned char> find_surface(const Context& cpu, const Elements& elements) {
    const NodeElements node_elements(elements);
    const auto on_surface = [&](Index element, std::span<const Index> face) {
        const auto count = [&](Index node) { return node_elements[node].size(); };
        const Index rarest = *std::ranges::min_element(face, {}, count);
        return std::ranges::none_of(node_elements[rarest], [&](Index other) {
            const std::span<const Index> nodes = elements.nodes(other);
            return other != element && std::ranges::all_of(face, [&](Index node) {
                       return std::ranges::find(nodes, node) != nodes.end();
                   });
        });
    };
    std::vector<unsigned char> surface(std::size_t(elements.count()), 0);
    const auto find = [&](Offset first, Offset last) {
        for (Index element = Index(first); element < last; ++element) {
            const CellShape shape = elements.shape(element);
            for (int face = 0; face < face_count(shape); ++face) {
                Index nodes[4]{};
                const std::size_t size = std::size_t(corners(face_shape(shape, face)));
                for (std::size_t k = 0; k < size; ++k) {
                    nodes[k] = elements.nodes(element)[face_corner(shape, face, int(k))];
                }
                if (on_surface(element, {nodes, size})) surface[element] |= 1u << face;
            }
        }
    };
    parallel_ranges(cpu.threads(), elements.count(), find, 1024);
    return surface;
}

std::vector<Cells> surface(const Context& cpu, const Mesh& mesh) {
    const Elements elements(mesh);
    const std::vector<unsigned char> faces = find_surface(cpu, elements);
    std::vector<Cells> cells;
    for (Index element = 0; element < elements.count(); ++element) {
        const CellShape shape = elements.shape(element);
        for (int face = 0; face < face_count(shape); ++face) {
            if (!(faces[std::size_t(element)] >> face & 1)) continue;
            const CellShape of_face = face_shape(shape, face);
            auto same = std::ranges::find(cells, of_face, &Cells::shape);
            if (same == cells.end()) same = cells.insert(same, {of_face, {}});
            for (int k = 0; k < node_count(of_face); ++k) {
                const auto node = std::size_t(face_node(shape, face, k));
                same->nodes.push_back(elements.nodes(element)[node]);
            }
        }
    }
    return cells;
}

int normal_axis(const Mesh& mesh, const std::string& name) {
    const MeshGroup& group = mesh.group(name);
    require(group.dimensions == mesh.dimensions - 1, "the normal of group '", name, "': it needs ",
            mesh.dimensions == 2 ? "edges" : "faces");
    Vector low, high;
    low.fill(std::numeric_limits<double>::infinity());
    high.fill(-std::numeric_limits<double>::infinity());
    for (const Cells& cells : group.cells) {
        for (const Index node : cells.nodes) {
            require(node >= 0 && node < mesh.node_count(), "group '", name, "' names node ", node,
                    "; the mesh has ", mesh.node_count(), " nodes, counted from 0");
            for (std::size_t i = 0; i < std::size_t(mesh.dimensions); ++i) {
                const double x = mesh.points[std::size_t(node) * mesh.dimensions + i];
                low[i] = std::min(low[i], x);
                high[i] = std::max(high[i], x);
            }
        }
    }
    int flattest = 0;
    double longest = 0;
    for (int i = 0; i < mesh.dimensions; ++i) {
        longest = std::max(longest, high[i] - low[i]);
        if (high[i] - low[i] < high[flattest] - low[flattest]) flattest = i;
    }
    return high[flattest] - low[flattest] <= 1e-6 * longest ? flattest : -1;
}

}  // namespace tessera::elasticity
