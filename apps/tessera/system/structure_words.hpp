#pragma once

#include <string>
#include <vector>

#include "system/structure.hpp"
#include "tessera/spec.hpp"

/// The words of options of meshes.
namespace tessera::cli {

/// "GROUP=VALUE" cut at the last '='; names of groups may contain anything.
struct Assignment {
    std::string name, value;
};

inline Assignment split(const std::string& text) {
    const auto equals = text.rfind('=');
    if (equals == std::string::npos) return {text, {}};
    return {text.substr(0, equals), text.substr(equals + 1)};
}

inline double number(const std::string& option, const std::string& given, const std::string& text) {
    double value = 0;
    const std::string reason = parse_real(text, value);
    if (reason.empty()) return value;
    throw InvalidArgument(option + " " + given + ": '" + text + "' is " + reason);
}

inline std::vector<std::string> items(const std::string& text) {
    std::vector<std::string> all(1);
    for (const char c : text) {
        if (c == ',') {
            all.emplace_back();
        } else if (c != ' ') {
            all.back() += c;
        }
    }
    return all;
}

/// A number for all regions, or for one.
struct NamedNumber {
    std::string region;
    double value = 0;
};

inline NamedNumber named_number(const std::string& option, const std::string& text) {
    const Assignment assignment = split(text);
    const bool all = text.rfind('=') == std::string::npos;
    if (!all && assignment.name.empty()) {
        throw InvalidArgument(option + " " + text + ": write " + option + " NUMBER or " + option +
                              " REGION=NUMBER");
    }
    return {all ? "" : assignment.name,
            number(option, text, all ? assignment.name : assignment.value)};
}

/// The first --fix with a displacement that is not zero, or empty; `mesh` may be unknown.
std::string first_moving_fix(const LoadArguments& arguments, const Mesh* mesh);

/// Throws InvalidArgument for options of loads and supports that are invalid for every mesh.
void check_load_arguments(const MeshArguments& arguments);

/// Whether something loads the mesh: a load, or a prescribed displacement that is not zero.
bool has_load(const LoadArguments& arguments, const Mesh& mesh);

/// Whether an equation has a value that is not zero, which moves something in all cases.
bool is_moved_by_equations(const elasticity::Model& model);

/// The supports of --fix and --rotate. Throws InvalidArgument for unknown groups and for numbers
/// that do not fit the mesh.
std::vector<elasticity::FixedSupport> make_supports(const LoadArguments& arguments,
                                                    const elasticity::Model& model);

/// Adds the springs of a model, likewise.
void add_springs(const MeshArguments& arguments, elasticity::Model& model);

/// Throws InvalidArgument for options of equations that are invalid for every mesh.
void check_constraint_arguments(const MeshArguments& arguments);

/// Adds the equations of a model, likewise.
void add_constraints(const MeshArguments& arguments, elasticity::Model& model);

/// Adds loads to those of a model, likewise.
void add_loads(const LoadArguments& arguments, elasticity::Model& model);

/// Throws InvalidArgument for options of materials that are invalid for every mesh.
void check_material_arguments(const MeshArguments& arguments);

/// Sets the materials of a model: of single regions, and of all others. Throws InvalidArgument for
/// unknown regions, and for options that are given for some regions, but neither for the others nor
/// for all.
void add_materials(const MeshArguments& arguments, elasticity::Model& model);

}  // namespace tessera::cli
