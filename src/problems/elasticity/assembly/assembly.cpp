#include <algorithm>
#include <cmath>
#include <optional>

#include "base/find_csr_entry.hpp"
#include "problems/elasticity/assembly/kernels.hpp"
#include "problems/elasticity/loads/springs.hpp"
#include "problems/memory.hpp"

namespace tessera::elasticity {

namespace {

Context host_of(const Context& context) {
    return context.on_gpu() ? Context::cpu(context.threads()) : context;
}

/// Adds springs to a matrix, unless it is empty, and to the load.
void add_springs(const Model& model, const std::vector<SpringCell>& springs,
                 const ActiveNodes& active_nodes, System& system) {
    const auto d = std::size_t(model.mesh.dimensions);
    const AxesOfNodes axes_of_nodes(system, model.mesh.node_count());
    const Axes usual{{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
    const auto axes_of = [&](Index node) -> const Axes& {
        const Axes* const axes = axes_of_nodes.find(node);
        return axes == nullptr ? usual : *axes;
    };
    const auto add = [&](Index row, std::size_t other, double value) {
        if (row < 0 || value == 0) return;
        if (system.unknowns[other] < 0) {
            system.load[row] -= value * system.prescribed[other];
        } else if (system.matrix.rows() > 0) {
            const Offset at =
                find_csr_entry(std::as_const(system.matrix).view(), row, system.unknowns[other]);
            system.matrix.values().data()[at] += value;
        }
    };
    std::vector<double> result;
    for (const SpringCell& cell : springs) {
        const Vector& stiffness = model.springs[cell.spring].second;
        const std::vector<Index> active = active_nodes.active_nodes(cell.nodes);
        const std::size_t count = cell.nodes.size(), m = active.size() * d;
        result.assign(m * (m + 1), 0);
        for (std::size_t k = 0; k < count * d * count * d; ++k) {
            const std::size_t row = k / (count * d), column = k % (count * d);
            const Vector& of_row = axes_of(cell.nodes[row / d])[row % d];
            const Vector& of_column = axes_of(cell.nodes[column / d])[column % d];
            double value = 0;
            for (std::size_t c = 0; c < d; ++c) value += stiffness[c] * (of_row[c] * of_column[c]);
            result[k] = value * cell.products[row / d * count + column / d];
        }
        if (!active_nodes.empty()) active_nodes.reduce(cell.nodes, active, result.data());
        for (std::size_t k = 0; k < m * m; ++k) {
            const std::size_t row = k / m, column = k % m;
            add(system.unknowns[std::size_t(active[row / d]) * d + row % d],
                std::size_t(active[column / d]) * d + column % d, result[k]);
        }
        for (std::size_t row = 0; row < m; ++row) {
            const Index at = system.unknowns[std::size_t(active[row / d]) * d + row % d];
            if (at >= 0) system.load[at] += result[m * m + row];
        }
    }
}

/// Adds the forces on dependent displacements to those on the displacements from which they follow.
void move_forces(const System& system, std::span<double> forces) {
    for (const auto& [displacement, terms] : system.dependents) {
        for (const auto& [k, factor] : terms) {
            forces[std::size_t(k)] += factor * forces[std::size_t(displacement)];
        }
    }
}

/// Adds stiffnesses and forces of the elements, and the springs, to a system with numbered
/// unknowns.
void add_elements(const Context& context, const ElementData& data,
                  const NodeElements& node_elements, const std::vector<SpringCell>& springs,
                  bool with_matrix, System& system) {
    const Context cpu = host_of(context);
    const int d = data.model.mesh.dimensions;
    const auto rows = Index(system.load.size());
    const std::vector<unsigned char> changed = find_changed_elements(data, system);
    std::optional<Neighbours> neighbours;
    if (with_matrix) {
        NodeOrder order(system, d);
        if (data.active.empty()) {
            neighbours.emplace(cpu, data.active, node_elements, std::move(order));
        } else {
            const NodeElements of_active(data.elements, data.active);
            neighbours.emplace(cpu, data.active, of_active, std::move(order));
        }
    }
    const bool on_gpu = with_matrix && context.on_gpu();
    const bool all_on_gpu = on_gpu && changed.empty() && springs.empty() && rows > 0;
    const bool on_host = with_matrix && !all_on_gpu;
    const auto stiffnesses = !on_host ? Stiffnesses::none
                             : on_gpu ? Stiffnesses::changed
                                      : Stiffnesses::all;
    if (on_host) system.matrix = cpu::make_matrix(cpu, *neighbours, d, system, rows);
    ElementSums(cpu, data, changed, stiffnesses, neighbours ? &*neighbours : nullptr, system).add();
    add_springs(data.model, springs, data.active, system);
    if (!on_gpu) return;
    system.matrix = on_host ? copy_to(context, std::as_const(system.matrix).view())
                            : TESSERA_RUN(make_matrix, context, *neighbours, d, system, rows);
    const decltype(&cuda::add_stiffnesses) add = TESSERA_IF_CUDA(cuda::add_stiffnesses);
    if (rows > 0) add(context, data, changed, node_elements, system);
}

System assemble(const Context& context, const Model& model, const Elements& elements,
                bool with_matrix) {
    const Context cpu = host_of(context);
    elements.check_geometry(cpu);
    const Stiffness stiffness(model);
    const Thickness thickness = checked_thickness(model, elements);
    const NodeElements node_elements(elements);
    const std::vector<SpringCell> springs = find_springs(model, node_elements);
    System system;
    const Index rows = number_unknowns(model, elements, node_elements, thickness, system).rows;
    const std::vector<HeldDirection> held = find_held_directions(model, springs, system);
    find_rigid_motions(elements, node_elements, thickness.axisymmetric, held, model.equations,
                       system);
    if (thickness.axisymmetric && model.equations.empty()) {
        check_turning_triangles(elements, node_elements, held);
    }
    std::vector<double> tractions(system.prescribed.size(), 0);
    add_surface_loads(model, elements, node_elements, thickness, tractions, system);
    for (const auto& [node, axes] : system.node_axes) {
        const auto d = std::size_t(model.mesh.dimensions);
        to_axes(axes, d, &tractions[std::size_t(node) * d]);
    }
    move_forces(system, tractions);
    system.load.resize(std::size_t(rows));
    for (std::size_t k = 0; k < tractions.size(); ++k) {
        if (system.unknowns[k] >= 0) system.load[system.unknowns[k]] = tractions[k];
    }
    const ActiveNodes active(elements, system);
    add_elements(context, {elements, model, stiffness, thickness, active}, node_elements, springs,
                 with_matrix, system);
    const bool is_finite =
        std::ranges::all_of(system.load, [](double value) { return std::isfinite(value); }) &&
        (!with_matrix || first_non_finite_row(context, std::as_const(system.matrix).view()) < 0);
    require(is_finite,
            "the stiffness matrix or the load is not finite: Young's modulus, the thickness, the "
            "lengths of the mesh, the loads, temperatures or springs are too large or too small");
    return system;
}

/// About how many pairs of nodes share an element.
double estimate_neighbours(const Mesh& mesh) {
    double count = 0;
    for (const Cells& cells : mesh.elements) {
        count += double(cells.nodes.size()) * problems::neighbours_per_place(cells.shape);
    }
    return count;
}

}  // namespace

Offset estimate_nonzeros(const Mesh& mesh) {
    return Offset(estimate_neighbours(mesh) * mesh.dimensions * mesh.dimensions);
}

System assemble(const Context& context, const Model& model) {
    const Elements elements(model.mesh);
    double element_nodes = 0;
    for (const Cells& cells : model.mesh.elements) element_nodes += double(cells.nodes.size());
    require_host_memory(concat("a model of ", model.mesh.node_count(), " nodes"),
                        problems::assembly_bytes(model.mesh.dimensions, model.mesh.node_count(),
                                                 element_nodes, estimate_neighbours(model.mesh)));
    return assemble(context, model, elements, true);
}

System assemble_load(const Context& context, const Model& model) {
    return assemble(context, model, Elements(model.mesh), false);
}

}  // namespace tessera::elasticity
