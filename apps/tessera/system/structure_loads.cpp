#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <numbers>
#include <optional>
#include <string_view>

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
                              (may_be_free            ? "0,free, or the word normal"
                               : option == "--spring" ? "0,1"
                                                      : "0,-1"));
    }
    Components result;
    for (const std::string& word : words) {
        const std::size_t i = std::size_t(result.count++);
        result.given[i] = !(may_be_free && word == "free");
        if (result.given[i]) result.values[i] = number(option, given, word);
    }
    return result;
}

void check_count(const std::string& option, const std::string& given, int count, int dimensions) {
    if (count == dimensions) return;
    throw InvalidArgument(option + " " + given + " has " + std::to_string(count) +
                          " components, but the mesh has " + std::to_string(dimensions) +
                          " dimensions");
}

struct NamedVector {
    std::string group;
    Components vector;
    bool normal = false;  ///< Along the normals of an inclined or curved surface.
};

NamedVector named_vector(const std::string& option, const std::string& text) {
    const Assignment assignment = split(text);
    if (assignment.name.empty() || assignment.value.empty()) {
        throw InvalidArgument(option + " " + text + ": write " + option + " GROUP=X,Y[,Z]");
    }
    return {assignment.name, components(option, text, assignment.value, false)};
}

/// visit(group, vector) for the values of an option; throws InvalidArgument for unknown groups.
template <class Visit>
void each_vector(const char* option, const std::vector<std::string>& texts, const Mesh& mesh,
                 Visit&& visit) {
    for (const std::string& text : texts) {
        const NamedVector given = named_vector(option, text);
        check_count(option, text, given.vector.count, mesh.dimensions);
        visit(mesh.group(given.group).name, given.vector.values);
    }
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
        const int axis = elasticity::normal_axis(*mesh, assignment.name);
        if (axis >= 0) fixed.given[std::size_t(axis)] = true;
        return {assignment.name, fixed, axis < 0};
    }
    if (is_group || may_be_group || text.rfind('=') == std::string::npos) {
        return {text, {0, {}, {true, true, true}}};
    }
    return {assignment.name, components("--fix", text, assignment.value, true)};
}

NamedNumber named_pressure(const std::string& text) {
    if (split(text).name.empty() || text.rfind('=') == std::string::npos) {
        throw InvalidArgument("--pressure " + text + ": write --pressure GROUP=NUMBER");
    }
    return named_number("--pressure", text);
}

struct Moment {
    std::string group;
    int dimensions = 2;
    Vector vector{};
};

/// GROUP=M in the plane, GROUP=MX,MY,MZ in space.
Moment parse_moment(const std::string& text) {
    const Assignment assignment = split(text);
    const std::vector<std::string> words = items(assignment.value);
    if (assignment.name.empty() || assignment.value.empty() ||
        (words.size() != 1 && words.size() != 3)) {
        throw InvalidArgument("--moment " + text +
                              ": write --moment GROUP=M in the plane, or GROUP=MX,MY,MZ");
    }
    Moment moment{assignment.name, words.size() == 1 ? 2 : 3};
    for (std::size_t i = 0; i < words.size(); ++i) {
        moment.vector[words.size() == 1 ? 2 : i] = number("--moment", text, words[i]);
    }
    return moment;
}

/// An angle or a speed, a point of the axis, and in space its direction.
struct Turn {
    double size = 0;
    int dimensions = 2;
    Vector point{}, direction{0, 0, 1};
};

/// A turn of three or seven words, the first of which may end in a unit of the size `factor`.
Turn parse_turn(const std::string& option, const std::string& text, std::vector<std::string> words,
                std::string_view unit, double factor) {
    const bool has_unit = words[0].ends_with(unit);
    if (has_unit) words[0].resize(words[0].size() - unit.size());
    Turn turn{number(option, text, words[0]) * (has_unit ? factor : 1), words.size() == 3 ? 2 : 3};
    for (std::size_t i = 0; i < std::size_t(turn.dimensions); ++i) {
        turn.point[i] = number(option, text, words[1 + i]);
        if (words.size() == 7) turn.direction[i] = number(option, text, words[4 + i]);
    }
    return turn;
}

struct Rotation {
    std::string group;
    Turn turn;
};

/// A spin; without an axis that of axisymmetry.
Turn parse_spin(const std::string& text) {
    std::vector<std::string> words = items(text);
    if (words.size() == 1) words.insert(words.end(), {"0", "0", "0", "0", "1", "0"});
    if (words.size() != 3 && words.size() != 7) {
        throw InvalidArgument("--spin " + text +
                              ": write --spin SPEED,X,Y in the plane, SPEED,X,Y,Z,DX,DY,DZ in "
                              "space or SPEED in axisymmetry, with a SPEED in radians per time, or "
                              "such as 3000rpm");
    }
    const Turn turn = parse_turn("--spin", text, words, "rpm", std::numbers::pi / 30);
    if (std::hypot(turn.direction[0], turn.direction[1], turn.direction[2]) > 0) return turn;
    throw InvalidArgument("--spin " + text + ": the direction of the axis has no length");
}

Rotation parse_rotation(const std::string& text) {
    const Assignment assignment = split(text);
    const std::vector<std::string> words = items(assignment.value);
    if (assignment.name.empty() || (words.size() != 3 && words.size() != 7)) {
        throw InvalidArgument("--rotate " + text +
                              ": write --rotate GROUP=ANGLE,X,Y in the plane, or "
                              "GROUP=ANGLE,X,Y,Z,DX,DY,DZ, with an ANGLE in radians, or such as "
                              "0.5deg");
    }
    return {assignment.name, parse_turn("--rotate", text, words, "deg", std::numbers::pi / 180)};
}

/// The last of several texts with two or three components, if there is one.
std::optional<Vector> last_vector(const char* option, const std::vector<std::string>& texts,
                                  int dimensions) {
    if (texts.empty()) return {};
    const Components found = components(option, texts.back(), texts.back(), false);
    check_count(option, texts.back(), found.count, dimensions);
    return found.values;
}

void add_rotations(const LoadArguments& arguments, const elasticity::Model& model,
                   std::vector<elasticity::FixedSupport>& supports) {
    for (const std::string& text : arguments.rotate) {
        const Rotation rotation = parse_rotation(text);
        check_count("--rotate", text, rotation.turn.dimensions, model.mesh.dimensions);
        if (model.plane == elasticity::PlaneKind::axisymmetric) {
            throw InvalidArgument("--rotate " + text + ": a body of revolution cannot rotate");
        }
        const std::string group = model.mesh.group(rotation.group).name;
        if (std::ranges::find(supports, group, &elasticity::FixedSupport::group) !=
            supports.end()) {
            throw InvalidArgument("'" + group +
                                  "' has --fix and --rotate, or is rotated twice; give one of "
                                  "them");
        }
        supports.push_back({group,
                            {true, true, true},
                            elasticity::rotation(rotation.turn.size, rotation.turn.point,
                                                 rotation.turn.direction)});
    }
}

}  // namespace

std::string first_moving_fix(const LoadArguments& arguments, const Mesh* mesh) {
    for (const std::string& text : arguments.fix) {
        const Vector values = parse_fix(text, mesh).vector.values;
        if (std::ranges::any_of(values, [](double value) { return value != 0; })) return text;
    }
    return {};
}

namespace {

/// Throws InvalidArgument for options of loads that are invalid for every mesh.
void check_loads(const LoadArguments& arguments) {
    for (const std::string& text : arguments.fix) parse_fix(text);
    for (const std::string& text : arguments.load) named_vector("--load", text);
    for (const std::string& text : arguments.moment) parse_moment(text);
    for (const std::string& text : arguments.traction) named_vector("--traction", text);
    for (const std::string& text : arguments.pressure) named_pressure(text);
    for (const std::string& text : arguments.rotate) parse_rotation(text);
    for (const std::string& text : arguments.temperature) named_number("--temperature", text);
    for (const std::string& text : arguments.body_force) {
        components("--body-force", text, text, false);
    }
    for (const std::string& text : arguments.gravity) components("--gravity", text, text, false);
    for (const std::string& text : arguments.spin) parse_spin(text);
    for (const auto& [option, texts] :
         {std::pair{"--body-force", &arguments.body_force},
          std::pair{"--gravity", &arguments.gravity}, std::pair{"--spin", &arguments.spin}}) {
        if (texts->size() < 2) continue;
        throw InvalidArgument(std::string(option) + " is given more than once");
    }
}

void check_case_names(const std::vector<CaseArguments>& cases) {
    for (const CaseArguments& given : cases) {
        const bool is_plain =
            !given.name.empty() && std::ranges::all_of(given.name, [](unsigned char c) {
                return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.';
            });
        if (!is_plain) {
            throw InvalidArgument("--case '" + given.name +
                                  "': a name has letters, digits, '_', '-' and '.' only");
        }
        if (std::ranges::count(cases, given.name, &CaseArguments::name) > 1) {
            throw InvalidArgument("--case " + given.name + " is given more than once");
        }
    }
}

void set_spin(const std::string& text, elasticity::Model& model) {
    const Turn turn = parse_spin(text);
    const bool axisymmetric = model.plane == elasticity::PlaneKind::axisymmetric;
    const bool is_alone = items(text).size() == 1;
    if (axisymmetric != is_alone) {
        throw InvalidArgument("--spin " + text +
                              (axisymmetric ? ": an axisymmetric body spins about its axis; give "
                                              "the speed alone"
                                            : ": give a point of the axis, too"));
    }
    if (!axisymmetric) check_count("--spin", text, turn.dimensions, model.mesh.dimensions);
    const double size = std::hypot(turn.direction[0], turn.direction[1], turn.direction[2]);
    for (std::size_t i = 0; i < 3; ++i) model.spin[i] = turn.size * turn.direction[i] / size;
    model.spin_point = turn.point;
}

}  // namespace

void check_load_arguments(const MeshArguments& arguments) {
    check_case_names(arguments.cases);
    check_loads(arguments);
    for (const std::string& text : arguments.spring) named_vector("--spring", text);
    const auto uses_density = [](const LoadArguments& loads) {
        return !loads.gravity.empty() || !loads.spin.empty();
    };
    bool has_gravity = uses_density(arguments), is_heated = !arguments.temperature.empty();
    for (const CaseArguments& given : arguments.cases) {
        check_loads(given.loads);
        has_gravity = has_gravity || uses_density(given.loads);
        is_heated = is_heated || !given.loads.temperature.empty();
    }
    if (has_gravity == arguments.density.empty()) {
        throw InvalidArgument(has_gravity
                                  ? "--gravity and --spin need --density RHO, or --density "
                                    "REGION=RHO"
                                  : "--density has no effect without --gravity X,Y[,Z] or --spin");
    }
    if (is_heated == arguments.expansion.empty()) {
        throw InvalidArgument(is_heated ? "--temperature needs --expansion ALPHA, or --expansion "
                                          "REGION=ALPHA"
                                        : "--expansion has no effect without --temperature DT");
    }
}

namespace {

/// Whether a rotation is not zero.
bool turns(const LoadArguments& arguments) {
    return std::ranges::any_of(arguments.rotate, [](const std::string& text) {
        return parse_rotation(text).turn.size != 0;
    });
}

}  // namespace

bool has_load(const LoadArguments& arguments, const Mesh& mesh) {
    return !arguments.load.empty() || !arguments.moment.empty() || !arguments.traction.empty() ||
           !arguments.pressure.empty() || !arguments.body_force.empty() ||
           !arguments.gravity.empty() || !arguments.spin.empty() ||
           !arguments.temperature.empty() || turns(arguments) ||
           !first_moving_fix(arguments, &mesh).empty();
}

std::vector<elasticity::FixedSupport> make_supports(const LoadArguments& arguments,
                                                    const elasticity::Model& model) {
    std::vector<elasticity::FixedSupport> supports;
    for (const std::string& text : arguments.fix) {
        const NamedVector fix = parse_fix(text, &model.mesh);
        if (fix.vector.count > 0) {
            check_count("--fix", text, fix.vector.count, model.mesh.dimensions);
        }
        model.mesh.group(fix.group);
        // The last --fix of a group is used, so that a component can be freed again.
        std::erase_if(supports, [&](const auto& support) { return support.group == fix.group; });
        supports.push_back(
            {fix.group, fix.vector.given, elasticity::constant(fix.vector.values), fix.normal});
    }
    add_rotations(arguments, model, supports);
    return supports;
}

void add_springs(const MeshArguments& arguments, elasticity::Model& model) {
    each_vector("--spring", arguments.spring, model.mesh,
                [&](const std::string& group, const Vector& stiffness) {
                    model.springs.emplace_back(group, stiffness);
                });
}

void add_loads(const LoadArguments& arguments, elasticity::Model& model) {
    const Mesh& mesh = model.mesh;
    const int d = mesh.dimensions;
    each_vector("--load", arguments.load, mesh, [&](const std::string& group, const Vector& force) {
        model.forces.emplace_back(group, force);
    });
    for (const std::string& text : arguments.moment) {
        const Moment moment = parse_moment(text);
        if (moment.dimensions != d) {
            throw InvalidArgument("--moment " + text + ": give " +
                                  (d == 2 ? "one number, about z" : "three components"));
        }
        model.moments.emplace_back(mesh.group(moment.group).name, moment.vector);
    }
    each_vector("--traction", arguments.traction, mesh,
                [&](const std::string& group, const Vector& traction) {
                    model.tractions.emplace_back(group, elasticity::constant(traction));
                });
    for (const std::string& text : arguments.pressure) {
        const NamedNumber given = named_pressure(text);
        model.pressures.emplace_back(mesh.group(given.region).name, given.value);
    }
    for (const std::string& text : arguments.temperature) {
        const NamedNumber given = named_number("--temperature", text);
        (given.region.empty() ? model.temperature : model.temperatures[given.region]) = given.value;
    }
    if (const auto gravity = last_vector("--gravity", arguments.gravity, d)) {
        model.gravity = *gravity;
    }
    if (!arguments.spin.empty()) set_spin(arguments.spin.back(), model);
    if (const auto force = last_vector("--body-force", arguments.body_force, d)) {
        model.body_force = elasticity::constant(*force);
    }
}

}  // namespace tessera::cli
