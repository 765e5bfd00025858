#include "system/structure.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "report/text.hpp"
#include "system/structure_words.hpp"

namespace tessera::cli {

namespace {

/// "node 3 at (0, 1)", or "nodes 3 at (0, 1), 4 at (1, 1) and 7 more", counted from 0.
std::string nodes_text(const Mesh& mesh, const std::vector<Index>& nodes) {
    constexpr std::size_t max_listed = 3;
    std::string text = nodes.size() == 1 ? "node" : "nodes";
    for (std::size_t k = 0; k < std::min(nodes.size(), max_listed); ++k) {
        text += (k == 0 ? " " : ", ") + std::to_string(nodes[k]) + " at ";
        for (int i = 0; i < mesh.dimensions; ++i) {
            const double x = mesh.points[std::size_t(nodes[k]) * mesh.dimensions + i];
            text += (i == 0 ? "(" : ", ") + format("%.6g", x);
        }
        text += ")";
    }
    if (nodes.size() > max_listed) {
        text += " and " + std::to_string(nodes.size() - max_listed) + " more";
    }
    return text + " (counted from 0)";
}

std::string group_names(const Mesh& mesh) {
    std::string names;
    for (const MeshGroup& group : mesh.groups) names += (names.empty() ? "" : ", ") + group.name;
    return names.empty() ? "none: name parts of the boundary as physical groups in Gmsh" : names;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> MeshArguments::given_options() const {
    std::vector<std::pair<std::string, std::string>> all;
    const auto add = [&](const char* option, const std::vector<std::string>& texts) {
        for (const std::string& text : texts) all.emplace_back(option, text);
    };
    const auto add_one = [&](const char* option, const std::string& text) {
        if (!text.empty()) all.emplace_back(option, text);
    };
    const auto add_loads_of = [&](const LoadArguments& loads) {
        for (const auto& [option, member] : load_options) add(option, loads.*member);
    };
    add("--density", density);
    add("--young", young);
    add("--poisson", poisson);
    add("--orthotropic", orthotropic);
    add("--axes", axes);
    add("--expansion", expansion);
    add("--spring", spring);
    add("--rigid", rigid);
    add("--couple", couple);
    add("--tie", tie);
    add("--equation", equation);
    add_one("--thickness", thickness);
    add("--section", section);
    add_one("--plane", plane);
    if (formulation != MeshArguments().formulation) add_one("--formulation", formulation);
    add_loads_of(*this);
    for (const CaseArguments& given : cases) {
        all.emplace_back("--case", given.name);
        add_loads_of(given.loads);
    }
    return all;
}

std::string MeshArguments::first_load_option() const {
    if (!cases.empty()) return "--case";
    if (!load.empty()) return "--load";
    if (!moment.empty()) return "--moment";
    if (!traction.empty()) return "--traction";
    if (!pressure.empty()) return "--pressure";
    if (!body_force.empty()) return "--body-force";
    if (!gravity.empty()) return "--gravity";
    if (!spin.empty()) return "--spin";
    if (!temperature.empty()) return "--temperature";
    if (!rotate.empty()) return "--rotate";
    const std::string moving = first_moving_fix(*this, nullptr);
    return moving.empty() ? "" : "--fix " + moving;
}

std::string MeshArguments::first_option_given() const {
    const auto all = given_options();
    return all.empty() ? (vtu.empty() ? "" : "--vtu") : all.front().first;
}

const char* plane_name(elasticity::PlaneKind plane) {
    switch (plane) {
        case elasticity::PlaneKind::strain:
            return "strain";
        case elasticity::PlaneKind::axisymmetric:
            return "axisymmetric";
        default:
            return "stress";
    }
}

bool is_mesh_file(const std::string& path) {
    std::string lower = path;
    for (char& c : lower) c = c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c;
    if (lower.ends_with(".msh") || lower.ends_with(".msh.gz")) return true;
    std::error_code error;
    if (!std::filesystem::is_regular_file(path, error)) return false;  // A pipe is read only once.
    constexpr std::string_view start = "$MeshFormat";
    std::string head(start.size(), ' ');
    return std::ifstream(path).read(head.data(), std::streamsize(head.size())) && head == start;
}

void check_mesh_arguments(const MeshArguments& arguments) {
    check_load_arguments(arguments);
    check_constraint_arguments(arguments);
    check_material_arguments(arguments);
    if (!arguments.thickness.empty()) {
        number("--thickness", arguments.thickness, arguments.thickness);
    }
    if (!arguments.vtu.empty() && !arguments.vtu.ends_with(".vtu")) {
        throw InvalidArgument("--vtu: '" + arguments.vtu + "' must end in .vtu");
    }
}

elasticity::Model make_model(Mesh mesh, const MeshArguments& arguments, bool needs_load) {
    elasticity::Model model;
    model.mesh = std::move(mesh);
    const int d = model.mesh.dimensions;
    if (arguments.formulation == "full") {
        model.formulation = elasticity::Formulation::full_integration;
    }
    if (!arguments.plane.empty()) {
        if (d == 3) throw InvalidArgument("--plane is for plane meshes; this one is solid");
        using elasticity::PlaneKind;
        for (const auto kind : {PlaneKind::stress, PlaneKind::strain, PlaneKind::axisymmetric}) {
            if (arguments.plane == plane_name(kind)) model.plane = kind;
        }
    }
    if (!arguments.thickness.empty()) {
        if (model.plane == elasticity::PlaneKind::axisymmetric) {
            throw InvalidArgument(
                "--thickness is for plane stress and plane strain; an axisymmetric body extends "
                "over the full circle");
        }
        if (d == 3) throw InvalidArgument("--thickness is for plane meshes; this one is solid");
        model.thickness = number("--thickness", arguments.thickness, arguments.thickness);
    }
    model.fixed_supports = make_supports(arguments, model);
    add_springs(arguments, model);
    add_constraints(arguments, model);
    add_loads(arguments, model);
    add_materials(arguments, model);
    if (needs_load && arguments.cases.empty() && !has_load(arguments, model.mesh) &&
        !is_moved_by_equations(model)) {
        throw InvalidArgument(
            "no load acts on the structure: add --load GROUP=X,Y[,Z], --moment, --traction, "
            "--pressure, "
            "--body-force, --gravity, --spin, --temperature, --rotate, or --fix with a "
            "displacement that "
            "is not zero; the groups are " +
            group_names(model.mesh));
    }
    return model;
}

std::string rigid_motion_message(const std::string& name, const Structure& structure) {
    const Mesh& mesh = structure.model.mesh;
    if (!structure.system.hinge_nodes.empty()) {
        return "parts of '" + name + "' hang together only by the " +
               nodes_text(mesh, structure.system.hinge_nodes) +
               " and can move against each other there: a mechanism; join them by common " +
               (mesh.dimensions == 2 ? "edges" : "faces") +
               " of elements, support each of them by --fix, or add --allow-singular to solve it "
               "anyway";
    }
    const bool fixed = !structure.model.fixed_supports.empty();
    const bool sprung = !structure.model.springs.empty();
    const bool axisymmetric = structure.model.plane == elasticity::PlaneKind::axisymmetric;
    return std::string(fixed && sprung ? "the fixed supports and springs of '"
                       : fixed         ? "the fixed supports of '"
                       : sprung        ? "the springs of '"
                                       : "'") +
           name +
           (fixed || sprung
                ? std::string("' allow it, or a part that is not connected to the rest, to move ") +
                      (axisymmetric ? "along the axis" : "as a rigid body")
                : "' has no fixed support") +
           "; add --fix GROUP (the groups are " + group_names(structure.model.mesh) +
           (fixed || sprung ? "), --tie GROUP=GROUP where parts touch" : ")") +
           ", or --allow-singular to solve it anyway";
}

}  // namespace tessera::cli
