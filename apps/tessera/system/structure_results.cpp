#include <algorithm>
#include <cmath>

#include "run/output.hpp"
#include "system/structure.hpp"
#include "tessera/io.hpp"

namespace tessera::cli {

namespace {

/// The value with the largest norm; NaN counts as the largest.
RunReport::Structure::Largest find_largest(const Mesh& mesh, std::span<const double> values,
                                           int components) {
    RunReport::Structure::Largest largest;
    for (Index node = 0; node < mesh.node_count(); ++node) {
        double norm = 0;
        for (int i = 0; i < components; ++i) {
            norm = std::hypot(norm, values[std::size_t(node) * components + i]);
        }
        if (node > 0 && !(norm > largest.value) && !std::isnan(norm)) continue;
        largest.value = norm;
        for (int i = 0; i < mesh.dimensions; ++i) {
            largest.at[std::size_t(i)] = mesh.points[std::size_t(node) * mesh.dimensions + i];
        }
        if (std::isnan(norm)) break;
    }
    return largest;
}

}  // namespace

StructureResults find_structure_results(const Context& host, const Structure& structure,
                                        const std::vector<double>& solution, bool has_model_loads) {
    const elasticity::Model& model = structure.model;
    const Mesh& mesh = model.mesh;
    StructureResults results;
    results.displacements = structure.system.displacements(solution);
    results.node_stresses = elasticity::node_stresses(host, model, results.displacements);
    results.node_von_mises = elasticity::von_mises(results.node_stresses);
    auto estimate = elasticity::estimate_error(host, model, results.displacements);
    results.element_errors = std::move(estimate.elements);

    RunReport::Structure& summary = results.summary;
    summary.nodes = mesh.node_count();
    summary.elements = mesh.element_count();
    summary.dimensions = mesh.dimensions;
    summary.displacement = find_largest(mesh, results.displacements, mesh.dimensions);
    for (const MeshGroup& group : mesh.groups) {
        if (group.dimensions > 0 || group.cells.size() != 1) continue;
        if (group.cells[0].nodes.size() != 1) continue;
        std::array<double, 3> u{};
        const auto first = std::size_t(group.cells[0].nodes[0]) * std::size_t(mesh.dimensions);
        std::copy_n(&results.displacements[first], mesh.dimensions, u.begin());
        summary.points.emplace_back(group.name, u);
    }
    summary.plane = mesh.dimensions == 2 ? plane_name(model.plane) : "";
    summary.von_mises = find_largest(mesh, results.node_von_mises, 1);
    summary.strain_energy = elasticity::strain_energy(host, model, results.displacements);
    summary.error_estimate = estimate.relative;
    for (const std::string& group : structure.sections) {
        summary.sections.emplace_back(
            group, elasticity::find_section(host, model, results.displacements, group));
    }
    summary.has_reactions = has_model_loads;
    if (!has_model_loads) return results;
    auto reactions = elasticity::find_reactions(host, model, results.displacements);
    summary.loads = reactions.loads;
    summary.reactions = std::move(reactions.groups);
    summary.constraints = std::move(reactions.equations);
    return results;
}

std::vector<double> structure_residuals(const Context& host, Structure& structure,
                                        const std::vector<double>& solutions) {
    const CsrMatrix<double> matrix = elasticity::assemble(host, structure.model).matrix;
    const CsrView<double> view = matrix.view();
    std::vector<double> residuals;
    for (std::size_t k = 0; k < std::max<std::size_t>(structure.cases.size(), 1); ++k) {
        if (!structure.cases.empty()) structure.select(structure.cases[k]);
        const double* const x = &solutions[k * std::size_t(view.rows)];
        for (Index i = 0; i < view.rows; ++i) {
            double residual = structure.system.load[std::size_t(i)];
            for (Offset at = view.row_offsets[i]; at < view.row_offsets[i + 1]; ++at) {
                residual -= view.values[at] * x[view.column_indices[at]];
            }
            residuals.push_back(residual);
        }
    }
    return residuals;
}

void write_structure(const Context& host, Structure& structure,
                     const std::vector<StructureResults>& results, const std::string& vtu) {
    const Mesh& mesh = structure.model.mesh;
    const int d = mesh.dimensions, tensor = elasticity::tensor_components;
    const std::vector<std::string> names{"xx", "yy", "zz", "xy", "yz", "xz"};
    std::vector<io::MeshField> at_nodes, in_elements;
    std::vector<std::vector<double>> values(2 * results.size());  // In elements.
    for (std::size_t k = 0; k < results.size(); ++k) {
        const StructureResults& found = results[k];
        if (!structure.cases.empty()) structure.select(structure.cases[k]);
        const std::string& name = found.summary.load_case;
        const std::string end = name.empty() ? "" : "_" + name;
        auto &stresses = values[2 * k], &von_mises = values[2 * k + 1];
        stresses = elasticity::element_stresses(host, structure.model, found.displacements);
        von_mises = elasticity::von_mises(stresses);
        at_nodes.push_back({"displacement" + end, d, found.displacements});
        at_nodes.push_back({"stress" + end, tensor, found.node_stresses, names});
        at_nodes.push_back({"von_mises" + end, 1, found.node_von_mises});
        in_elements.push_back({"stress" + end, tensor, stresses, names});
        in_elements.push_back({"von_mises" + end, 1, von_mises});
        in_elements.push_back({"error" + end, 1, found.element_errors});
    }
    write_output(vtu, [&] { io::write_vtu(host, vtu, mesh, at_nodes, in_elements); });
}

}  // namespace tessera::cli
