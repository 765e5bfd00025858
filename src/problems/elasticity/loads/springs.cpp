#include "problems/elasticity/loads/springs.hpp"

#include "problems/elasticity/axes_of_nodes.hpp"
#include "problems/elasticity/loads/faces.hpp"

namespace tessera::elasticity {

namespace {

void check_stiffness(const Mesh& mesh, const std::string& group, const Vector& stiffness) {
    for (std::size_t i = 0; i < std::size_t(mesh.dimensions); ++i) {
        require(stiffness[i] >= 0 && std::isfinite(stiffness[i]), "the spring of group '", group,
                "' has the stiffness ", number_text(stiffness[i]), " along ",
                std::string(1, "xyz"[i]), "; it must be a number of 0 or more");
    }
}

/// The parts of one spring, with products that are not yet divided by the sum of all.
std::vector<SpringCell> find_cells(const Model& model, const MeshGroup& group) {
    std::vector<SpringCell> found;
    if (group.dimensions == 0) {
        for (const Cells& cells : group.cells) {
            for (const Index& node : cells.nodes) found.push_back({0, {&node, 1}, {1}});
        }
        return found;
    }
    each_point<Rule::error>(
        model, group, [&](auto nodes, const auto& values, const Vector& normal, const Vector&) {
            const std::size_t n = nodes.size();
            if (found.empty() || found.back().nodes.data() != nodes.data()) {
                found.push_back({0, nodes, std::vector<double>(n * n, 0)});
            }
            for (std::size_t k = 0; k < n * n; ++k) {
                found.back().products[k] += length(normal) * (values[k / n] * values[k % n]);
            }
        });
    return found;
}

}  // namespace

std::vector<SpringCell> find_springs(const Model& model, const NodeElements& node_elements) {
    const Mesh& mesh = model.mesh;
    std::vector<SpringCell> all;
    for (std::size_t spring = 0; spring < model.springs.size(); ++spring) {
        const auto& [name, stiffness] = model.springs[spring];
        const MeshGroup& group = mesh.group(name);
        check_stiffness(mesh, name, stiffness);
        check_cells(
            mesh, group, group.dimensions == 0 ? 0 : mesh.dimensions - 1, "the spring",
            concat("a spring needs ", mesh.dimensions == 2 ? "segments" : "faces", " or points"),
            node_elements);
        std::vector<SpringCell> cells = find_cells(model, group);
        double size = 0;  // The area, or the number of points.
        for (const SpringCell& cell : cells) {
            for (const double product : cell.products) size += product;
        }
        require(size > 0, "group '", name, "' has no points or area that could carry a spring");
        for (SpringCell& cell : cells) {
            cell.spring = spring;
            for (double& product : cell.products) product /= size;
            all.push_back(std::move(cell));
        }
    }
    return all;
}

std::vector<HeldDirection> find_held_directions(const Model& model,
                                                const std::vector<SpringCell>& springs,
                                                const System& system) {
    const auto d = std::size_t(model.mesh.dimensions);
    const AxesOfNodes axes_of_nodes(system, model.mesh.node_count());
    const auto axis = [](std::size_t i) {
        Vector direction{};
        direction[i] = 1;
        return direction;
    };
    std::vector<HeldDirection> held;
    for (std::size_t k = 0; k < system.unknowns.size(); ++k) {
        if (system.unknowns[k] != -1) continue;
        const auto node = Index(k / d);
        const Axes* const axes = axes_of_nodes.find(node);
        held.push_back({node, axes == nullptr ? axis(k % d) : (*axes)[k % d]});
    }
    for (const SpringCell& cell : springs) {
        for (std::size_t k = 0; k < cell.nodes.size() * d; ++k) {
            if (model.springs[cell.spring].second[k % d] == 0) continue;
            held.push_back({cell.nodes[k / d], axis(k % d)});
        }
    }
    return held;
}

}  // namespace tessera::elasticity
