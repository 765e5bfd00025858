#include <algorithm>
#include <cmath>

#include "run/output.hpp"
#include "system/structure.hpp"
#include "tessera/io.hpp"

namespace tessera::cli {

namespace {

/// Keeps the larger number; NaN counts as the largest.
void raise(double& largest, double value) {
    if (std::isnan(value) || value > largest) largest = value;
}

}  // namespace

RunReport::Structure structure_results(const Context& host, const Structure& structure,
                                       const std::vector<double>& solution, bool has_model_loads,
                                       const std::string& vtu) {
    const elasticity::Model& model = structure.model;
    const Mesh& mesh = model.mesh;
    const int d = mesh.dimensions;
    const int tensor = elasticity::tensor_components(d);
    const std::vector<double> displacements = structure.system.displacements(solution);
    const std::vector<double> node_stresses = elasticity::node_stresses(host, model, displacements);
    const std::vector<double> node_mises = elasticity::von_mises(d, node_stresses);

    RunReport::Structure extremes;
    extremes.nodes = mesh.node_count();
    extremes.elements = mesh.element_count();
    for (std::size_t at = 0; at < displacements.size(); at += std::size_t(d)) {
        const double* const u = displacements.data() + at;
        raise(extremes.largest_displacement, std::hypot(u[0], u[1], d == 3 ? u[2] : 0));
    }
    for (const double stress : node_mises) raise(extremes.largest_von_mises, stress);
    extremes.dimensions = d;
    extremes.has_reactions = has_model_loads;
    if (has_model_loads) {
        auto reactions = elasticity::find_reactions(host, model, displacements);
        extremes.loads = reactions.loads;
        extremes.reactions = std::move(reactions.groups);
    }
    if (vtu.empty()) return extremes;
    const std::vector<double> stresses = elasticity::element_stresses(host, model, displacements);
    const std::vector<double> element_mises = elasticity::von_mises(d, stresses);
    write_output(vtu, [&] {
        io::write_vtu(host, vtu, mesh,
                      {{"displacement", d, displacements},
                       {"stress", tensor, node_stresses},
                       {"von_mises", 1, node_mises}},
                      {{"stress", tensor, stresses}, {"von_mises", 1, element_mises}});
    });
    return extremes;
}

}  // namespace tessera::cli
