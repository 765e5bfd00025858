#include "problems/elasticity/element_stiffness.hpp"

namespace tessera::elasticity {

namespace {

/// The forces of the elements on all nodes, `dimensions` per node, less their body forces; adds the
/// latter to `loads`.
std::vector<double> element_forces(const Context& cpu, const Elements& elements,
                                   const NodeElements& node_elements, const Model& model,
                                   std::span<const double> displacements, std::span<double> loads) {
    const Stiffness stiffness(model);
    const double thickness = checked_thickness(model);
    const auto d = std::size_t(model.mesh.dimensions);
    std::vector<Offset> starts{0};  // First number of each element.
    for (Index element = 0; element < elements.count(); ++element) {
        starts.push_back(starts.back() + Offset(elements.nodes(element).size() * d));
    }
    std::vector<double> inner(std::size_t(starts.back())), body(std::size_t(starts.back()));
    const auto find = [&](Offset first, Offset last) {
        std::vector<double> system(max_element_unknowns * (max_element_unknowns + 1));
        for (Index element = Index(first); element < last; ++element) {
            const std::span<const Index> nodes = elements.nodes(element);
            const std::size_t n = nodes.size() * d;
            find_element_system(elements, model, stiffness, thickness, element, system.data());
            for (std::size_t k = 0; k < n; ++k) {
                double sum = 0;
                for (std::size_t j = 0; j < n; ++j) {
                    sum += system[k * n + j] * displacements[std::size_t(nodes[j / d]) * d + j % d];
                }
                inner[std::size_t(starts[element]) + k] = sum;
                body[std::size_t(starts[element]) + k] = system[n * n + k];
            }
        }
    };
    parallel_ranges(cpu.threads(), elements.count(), find, 256);
    std::vector<double> forces(displacements.size(), 0);
    for (Index node = 0; node < model.mesh.node_count(); ++node) {
        for (const Index element : node_elements[node]) {
            const auto nodes = elements.nodes(element);
            const auto k = std::size_t(std::ranges::find(nodes, node) - nodes.begin());
            for (std::size_t i = 0; i < d; ++i) {
                const std::size_t at = std::size_t(starts[element]) + k * d + i;
                forces[std::size_t(node) * d + i] += inner[at];
                loads[std::size_t(node) * d + i] += body[at];
            }
        }
    }
    return forces;
}

}  // namespace

Reactions find_reactions(const Context& cpu, const Model& model,
                         std::span<const double> displacements) {
    const Mesh& mesh = model.mesh;
    const Elements elements(mesh);
    const auto d = std::size_t(mesh.dimensions);
    require(displacements.size() == std::size_t(mesh.node_count()) * d, "the mesh has ",
            std::size_t(mesh.node_count()) * d, " displacements, not ", displacements.size());
    require(displacements.data() != nullptr || displacements.empty(),
            "the array of displacements is null");
    elements.check_geometry(cpu);
    const NodeElements node_elements(elements);
    System system;
    number_unknowns(model, elements, system);
    std::vector<double> loads(displacements.size(), 0);
    add_surface_loads(model, elements, node_elements, loads, system);
    const std::vector<double> forces =
        element_forces(cpu, elements, node_elements, model, displacements, loads);
    std::vector<int> owners(displacements.size(), -1);  // The last support of each displacement.
    Reactions reactions;
    for (const FixedSupport& support : model.fixed_supports) {
        for (const Cells& cells : mesh.group(support.group).cells) {
            for (const Index node : cells.nodes) {
                for (std::size_t i = 0; i < d; ++i) {
                    if (!support.components[i]) continue;
                    owners[std::size_t(node) * d + i] = int(reactions.groups.size());
                }
            }
        }
        reactions.groups.emplace_back(support.group, Vector{});
    }
    for (std::size_t k = 0; k < displacements.size(); ++k) {
        reactions.loads[k % d] += loads[k];
        if (owners[k] < 0 || node_elements[Index(k / d)].empty()) continue;
        const double force = forces[k] - loads[k];
        reactions.groups[std::size_t(owners[k])].second[k % d] += force;
        reactions.total[k % d] += force;
    }
    return reactions;
}

}  // namespace tessera::elasticity
