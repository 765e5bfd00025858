#include <algorithm>
#include <limits>

#include "commands/commands.hpp"
#include "report/text.hpp"
#include "run/output.hpp"
#include "system/structure_words.hpp"
#include "tessera/io.hpp"

namespace tessera::cli {

namespace {

Offset cell_count(const Cells& cells) {
    return Offset(cells.nodes.size()) / node_count(cells.shape);
}

/// "quadrilaterals", "tetrahedron with 10 nodes".
std::string shape_text(CellShape shape, bool plural) {
    std::string name = to_string(shape);
    while (!name.empty() && name.back() >= '0' && name.back() <= '9') name.pop_back();
    if (plural) name += "s";
    return is_first_order(shape) ? name
                                 : name + " with " + std::to_string(node_count(shape)) + " nodes";
}

/// For example "400 quadrilaterals, 1 triangle".
std::string shapes_text(const std::vector<Cells>& parts) {
    std::string text;
    for (const Cells& cells : parts) {
        if (cells.nodes.empty()) continue;
        text += (text.empty() ? "" : ", ") + std::to_string(cell_count(cells)) + " " +
                shape_text(cells.shape, cell_count(cells) != 1);
    }
    return text.empty() ? "none" : text;
}

struct Extent {
    double low = std::numeric_limits<double>::infinity();
    double high = -std::numeric_limits<double>::infinity();
};

std::vector<Extent> extents(const Mesh& mesh) {
    std::vector<Extent> all(std::size_t(mesh.dimensions));
    for (std::size_t k = 0; k < mesh.points.size(); ++k) {
        Extent& axis = all[k % all.size()];
        axis.low = std::min(axis.low, mesh.points[k]);
        axis.high = std::max(axis.high, mesh.points[k]);
    }
    return all;
}

std::vector<Offset> region_sizes(const Mesh& mesh) {
    std::vector<Offset> sizes(mesh.region_names.size());
    for (const int region : mesh.regions) ++sizes[std::size_t(region)];
    return sizes;
}

const char* kind_of(const MeshGroup& group, const Mesh& mesh) {
    constexpr const char* kinds[] = {"points", "edges", "faces"};
    return group.dimensions == mesh.dimensions ? "elements" : kinds[group.dimensions];
}

/// A command with the first suitable groups.
std::string suggestion(const InfoArguments& arguments, const Mesh& mesh) {
    std::vector<std::string> groups;
    for (const MeshGroup& group : mesh.groups) {
        if (group.dimensions == mesh.dimensions - 1) groups.push_back(group.name);
    }
    if (groups.size() < 2) return {};
    return "tessera solve " + shell_file(arguments.matrix) + " --fix " +
           shell_word(groups.front()) + " --load " +
           shell_word(groups.back() + (mesh.dimensions == 2 ? "=0,-1" : "=0,-1,0")) +
           " --vtu out.vtu";
}

std::string to_table(const InfoArguments& arguments, const Mesh& mesh) {
    std::string table = io::printable(arguments.matrix) + "\n";
    const auto line = [&](const char* name, const std::string& what) {
        table += format("  %-16s %s\n", name, io::printable(what).c_str());
    };
    line("format", std::string("Gmsh mesh, ") + (mesh.dimensions == 2 ? "plane" : "solid"));
    line("nodes", std::to_string(mesh.node_count()));
    line("elements", shapes_text(mesh.elements));
    const std::vector<Extent> box = extents(mesh);
    for (std::size_t i = 0; i < box.size(); ++i) {
        line(std::string(1, "xyz"[i]).c_str(), format("%.6g .. %.6g", box[i].low, box[i].high));
    }
    const std::vector<Offset> sizes = region_sizes(mesh);
    for (std::size_t k = 0; k < sizes.size(); ++k) {
        line(k == 0 ? "regions" : "",
             (mesh.region_names[k].empty() ? "(no name)" : mesh.region_names[k]) + ": " +
                 std::to_string(sizes[k]) + " elements");
    }
    for (std::size_t k = 0; k < mesh.groups.size(); ++k) {
        const MeshGroup& group = mesh.groups[k];
        line(k == 0 ? "groups" : "",
             group.name + ": " + kind_of(group, mesh) + ", " + shapes_text(group.cells));
    }
    if (mesh.groups.empty()) {
        line("groups", "none; name parts of the boundary as physical groups in Gmsh");
    }
    const std::string command = suggestion(arguments, mesh);
    return command.empty() ? table : table + "\nTry: " + command + "\n";
}

std::string to_json(const InfoArguments& arguments, const Mesh& mesh) {
    JsonObject json, elements;
    for (const Cells& cells : mesh.elements) {
        if (!cells.nodes.empty()) elements.add(to_string(cells.shape), cell_count(cells));
    }
    std::vector<JsonObject> regions, groups;
    const std::vector<Offset> sizes = region_sizes(mesh);
    for (std::size_t k = 0; k < sizes.size(); ++k) {
        regions.push_back(JsonObject().add("name", mesh.region_names[k]).add("elements", sizes[k]));
    }
    for (const MeshGroup& group : mesh.groups) {
        Offset count = 0;
        for (const Cells& cells : group.cells) count += cell_count(cells);
        groups.push_back(JsonObject()
                             .add("name", group.name)
                             .add("dimensions", Offset(group.dimensions))
                             .add("cells", count));
    }
    json.add("schema", "tessera-mesh-info/1").add("version", version()).add("commit", commit());
    json.add("name", arguments.matrix).add("dimensions", Offset(mesh.dimensions));
    json.add("nodes", Offset(mesh.node_count())).add("elements", elements);
    json.add("regions", regions).add("groups", groups);
    const std::string command = suggestion(arguments, mesh);
    if (!command.empty()) json.add("suggestion", command);
    return json.text() + "\n";
}

std::string vector_text(const elasticity::Vector& vector, int dimensions) {
    return dimensions == 2 ? format("(%.6g, %.6g)", vector[0], vector[1])
                           : format("(%.6g, %.6g, %.6g)", vector[0], vector[1], vector[2]);
}

/// "x, y of 'left'"; the values where they are not zero.
std::string support_text(const elasticity::FixedSupport& support, int dimensions) {
    if (support.normal) return "normal of '" + support.group + "'";
    const elasticity::Vector values = support.displacement({});  // Options give constants.
    std::string text;
    for (std::size_t i = 0; i < std::size_t(dimensions); ++i) {
        if (!support.components[i]) continue;
        text += (text.empty() ? "" : ", ") + std::string(1, "xyz"[i]);
        if (values[i] != 0) text += format(" = %.6g", values[i]);
    }
    return text + " of '" + support.group + "'";
}

/// What the options say, and the system that solve would solve.
std::string structure_table(const InfoArguments& arguments, Structure& structure,
                            const Context& host) {
    std::string table = "\nWith these options:\n";
    const auto line = [&](const char* name, const std::string& what) {
        table += format("  %-16s %s\n", name, io::printable(what).c_str());
    };
    const elasticity::Model& model = structure.model;
    const int d = model.mesh.dimensions;
    using elasticity::FixedSupport;
    const std::vector<FixedSupport> common = make_supports(arguments.mesh, model);
    for (FixedSupport support : model.fixed_supports) {
        const bool rotates = std::ranges::any_of(
            arguments.mesh.rotate,
            [&](const std::string& text) { return text.starts_with(support.group + "="); });
        if (rotates) continue;
        if (!structure.cases.empty()) {  // What holds in all cases.
            const auto given = std::ranges::find(common, support.group, &FixedSupport::group);
            support.displacement =
                given == common.end() ? elasticity::constant({}) : given->displacement;
        }
        line("fixed", support_text(support, d));
    }
    for (const std::string& text : arguments.mesh.rotate) line("rotated", text);
    for (const auto& [group, stiffness] : model.springs) {
        line("spring", vector_text(stiffness, d) + " on '" + group + "'");
    }
    for (const std::string& group : arguments.mesh.rigid) line("rigid", "'" + group + "'");
    for (const std::string& text : arguments.mesh.couple) line("couple", text);
    for (const std::string& text : arguments.mesh.tie) line("tie", text);
    for (const std::string& text : arguments.mesh.equation) line("equation", text);
    const auto add_fields = [&](const LoadArguments& loads) {
        for (const std::string& text : loads.temperature) line("temperature", text);
        for (const std::string& text : loads.body_force) line("body force", text);
        for (const std::string& text : loads.gravity) line("gravity", text);
        for (const std::string& text : loads.spin) line("spin", text);
    };
    add_fields(arguments.mesh);
    const auto add_loads = [&](const std::vector<elasticity::LoadShare>& shares) {
        for (const elasticity::LoadShare& share : shares) {
            const bool is_moment = share.moment != elasticity::Vector{};
            const std::string moment =
                d == 2 ? format("%.6g", share.moment[2]) : vector_text(share.moment, d);
            line("load", (is_moment ? "moment " + moment : vector_text(share.total, d)) + " on '" +
                             share.group + "'");
        }
    };
    if (structure.cases.empty()) add_loads(structure.system.load_shares);
    for (std::size_t k = 0; k < structure.cases.size(); ++k) {
        const LoadArguments& own = arguments.mesh.cases[k].loads;
        line("case", structure.cases[k].name);
        add_loads(structure.cases[k].load_shares);
        for (const std::string& text : own.fix) line("moved", text);
        for (const std::string& text : own.rotate) line("rotated", text);
        add_fields(own);
    }
    for (const std::string& group : structure.sections) line("section", group);
    for (const auto& [name, value] : default_values(arguments.mesh, d)) {
        line("default", format("--%s %g", name.c_str(), value));
    }
    const Index rows = structure.system.matrix.rows();
    line("unknowns", std::to_string(rows) + ", " +
                         std::to_string(structure.system.matrix.nonzeros()) + " nonzeros");
    if (structure.system.known_singular) {
        line("singular", rigid_motion_message(arguments.matrix, structure));
    }
    for (const std::string& warning : warnings_of_cases(host, structure)) line("warning", warning);
    return table;
}

}  // namespace

int mesh_info(const InfoArguments& arguments) {
    const Context host = Context::cpu(arguments.threads);
    check_mesh_arguments(arguments.mesh);
    Mesh mesh = io::read_mesh(host, arguments.matrix);
    const std::string json = to_json(arguments, mesh);
    std::string table = to_table(arguments, mesh);
    if (!arguments.mesh.first_option_given().empty()) {
        Structure structure;
        structure.model = make_model(std::move(mesh), arguments.mesh, false);
        assemble_structure(host, host, arguments.mesh, false, structure);
        table += structure_table(arguments, structure, host);
    }
    if (!arguments.json.empty()) write_text(arguments.json, json);
    if (arguments.json != "-") write_text("-", table);
    return exit_converged;
}

}  // namespace tessera::cli
