#include "problems/elasticity/axes_of_nodes.hpp"
#include "problems/elasticity/loads/faces.hpp"
#include "problems/elasticity/loads/springs.hpp"
#include "problems/elasticity/results/element_forces.hpp"

namespace tessera::elasticity {

namespace {

/// The elements with displacements that are prescribed or follow from others.
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

/// The sum of a name, which is new or known.
Resultant& sum_of_name(const std::string& name,
                       std::vector<std::pair<std::string, Resultant>>& sums) {
    for (auto& [known, sum] : sums) {
        if (known == name) return sum;
    }
    return sums.emplace_back(name, Resultant()).second;
}

/// Forces on nodes along the axes of their unknowns, and in space.
class NodeForces {
  public:
    NodeForces(const Mesh& mesh, const System& system)
        : d_(std::size_t(mesh.dimensions)), axes_(system, mesh.node_count()) {}

    /// The part of forces along x, y and z that acts along displacement k.
    double along(std::size_t k, std::span<const double> forces) const {
        const Axes* const axes = axes_.find(Index(k / d_));
        if (axes == nullptr) return forces[k];
        double sum = 0;
        for (std::size_t i = 0; i < d_; ++i) sum += (*axes)[k % d_][i] * forces[k - k % d_ + i];
        return sum;
    }
    /// The force of a size along displacement k.
    Vector in_space(std::size_t k, double size) const {
        Vector force{};
        const Axes* const axes = axes_.find(Index(k / d_));
        if (axes == nullptr) {
            force[k % d_] = size;
        } else {
            for (std::size_t i = 0; i < d_; ++i) force[i] = size * (*axes)[k % d_][i];
        }
        return force;
    }

  private:
    std::size_t d_;
    AxesOfNodes axes_;
};

/// Adds the forces along prescribed displacements, from those on all displacements of their nodes.
void add_support_forces(const Mesh& mesh, const NodeForces& node_forces,
                        std::span<const int> owners, std::span<const double> forces,
                        Reactions& reactions) {
    const auto d = std::size_t(mesh.dimensions);
    for (std::size_t k = 0; k < forces.size(); ++k) {
        if (owners[k] < 0) continue;
        add_force(reactions.groups[std::size_t(owners[k])].second, point_of(mesh, Index(k / d)),
                  node_forces.in_space(k, node_forces.along(k, forces)));
    }
}

/// Sums the forces of equations by their names, and subtracts them from those on all displacements:
/// the force on a displacement that an equation eliminates is its multiplier, as no other equation
/// has it.
void take_equation_forces(const Model& model, const NodeForces& node_forces,
                          const std::vector<ReducedEquation>& equations, std::span<double> forces,
                          Reactions& reactions) {
    const auto d = std::size_t(model.mesh.dimensions);
    std::vector<double> multipliers;
    std::vector<double> of_given(model.equations.size(), 0);
    for (const ReducedEquation& equation : equations) {
        multipliers.push_back(node_forces.along(std::size_t(equation.dependent), forces));
        for (const auto& [number, factor] : equation.origins) {
            of_given[std::size_t(number)] += factor * multipliers.back();
        }
    }
    const auto subtract = [&](Offset k, double size) {
        const Vector force = node_forces.in_space(std::size_t(k), size);
        for (std::size_t i = 0; i < d; ++i) forces[std::size_t(k) / d * d + i] -= force[i];
    };
    for (std::size_t k = 0; k < equations.size(); ++k) {
        subtract(equations[k].dependent, multipliers[k]);
        for (const auto& [other, factor] : equations[k].terms) {
            subtract(other, factor * multipliers[k]);
        }
    }
    for (std::size_t k = 0; k < of_given.size(); ++k) {
        const Equation& equation = model.equations[k];
        Resultant& sum = sum_of_name(equation.name, reactions.equations);
        for (const auto& [node, axis, coefficient] : equation.terms) {
            Vector force{};
            force[std::size_t(axis)] = coefficient * of_given[k];
            add_force(sum, point_of(model.mesh, node), force);
        }
    }
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
    const NumberedUnknowns numbered =
        number_unknowns(model, elements, node_elements, thickness, system);
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
        Resultant& sum = sum_of_name(model.springs[cell.spring].first, reactions.groups);
        each_spring_force(model, cell, displacements, [&](std::size_t k, double force) {
            add_at(k, force, sum);
            held[k] -= force;
        });
    }
    const NodeForces node_forces(mesh, system);
    take_equation_forces(model, node_forces, numbered.equations, held, reactions);
    add_support_forces(mesh, node_forces, numbered.owners, held, reactions);
    if (thickness.axisymmetric) {  // Moments cancel out around the circle.
        for (auto& group : reactions.groups) group.second.moment = {};
        for (auto& equations : reactions.equations) equations.second.moment = {};
        reactions.loads.moment = {};
    }
    for (const auto& group : reactions.groups) add(reactions.total, group.second);
    for (const auto& equations : reactions.equations) add(reactions.total, equations.second);
    return reactions;
}

}  // namespace tessera::elasticity
