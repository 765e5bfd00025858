#include <algorithm>
#include <cmath>

#include "base/concat.hpp"
#include "problems/elasticity/loads/faces.hpp"
#include "problems/elasticity/loads/springs.hpp"

namespace tessera::elasticity {

namespace {

std::string vector_text(const Vector& vector, int dimensions) {
    std::string text;
    for (int i = 0; i < dimensions; ++i) {
        text += concat(i == 0 ? "(" : ", ", vector[std::size_t(i)]);
    }
    return text + ")";
}

bool is_zero(const Vector& vector) {
    return std::ranges::all_of(vector, [](double value) { return value == 0; });
}

/// Empty for a load that acts on free displacements in full.
std::string load_warning(const LoadShare& load, int dimensions) {
    const std::string name = "the load on '" + load.group + "'";
    if (load.size == 0) return name + " is zero and moves nothing; check its components";
    constexpr double rounding = 1e-12;
    if (load.held_share < rounding) return {};
    const std::string held = vector_text(load.held, dimensions);
    if (load.held_share > 1 - rounding) {
        return name + ", the force " + held +
               ", acts only on displacements that are prescribed and moves nothing; load another "
               "group or free this one";
    }
    return number_text(100 * load.held_share, std::chars_format::general, 3) + " % of " + name +
           ", the force " + held +
           ", acts on displacements that are prescribed and moves nothing; if this is not meant, "
           "load a group that shares no nodes with a fixed one";
}

/// "the mesh is", "region 'steel' is" or "regions 'steel', 'rubber' are": those that lock in a way;
/// empty where none does.
std::string locking_parts(const std::vector<Locking>& found, bool Locking::*way, const Mesh& mesh) {
    std::string names;
    int count = 0;
    for (const Locking& locking : found) {
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
void add_locking(const Context& cpu, const Model& model, std::vector<std::string>& warnings) {
    const std::vector<Locking> found = find_locking(cpu, model);
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
            "the displacements are too small; mesh with elements of second order, "
            "quadrilaterals or hexahedra, or use a smaller ratio");
    }
}

/// docs/validation.md: a thick cylinder under pressure, 8 hexahedra of 20 nodes through the wall,
/// has stresses that are wrong by 0.13 times the largest one with the ratio 0.49, with 0.4999
/// by 13.
void add_wild_stresses(const Model& model, std::vector<std::string>& warnings) {
    constexpr double incompressible = 0.495;
    const Mesh& mesh = model.mesh;
    if (mesh.dimensions == 2 && model.plane == PlaneKind::stress) return;
    const Elements elements(mesh);
    const Stiffness stiffness(model);
    for (Index element = 0; element < elements.count(); ++element) {
        const CellShape shape = elements.shape(element);
        if (family(shape) != CellFamily::cube || is_first_order(shape)) continue;
        if (!(stiffness[element].poisson_ratio > incompressible)) continue;
        const std::string region =
            mesh.regions.empty()
                ? ""
                : mesh.region_names[std::size_t(mesh.regions[std::size_t(element)])];
        warnings.push_back(
            (region.empty() ? std::string("the mesh") : "region '" + region + "'") +
            " is nearly incompressible, with a Poisson's ratio above 0.495: the stresses of its " +
            (mesh.dimensions == 2 ? "quadrilaterals" : "hexahedra") +
            " of second order may be wrong by several times their size, while displacements are "
            "right; mesh with those of first order, which have incompatible modes");
        return;
    }
}

/// Names the first edge or face where cells gape.
void add_gaps(const Context& cpu, const Mesh& mesh, std::vector<std::string>& warnings) {
    const auto gaps = find_nonconforming_sides(cpu, mesh);
    if (gaps.empty()) return;
    const auto& first = gaps.front();
    std::string corners;
    for (const Index node : first.corners) {
        corners += (corners.empty() ? "" : ", ") + std::to_string(node);
    }
    const auto middle = [](Index node) { return node < 0 ? "none" : std::to_string(node); };
    warnings.push_back("cells share the nodes " + corners + " (counted from 0), but between them " +
                       "one has the node " + middle(first.middles[1]) + " and another " +
                       middle(first.middles[0]) + ": they gape there" +
                       (gaps.size() == 1 ? ""
                                         : " and on " + std::to_string(gaps.size() - 1) +
                                               " other edges or faces") +
                       "; mesh parts that touch with elements of one order and merge their nodes");
}

/// Whether it is zero at all nodes.
bool has_no_body_force(const Model& model) {
    const auto d = std::size_t(model.mesh.dimensions);
    for (std::size_t at = 0; at + d <= model.mesh.points.size(); at += d) {
        Vector point{};
        std::copy_n(&model.mesh.points[at], d, point.begin());
        if (!is_zero(model.body_force(point))) return false;
    }
    return true;
}

/// Springs without a stiffness.
void add_soft_springs(const Model& model, std::vector<std::string>& warnings) {
    for (const auto& [group, stiffness] : model.springs) {
        if (!is_zero(stiffness)) continue;
        warnings.push_back("the spring of '" + group +
                           "' has no stiffness and holds nothing; check its components");
    }
}

/// Prescribed displacements of a group by which two nodes far from each other move against each
/// other by a large part of their distance, as where it is turned by a large angle.
void add_large_turns(const Model& model, std::vector<std::string>& warnings) {
    constexpr double small = 0.1;  // The square is the relative error of the linear theory.
    const Mesh& mesh = model.mesh;
    for (const FixedSupport& support : model.fixed_supports) {
        if (support.normal) continue;
        std::vector<Index> nodes;
        for (const Cells& cells : mesh.group(support.group).cells) {
            nodes.insert(nodes.end(), cells.nodes.begin(), cells.nodes.end());
        }
        if (nodes.empty()) continue;
        const Vector origin = point_of(mesh, nodes[0]);
        double farthest = 0, moved = 0;
        for (const Index node : nodes) {
            const Vector x = point_of(mesh, node);
            const Vector u = support.displacement(x), other = support.displacement(origin);
            Vector apart{}, against{};
            for (std::size_t i = 0; i < std::size_t(mesh.dimensions); ++i) {
                apart[i] = x[i] - origin[i];
                against[i] = support.components[i] ? u[i] - other[i] : 0;
            }
            if (!(length(apart) > farthest)) continue;
            farthest = length(apart);
            moved = length(against) / farthest;
        }
        if (!(moved > small)) continue;
        warnings.push_back(
            concat("the prescribed displacements of '", support.group, "' turn or stretch it by ",
                   number_text(moved, std::chars_format::general, 2),
                   " of its extent, and linear theory holds for small ones: turned by an angle, a "
                   "body also grows by half the square of it; prescribe a tenth of them, and scale "
                   "the results"));
    }
}

bool is_heated(const Model& model) {
    const auto is_some = [](double value) { return value != 0; };
    if (!model.node_temperatures.empty()) {
        return std::ranges::any_of(model.node_temperatures, is_some);
    }
    return model.temperature != 0 || std::ranges::any_of(model.temperatures, [](const auto& entry) {
               return entry.second != 0;
           });
}

bool expands(const Model& model) {
    return !is_zero(model.material.expansion) ||
           std::ranges::any_of(model.materials,
                               [](const auto& entry) { return !is_zero(entry.second.expansion); });
}

}  // namespace

std::vector<std::string> find_warnings(const Context& cpu, const Model& model,
                                       const System& system) {
    std::vector<std::string> warnings;
    const bool has_density = std::ranges::any_of(
        model.materials, [](const auto& entry) { return entry.second.density > 0; });
    if ((model.material.density > 0 || has_density) && is_zero(model.gravity) &&
        is_zero(model.spin)) {
        warnings.emplace_back("there is a density, but gravity and spin are zero and move nothing");
    }
    if (model.body_force && has_no_body_force(model)) {
        warnings.emplace_back("the body force is zero and moves nothing; check its components");
    }
    if (is_heated(model) != expands(model)) {
        warnings.emplace_back(is_heated(model)
                                  ? "the temperature changes, but nothing expands with it"
                                  : "there is a thermal expansion, but no change of temperature");
    }
    add_soft_springs(model, warnings);
    add_large_turns(model, warnings);
    for (const LoadShare& load : system.load_shares) {
        warnings.push_back(load_warning(load, model.mesh.dimensions));
        if (warnings.back().empty()) warnings.pop_back();
    }
    const bool loaded = !system.load_shares.empty() || model.body_force ||
                        !is_zero(model.gravity) || !is_zero(model.spin) || is_heated(model);
    if (warnings.empty() && loaded &&
        std::ranges::all_of(system.load, [](double value) { return value == 0; })) {
        warnings.emplace_back(
            "the loads are zero or cancel each other on every node, so that nothing moves; check "
            "their components");
    }
    if (std::string text = curved_support_warning(model, system); !text.empty()) {
        warnings.push_back(std::move(text));
    }
    const ThinElement thin = find_thin_element(cpu, model.mesh);
    if (thin.element >= 0) {
        warnings.push_back(
            concat(thin.description, " is only ",
                   number_text(thin.thickness, std::chars_format::scientific, 1),
                   " times as thick as long: its stiffness is so much larger than that of "
                   "other elements that rounding spoils theirs; move its nodes apart, or "
                   "remove it"));
    }
    add_gaps(cpu, model.mesh, warnings);
    add_locking(cpu, model, warnings);
    add_wild_stresses(model, warnings);
    return warnings;
}

}  // namespace tessera::elasticity
