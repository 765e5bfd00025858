#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>

#include "system/structure_words.hpp"

/// The options --rigid, --couple, --tie and --equation.
namespace tessera::cli {

namespace {

using elasticity::Equation;
using elasticity::EquationTerm;

constexpr const char* equation_form =
    "write such as 'pin.x - 2 lever.y + 0.5 17.z = 0', with a group of one point or the number of "
    "a node, counted from 0, and blanks around + and -";

/// "pin.x": a node by its name, and an axis.
struct Place {
    std::string name;
    int axis = 0;
};

/// Throws InvalidArgument unless a word is a place.
Place parse_place(const std::string& option, const std::string& word) {
    const std::size_t n = word.size();
    const bool is_place = n > 2 && word[n - 2] == '.' && word[n - 1] >= 'x' && word[n - 1] <= 'z';
    if (!is_place) {
        throw InvalidArgument(option + ": '" + word + "' is neither a number nor such as pin.x; " +
                              equation_form);
    }
    return {word.substr(0, n - 2), word[n - 1] - 'x'};
}

struct ParsedEquation {
    std::vector<std::pair<double, Place>> terms;
    double value = 0;
};

/// Throws InvalidArgument for what is no equation.
ParsedEquation parse_equation(const std::string& option, const std::string& text) {
    const std::size_t equals = text.rfind('=');
    if (equals == std::string::npos) {
        throw InvalidArgument(option + " has no '='; " + equation_form);
    }
    std::string left = text.substr(0, equals), right = text.substr(equals + 1);
    std::ranges::replace(left, '*', ' ');
    std::erase(right, ' ');
    ParsedEquation equation;
    const std::string reason = parse_real(right, equation.value);
    if (!reason.empty()) {
        throw InvalidArgument(option + ": the right side '" + right + "' is " + reason + "; " +
                              equation_form);
    }
    std::istringstream words(left);
    double coefficient = 1;
    bool is_open = false;  // A sign or a number that waits for its place.
    for (std::string word; words >> word;) {
        if (word == "+" || word == "-") {
            if (is_open)
                throw InvalidArgument(option + ": '" + word +
                                      "' follows a sign or a number that has no displacement; " +
                                      equation_form);
            coefficient = word == "-" ? -1 : 1;
            is_open = true;
            continue;
        }
        double factor = 0;
        if (parse_real(word, factor).empty()) {
            coefficient *= factor;
            is_open = true;
            continue;
        }
        const bool is_negative = word.front() == '-' || word.front() == '+';
        if (word.front() == '-') coefficient = -coefficient;
        equation.terms.emplace_back(coefficient,
                                    parse_place(option, is_negative ? word.substr(1) : word));
        coefficient = 1;
        is_open = false;
    }
    if (is_open || equation.terms.empty()) {
        throw InvalidArgument(option + " ends without a displacement; " + equation_form);
    }
    return equation;
}

/// An equation, or the lines of a file of equations, and what they are called.
struct EquationTexts {
    std::string name;
    std::vector<std::string> lines;
};

EquationTexts texts_of(const std::string& given) {
    if (given.find('=') != std::string::npos) return {given, {given}};
    std::ifstream file(given);
    if (!file) {
        throw InvalidArgument("--equation " + given + ": it has no '=' and is no file; " +
                              equation_form);
    }
    EquationTexts texts{"equations of " + given, {}};
    for (std::string line; std::getline(file, line);) {
        if (const std::size_t comment = line.find('#'); comment != std::string::npos) {
            line.resize(comment);
        }
        std::erase(line, '\r');
        if (line.find_first_not_of(" \t") != std::string::npos) texts.lines.push_back(line);
    }
    if (texts.lines.empty()) throw InvalidArgument("--equation " + given + ": the file has none");
    return texts;
}

Index node_of(const Mesh& mesh, const std::string& option, const std::string& name) {
    const auto group = std::ranges::find(mesh.groups, name, &MeshGroup::name);
    if (group != mesh.groups.end()) {
        const bool is_point =
            group->dimensions == 0 && group->cells.size() == 1 && group->cells[0].nodes.size() == 1;
        if (is_point) return group->cells[0].nodes[0];
        throw InvalidArgument(option + ": group '" + name + "' is not one point; " + equation_form);
    }
    Index node = 0;
    const char* const end = name.data() + name.size();
    const auto [rest, error] = std::from_chars(name.data(), end, node);
    if (error != std::errc() || rest != end) mesh.group(name);  // Throws with the known names.
    return node;
}

/// GROUP=x,y or GROUP=plane.
struct Coupling {
    std::string group;
    std::array<bool, 3> axes{};
    bool is_plane = false;
};

Coupling parse_coupling(const std::string& text) {
    const Assignment assignment = split(text);
    Coupling coupling{assignment.name, {}, assignment.value == "plane"};
    bool is_valid = !assignment.name.empty() && !assignment.value.empty();
    if (coupling.is_plane && is_valid) return coupling;
    for (const std::string& word : items(assignment.value)) {
        is_valid = is_valid && word.size() == 1 && word[0] >= 'x' && word[0] <= 'z';
        if (is_valid) coupling.axes[std::size_t(word[0] - 'x')] = true;
    }
    if (!is_valid) {
        throw InvalidArgument("--couple " + text +
                              ": write --couple GROUP=x, GROUP=x,y or such, or GROUP=plane");
    }
    return coupling;
}

/// GROUP=GROUP.
Assignment parse_tie(const std::string& text) {
    const Assignment assignment = split(text);
    if (!assignment.name.empty() && !assignment.value.empty()) return assignment;
    throw InvalidArgument("--tie " + text +
                          ": write --tie GROUP=GROUP, the one of the finer mesh first");
}

std::string option_of(const std::string& line) { return "--equation '" + line + "'"; }

}  // namespace

void check_constraint_arguments(const MeshArguments& arguments) {
    for (const std::string& text : arguments.couple) parse_coupling(text);
    for (const std::string& text : arguments.tie) parse_tie(text);
    for (const std::string& text : arguments.equation) {
        for (const std::string& line : texts_of(text).lines) parse_equation(option_of(line), line);
    }
}

bool is_moved_by_equations(const elasticity::Model& model) {
    return std::ranges::any_of(model.equations,
                               [](const Equation& equation) { return equation.value != 0; });
}

void add_constraints(const MeshArguments& arguments, elasticity::Model& model) {
    const Mesh& mesh = model.mesh;
    const auto add = [&](std::vector<Equation> equations) {
        std::ranges::move(equations, std::back_inserter(model.equations));
    };
    for (const std::string& group : arguments.rigid) {
        add(elasticity::rigid_body(mesh, group, model.plane));
    }
    for (const std::string& text : arguments.couple) {
        const Coupling coupling = parse_coupling(text);
        if (coupling.axes[2] && mesh.dimensions == 2) {
            throw InvalidArgument("--couple " + text + ": the mesh is plane, without z");
        }
        add(coupling.is_plane
                ? elasticity::plane_stays_plane(mesh, coupling.group)
                : elasticity::equal_displacements(mesh, coupling.group, coupling.axes));
    }
    for (const std::string& text : arguments.tie) {
        const auto [group, onto] = parse_tie(text);
        add(elasticity::tie(mesh, group, onto));
    }
    for (const std::string& text : arguments.equation) {
        const EquationTexts texts = texts_of(text);
        for (const std::string& line : texts.lines) {
            const std::string option = option_of(line);
            const ParsedEquation parsed = parse_equation(option, line);
            Equation equation{texts.name, {}, parsed.value};
            for (const auto& [coefficient, place] : parsed.terms) {
                equation.terms.push_back(
                    {node_of(mesh, option, place.name), place.axis, coefficient});
            }
            model.equations.push_back(std::move(equation));
        }
    }
}

}  // namespace tessera::cli
