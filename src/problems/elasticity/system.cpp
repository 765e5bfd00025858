#include <algorithm>

#include "problems/elasticity/axes_of_nodes.hpp"

/// The unknowns of a system and the displacements of its nodes.
namespace tessera::elasticity {

NodeCoordinates System::coordinates(const Mesh& mesh) const {
    const auto d = std::size_t(mesh.dimensions);
    require(mesh.points.size() == unknowns.size(), "the mesh is not that of the system");
    NodeCoordinates found{mesh.dimensions};
    std::vector<double> values;
    Index nodes = 0;
    for (std::size_t first = 0; first < unknowns.size(); first += d) {
        const auto rows = std::span(unknowns).subspan(first, d);
        if (std::ranges::all_of(rows, [](Index row) { return row < 0; })) continue;
        const double* const point = &mesh.points[first];
        values.insert(values.end(), point, point + d);
        for (std::size_t axis = 0; axis < d; ++axis) {
            if (rows[axis] >= 0) found.unknowns.push_back(nodes * mesh.dimensions + Index(axis));
        }
        ++nodes;
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
    std::size_t place = 0;  // Among the nodes with unknowns.
    for (Index node = 0; node < mesh.node_count(); ++node) {
        const Index* const rows = &unknowns[std::size_t(node) * d];
        if (std::all_of(rows, rows + d, [](Index row) { return row < 0; })) continue;
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
        ++place;
    }
    return found;
}

}  // namespace tessera::elasticity
