#include "system/structure_warnings.hpp"

#include <algorithm>

#include "report/text.hpp"

namespace tessera::cli {

namespace {

std::string vector_text(const elasticity::Vector& vector, int dimensions) {
    std::string text;
    for (int i = 0; i < dimensions; ++i) {
        text += (i == 0 ? "(" : ", ") + format("%.6g", vector[std::size_t(i)]);
    }
    return text + ")";
}

bool is_zero(const elasticity::Vector& vector) {
    return std::all_of(vector.begin(), vector.end(), [](double value) { return value == 0; });
}

/// Empty for a load that acts on free displacements in full.
std::string load_warning(const elasticity::LoadShare& load, int dimensions) {
    const std::string name = "the load on '" + load.group + "'";
    if (is_zero(load.total)) return name + " is zero and moves nothing; check its components";
    if (load.held_share == 0) return {};
    const std::string held = vector_text(load.held, dimensions);
    if (load.held_share == 1) {
        return name + ", the force " + held +
               ", acts only on displacements that --fix prescribes and moves nothing; load another "
               "group or free this one";
    }
    return format("%.3g %% of ", 100 * load.held_share) + name + ", the force " + held +
           ", acts on displacements that --fix prescribes and moves nothing; if this is not meant, "
           "load a group that shares no nodes with a fixed one";
}

/// "the mesh is", "region 'steel' is" or "regions 'steel', 'rubber' are": those that lock in a way;
/// empty where none does.
std::string locking_parts(const std::vector<elasticity::Locking>& found,
                          bool elasticity::Locking::*way, const Mesh& mesh) {
    std::string names;
    int count = 0;
    for (const elasticity::Locking& locking : found) {
        if (!(locking.*way)) continue;
        if (mesh.regions.empty()) return "the mesh is";
        names += count++ == 0 ? "" : ", ";
        names += locking.region.empty() ? "(no name)" : "'" + locking.region + "'";
    }
    if (count == 0) return {};
    return count == 1 ? "region " + names + " is" : "regions " + names + " are";
}

/// docs/guide/meshes.md has the measured errors: a beam of one layer of elements bends 0.29 to 0.67
/// times as far as it should, and of longer ones less.
void add_locking(const Context& host, const elasticity::Model& model,
                 std::vector<std::string>& warnings) {
    using elasticity::Locking;
    const std::vector<Locking> found = elasticity::find_locking(host, model);
    const std::string thin = locking_parts(found, &Locking::one_layer, model.mesh);
    const std::string soft = locking_parts(found, &Locking::volume, model.mesh);
    if (!thin.empty()) {
        warnings.push_back(
            thin +
            " mostly one element thick: where it bends, a single layer of linear elements locks "
            "and the displacements are far too small; mesh four or more elements through the "
            "thickness, each no longer than thick, or mesh with elements of second order");
    }
    if (!soft.empty()) {
        warnings.push_back(
            soft +
            " nearly incompressible, with a Poisson's ratio above 0.45: its linear elements lock "
            "and "
            "the displacements are too small; mesh with elements of second order or with "
            "hexahedra, or use a smaller --poisson");
    }
}

}  // namespace

std::vector<std::string> structure_warnings(const Context& host, const Structure& structure) {
    const elasticity::Model& model = structure.model;
    std::vector<std::string> warnings;
    if (model.body_force && is_zero(model.body_force({}))) {  // It is constant.
        warnings.emplace_back("--body-force is zero and moves nothing; check its components");
    }
    for (const elasticity::LoadShare& load : structure.system.load_shares) {
        warnings.push_back(load_warning(load, model.mesh.dimensions));
        if (warnings.back().empty()) warnings.pop_back();
    }
    const std::vector<double>& load = structure.system.load;
    const bool loaded =
        !structure.system.load_shares.empty() || model.body_force || !is_zero(model.gravity);
    if (warnings.empty() && loaded &&
        std::all_of(load.begin(), load.end(), [](double value) { return value == 0; })) {
        warnings.emplace_back(
            "the loads are zero or cancel each other on every node, so that nothing moves; check "
            "their components");
    }
    const elasticity::ThinElement thin = elasticity::find_thin_element(host, model.mesh);
    if (thin.element >= 0) {
        warnings.push_back(thin.description + " is only " + format("%.1e", thin.thickness) +
                           " times as thick as long: its stiffness is so much larger than that of "
                           "other elements that rounding spoils theirs; move its nodes apart, or "
                           "remove it");
    }
    add_locking(host, model, warnings);
    return warnings;
}

}  // namespace tessera::cli
