#include <algorithm>

#include "problems/elasticity/assembly/node_order.hpp"
#include "problems/elasticity/axes_of_nodes.hpp"

/// The unknowns of a system and the displacements of its nodes.
namespace tessera::elasticity {

NodeCoordinates System::coordinates(const Mesh& mesh) const {
    const auto d = std::size_t(mesh.dimensions);
    require(mesh.points.size() == unknowns.size(), "the mesh is not that of the system");
    NodeCoordinates found{mesh.dimensions};
    std::vector<double> values;
    const NodeOrder order(*this, mesh.dimensions);
    for (Index place = 0; place < order.with_rows; ++place) {
        const std::size_t first = std::size_t(order.nodes[std::size_t(place)]) * d;
        const double* const point = &mesh.points[first];
        values.insert(values.end(), point, point + d);
        for (std::size_t axis = 0; axis < d; ++axis) {
            if (unknowns[first + axis] < 0) continue;
            found.unknowns.push_back(place * mesh.dimensions + Index(axis));
        }
    }
    if (found.unknowns.size() == values.size()) found.unknowns.clear();
    found.values = std::move(values);
    return found;
}

std::vector<double> System::displacements(std::span<const double> solution) const {
    require(solution.size() == load.size(), "the solution has ", solution.size(),
            " entries and the system ", load.size());
    require(solution.data() != nullptr || solution.empty(), "the solution is null");
    std::vector<double> all = prescribed;
    for (std::size_t k = 0; k < all.size(); ++k) {
        if (unknowns[k] >= 0) all[k] = solution[unknowns[k]];
    }
    for (const auto& [displacement, terms] : dependents) {
        for (const auto& [k, factor] : terms) {
            all[std::size_t(displacement)] += factor * all[std::size_t(k)];
        }
    }
    for (const auto& [node, axes] : node_axes) {
        const std::size_t d = axes[2] == Vector{} ? 2 : 3;
        from_axes(axes, d, &all[std::size_t(node) * d]);
    }
    return all;
}

std::vector<double> System::to_rows(const Mesh& mesh, std::span<const double> vectors,
                                    int columns) const {
    const auto d = std::size_t(mesh.dimensions), count = std::size_t(columns);
    require(mesh.points.size() == unknowns.size(), "the mesh is not that of the system");
    const AxesOfNodes axes_of_nodes(*this, mesh.node_count());
    std::vector<double> found(load.size() * count, 0);
    const NodeOrder order(*this, mesh.dimensions);
    for (std::size_t place = 0; place < std::size_t(order.with_rows); ++place) {
        const Index node = order.nodes[place];
        const Index* const rows = &unknowns[std::size_t(node) * d];
        require(vectors.size() >= (place + 1) * d * count, "there are ", vectors.size(),
                " numbers, fewer than ", columns, " for each displacement of a node");
        const Axes* const axes = axes_of_nodes.find(node);
        for (std::size_t c = 0; c < count; ++c) {
            double vector[3]{};
            for (std::size_t i = 0; i < d; ++i) vector[i] = vectors[(place * d + i) * count + c];
            if (axes != nullptr) to_axes(*axes, d, vector);
            for (std::size_t i = 0; i < d; ++i) {
                if (rows[i] >= 0) found[std::size_t(rows[i]) * count + c] = vector[i];
            }
        }
    }
    return found;
}

}  // namespace tessera::elasticity
