#include "problems/elasticity/axes_of_nodes.hpp"
#include "problems/elasticity/element_forces.hpp"
#include "problems/elasticity/faces.hpp"
#include "problems/elasticity/springs.hpp"

namespace tessera::elasticity {

namespace {

/// The elements with prescribed displacements.
std::vector<Index> supported_elements(const Elements& elements, const System& system,
                                      std::size_t d) {
    std::vector<Index> list;
    for (Index element = 0; element < elements.count(); ++element) {
        const auto is_supported = [&](Index node) {
            const Index* const rows = &system.unknowns[std::size_t(node) * d];
            return std::any_of(rows, rows + d, [](Index row) { return row < 0; });
        };
        if (std::ranges::any_of(elements.nodes(element), is_supported)) list.push_back(element);
    }
    return list;
}

void add(Resultant& sum, const Resultant& other) {
    for (std::size_t i = 0; i < 3; ++i) {
        sum.force[i] += other.force[i];
        sum.moment[i] += other.moment[i];
    }
}

/// All body forces.
Resultant total_body_force(const Context& cpu, const Elements& elements, const Model& model,
                           const Thickness& thickness) {
    const Stiffness stiffness(model);
    std::vector<Resultant> sums(std::size_t(elements.count()));
    const auto find = [&](Offset first, Offset last) {
        for (Index element = Index(first); element < last; ++element) {
            elements.with_shape(element, [&](auto shape) {
                constexpr CellShape s = decltype(shape)::value;
                double points[node_count(s)][dimensions(s)];
                gather<s>(model.mesh, elements.nodes(element), points);
                each_body_force<s>(model, stiffness[element], ElementForm<s>(points, thickness),
                                   points, [&](int p, double volume, Vector force) {
                                       for (double& component : force) component *= volume;
                                       add_force(sums[std::size_t(element)],
                                                 position<s>(reference_points<s>(), p, points),
                                                 force);
                                   });
            });
        }
    };
    parallel_ranges(cpu.threads(), elements.count(), find, 256);
    Resultant total;
    for (const Resultant& sum : sums) add(total, sum);
    return total;
}

/// Adds the forces along prescribed displacements, from those on all displacements of their nodes.
void add_support_forces(const Model& model, const System& system, std::span<const int> owners,
                        std::span<const double> forces, Reactions& reactions) {
    const Mesh& mesh = model.mesh;
    const auto d = std::size_t(mesh.dimensions);
    const AxesOfNodes axes_of_nodes(system, mesh.node_count());
    for (std::size_t k = 0; k < forces.size(); ++k) {
        if (owners[k] < 0) continue;
        const auto node = Index(k / d);
        Vector force{};
        if (const Axes* const axes = axes_of_nodes.find(node)) {
            const Vector& axis = (*axes)[k % d];
            double along = 0;
            for (std::size_t i = 0; i < d; ++i) along += axis[i] * forces[k - k % d + i];
            for (std::size_t i = 0; i < d; ++i) force[i] = along * axis[i];
        } else {
            force[k % d] = forces[k];
        }
        add_force(reactions.groups[std::size_t(owners[k])].second, point_of(mesh, node), force);
    }
}

/// The sum of the forces on a group, which may be fixed, too.
Resultant& spring_sum(const std::string& group, Reactions& reactions) {
    for (auto& [name, sum] : reactions.groups) {
        if (name == group) return sum;
    }
    return reactions.groups.emplace_back(group, Resultant()).second;
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
    const Thickness thickness = checked_thickness(model, elements);
    const std::vector<int> owners =
        number_unknowns(model, elements, node_elements, thickness, system).owners;
    std::vector<double> loads(displacements.size(), 0);
    add_surface_loads(model, elements, node_elements, thickness, loads, system);
    Reactions reactions;
    for (const FixedSupport& support : model.fixed_supports) {
        reactions.groups.emplace_back(support.group, Resultant());
    }
    if (!model.node_displacements.empty()) reactions.groups.emplace_back("nodes", Resultant());
    /// Adds the force on displacement k.
    const auto add_at = [&](std::size_t k, double value, Resultant& sum) {
        Vector force{};
        force[k % d] = value;
        add_force(sum, point_of(mesh, Index(k / d)), force);
    };
    std::vector<double> held(displacements.size(), 0);  // The forces of supports where they are.
    const ElementForces supported(cpu, elements, model, thickness,
                                  supported_elements(elements, system, d), displacements);
    supported.each([&](std::size_t k, double force) { held[k] += force; });
    reactions.loads = total_body_force(cpu, elements, model, thickness);
    for (std::size_t k = 0; k < displacements.size(); ++k) {
        if (loads[k] == 0) continue;
        add_at(k, loads[k], reactions.loads);
        held[k] -= loads[k];
    }
    for (const SpringCell& cell : find_springs(model, node_elements)) {
        Resultant& sum = spring_sum(model.springs[cell.spring].first, reactions);
        each_spring_force(model, cell, displacements, [&](std::size_t k, double force) {
            add_at(k, force, sum);
            held[k] -= force;
        });
    }
    add_support_forces(model, system, owners, held, reactions);
    if (thickness.axisymmetric) {  // Moments cancel out around the circle.
        for (auto& group : reactions.groups) group.second.moment = {};
        reactions.loads.moment = {};
    }
    for (const auto& group : reactions.groups) add(reactions.total, group.second);
    return reactions;
}

}  // namespace tessera::elasticity
