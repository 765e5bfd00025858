#include "system/structure.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "report/text.hpp"
#include "system/structure_words.hpp"

namespace tessera::cli {

namespace {

using elasticity::Vector;

/// Components of a vector, some of which may be free.
struct Components {
    int count = 0;
    Vector values{};
    std::array<bool, 3> given{};
};

Components components(const std::string& option, const std::string& given, const std::string& text,
                      bool may_be_free) {
    const std::vector<std::string> words = items(text);
    if (words.size() < 2 || words.size() > 3) {
        throw InvalidArgument(option + " " + given + ": give two or three components, such as " +
                              (may_be_free ? "0,free" : "0,-1"));
    }
    Components result;
    for (const std::string& word : words) {
        const std::size_t i = std::size_t(result.count++);
        result.given[i] = !(may_be_free && word == "free");
        if (result.given[i]) result.values[i] = number(option, given, word);
    }
    return result;
}

void check_count(const std::string& option, const std::string& given, const Components& components,
                 int dimensions) {
    if (components.count == dimensions) return;
    throw InvalidArgument(option + " " + given + " has " + std::to_string(components.count) +
                          " components, but the mesh has " + std::to_string(dimensions) +
                          " dimensions");
}

struct NamedVector {
    std::string option, text, group;
    Components vector;
};

NamedVector named_vector(const std::string& option, const std::string& text) {
    const Assignment assignment = split(text);
    if (assignment.name.empty() || assignment.value.empty()) {
        throw InvalidArgument(option + " " + text + ": write " + option + " GROUP=X,Y[,Z]");
    }
    return {option, text, assignment.name, components(option, text, assignment.value, false)};
}

bool has_group(const Mesh& mesh, const std::string& name) {
    return std::any_of(mesh.groups.begin(), mesh.groups.end(),
                       [&](const MeshGroup& group) { return group.name == name; });
}

/// The whole text may be the name of a group of the mesh, if there is one.
NamedVector parse_fix(const std::string& text, const Mesh* mesh = nullptr) {
    const Assignment assignment = split(text);
    if (assignment.name.empty()) {
        throw InvalidArgument("--fix " + text + ": name a group of the mesh");
    }
    const bool is_group = mesh != nullptr && has_group(*mesh, text);
    const bool may_be_group = mesh == nullptr && assignment.value.find(',') == std::string::npos;
    if (mesh != nullptr && !is_group && assignment.value == "normal") {
        Components fixed;
        fixed.given[std::size_t(elasticity::normal_axis(*mesh, assignment.name))] = true;
        return {"--fix", text, assignment.name, fixed};
    }
    if (is_group || may_be_group || text.rfind('=') == std::string::npos) {
        return {"--fix", text, text, {0, {}, {true, true, true}}};
    }
    return {"--fix", text, assignment.name, components("--fix", text, assignment.value, true)};
}

NamedNumber named_pressure(const std::string& text) {
    if (split(text).name.empty() || text.rfind('=') == std::string::npos) {
        throw InvalidArgument("--pressure " + text + ": write --pressure GROUP=NUMBER");
    }
    return named_number("--pressure", text);
}

/// Whether a --fix prescribes a displacement that is not zero.
bool moves(const NamedVector& fix) {
    return std::any_of(fix.vector.values.begin(), fix.vector.values.end(),
                       [](double value) { return value != 0; });
}

bool has_load(const elasticity::Model& model, const MeshArguments& arguments) {
    return !model.tractions.empty() || !model.forces.empty() || !model.pressures.empty() ||
           model.body_force || !arguments.gravity.empty() ||
           std::ranges::any_of(arguments.fix, [&](const std::string& text) {
               return moves(parse_fix(text, &model.mesh));
           });
}

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
    add("--fix", fix);
    add("--load", load);
    add("--traction", traction);
    add("--pressure", pressure);
    add_one("--body-force", body_force);
    add_one("--gravity", gravity);
    add("--density", density);
    add("--young", young);
    add("--poisson", poisson);
    add("--orthotropic", orthotropic);
    add("--axes", axes);
    add_one("--thickness", thickness);
    add_one("--plane", plane);
    if (formulation != MeshArguments().formulation) add_one("--formulation", formulation);
    return all;
}

std::string MeshArguments::first_load_option() const {
    if (!load.empty()) return "--load";
    if (!traction.empty()) return "--traction";
    if (!pressure.empty()) return "--pressure";
    if (!body_force.empty()) return "--body-force";
    if (!gravity.empty()) return "--gravity";
    for (const std::string& text : fix) {
        if (moves(parse_fix(text))) return "--fix " + text;
    }
    return {};
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
    for (const std::string& text : arguments.fix) parse_fix(text);
    for (const std::string& text : arguments.load) named_vector("--load", text);
    for (const std::string& text : arguments.traction) named_vector("--traction", text);
    for (const std::string& text : arguments.pressure) named_pressure(text);
    check_material_arguments(arguments);
    if (!arguments.body_force.empty()) {
        components("--body-force", arguments.body_force, arguments.body_force, false);
    }
    if (!arguments.gravity.empty()) {
        components("--gravity", arguments.gravity, arguments.gravity, false);
    }
    if (arguments.gravity.empty() != arguments.density.empty()) {
        throw InvalidArgument(arguments.gravity.empty()
                                  ? "--density has no effect without --gravity X,Y[,Z]"
                                  : "--gravity needs --density RHO, or --density REGION=RHO");
    }
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
    for (const std::string& text : arguments.fix) {
        const NamedVector fix = parse_fix(text, &model.mesh);
        if (fix.vector.count > 0) check_count(fix.option, text, fix.vector, d);
        model.mesh.group(fix.group);
        // The last --fix of a group is used, so that a component can be freed again.
        std::erase_if(model.fixed_supports,
                      [&](const auto& support) { return support.group == fix.group; });
        model.fixed_supports.push_back(
            {fix.group, fix.vector.given, elasticity::constant(fix.vector.values)});
    }
    for (const std::string& text : arguments.load) {
        const NamedVector load = named_vector("--load", text);
        check_count(load.option, text, load.vector, d);
        model.forces.push_back({model.mesh.group(load.group).name, load.vector.values});
    }
    for (const std::string& text : arguments.traction) {
        const NamedVector load = named_vector("--traction", text);
        check_count(load.option, text, load.vector, d);
        model.tractions.push_back(
            {model.mesh.group(load.group).name, elasticity::constant(load.vector.values)});
    }
    for (const std::string& text : arguments.pressure) {
        const NamedNumber given = named_pressure(text);
        model.pressures.emplace_back(model.mesh.group(given.region).name, given.value);
    }
    if (!arguments.gravity.empty()) {
        const Components gravity =
            components("--gravity", arguments.gravity, arguments.gravity, false);
        check_count("--gravity", arguments.gravity, gravity, d);
        model.gravity = gravity.values;
    }
    if (!arguments.body_force.empty()) {
        const Components force =
            components("--body-force", arguments.body_force, arguments.body_force, false);
        check_count("--body-force", arguments.body_force, force, d);
        model.body_force = elasticity::constant(force.values);
    }
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
    add_materials(arguments, model);
    if (needs_load && !has_load(model, arguments)) {
        throw InvalidArgument(
            "no load acts on the structure: add --load GROUP=X,Y[,Z], --traction, --pressure, "
            "--body-force, --gravity, or --fix with a displacement that is not zero; the groups "
            "are " +
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
    const bool axisymmetric = structure.model.plane == elasticity::PlaneKind::axisymmetric;
    return std::string(fixed ? "the fixed supports of '" : "'") + name +
           (fixed
                ? std::string("' allow it, or a part that is not connected to the rest, to move ") +
                      (axisymmetric ? "along the axis" : "as a rigid body")
                : "' has no fixed support") +
           "; add --fix GROUP (the groups are " + group_names(structure.model.mesh) +
           "), or --allow-singular to solve it anyway";
}

}  // namespace tessera::cli
