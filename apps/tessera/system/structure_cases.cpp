#include <algorithm>

#include "system/structure_words.hpp"

namespace tessera::cli {

namespace {

using elasticity::FixedSupport;

FixedSupport* find_support(std::vector<FixedSupport>& supports, const std::string& group) {
    const auto found = std::ranges::find(supports, group, &FixedSupport::group);
    return found == supports.end() ? nullptr : &*found;
}

/// Adds the supports of a case to those of all, at 0 where they are new. Throws InvalidArgument
/// where they prescribe other components, or are new and do not move.
void add_common(const CaseArguments& given, const std::vector<FixedSupport>& of_case,
                const Mesh& mesh, std::vector<FixedSupport>& supports) {
    for (const FixedSupport& support : of_case) {
        if (const FixedSupport* const known = find_support(supports, support.group)) {
            if (known->components == support.components && known->normal == support.normal) {
                continue;
            }
            throw InvalidArgument("--case " + given.name + " prescribes other components of '" +
                                  support.group +
                                  "' than before; supports are common to all cases");
        }
        const std::string prefix = support.group + "=";
        const bool rotates = std::ranges::any_of(
            given.loads.rotate, [&](const std::string& text) { return text.starts_with(prefix); });
        LoadArguments alone;
        for (const std::string& text : given.loads.fix) {
            if (text == support.group || text.starts_with(prefix)) alone.fix = {text};
        }
        if (!rotates && first_moving_fix(alone, &mesh).empty()) {
            throw InvalidArgument("--case " + given.name + " fixes '" + support.group +
                                  "'; supports are common to all cases: put --fix before the "
                                  "first --case, after it only displacements that are not zero");
        }
        supports.push_back({support.group, support.components});
    }
}

}  // namespace

void Structure::select(const LoadCase& load_case) {
    static_cast<elasticity::Loads&>(model) = load_case.loads;
    model.fixed_supports = load_case.fixed_supports;
    system.load = load_case.load;
    system.prescribed = load_case.prescribed;
    system.load_shares = load_case.load_shares;
}

std::vector<LoadCase> make_cases(const MeshArguments& arguments, elasticity::Model& model,
                                 bool needs_load) {
    std::vector<std::vector<FixedSupport>> own;
    for (const CaseArguments& given : arguments.cases) {
        own.push_back(make_supports(given.loads, model));
        add_common(given, own.back(), model.mesh, model.fixed_supports);
    }
    const elasticity::Loads common = model;
    std::vector<LoadCase> cases;
    for (std::size_t k = 0; k < arguments.cases.size(); ++k) {
        const CaseArguments& given = arguments.cases[k];
        if (needs_load && !has_load(arguments, model.mesh) && !has_load(given.loads, model.mesh) &&
            !is_moved_by_equations(model)) {
            throw InvalidArgument("no load acts in --case " + given.name +
                                  "; add one after it, or before the first --case for all");
        }
        add_loads(given.loads, model);
        LoadCase made{given.name, model, model.fixed_supports, {}, {}, {}};
        for (const FixedSupport& support : own[k]) {
            find_support(made.fixed_supports, support.group)->displacement = support.displacement;
        }
        cases.push_back(std::move(made));
        static_cast<elasticity::Loads&>(model) = common;
    }
    return cases;
}

void assemble_structure(const Context& context, const Context& host, const MeshArguments& arguments,
                        bool needs_load, Structure& structure) {
    structure.cases = make_cases(arguments, structure.model, needs_load);
    structure.sections = arguments.section;
    for (const std::string& group : structure.sections) {  // Wrong ones are named before the solve.
        const std::vector<double> none(structure.model.mesh.points.size(), 0);
        elasticity::find_section(host, structure.model, none, group);
    }
    if (structure.cases.empty()) {
        structure.system = elasticity::assemble(context, structure.model);
        return;
    }
    for (LoadCase& load_case : structure.cases) {
        structure.select(load_case);
        const bool is_first = &load_case == &structure.cases.front();
        elasticity::System other;
        elasticity::System& system = is_first ? structure.system : other;
        system = is_first ? elasticity::assemble(context, structure.model)
                          : elasticity::assemble_load(host, structure.model);
        load_case.load = system.load;
        load_case.prescribed = system.prescribed;
        load_case.load_shares = system.load_shares;
    }
    structure.select(structure.cases.front());
}

std::vector<std::string> warnings_of_cases(const Context& host, Structure& structure) {
    const auto find = [&] {
        return elasticity::find_warnings(host, structure.model, structure.system);
    };
    if (structure.cases.empty()) return find();
    std::vector<std::vector<std::string>> found;
    for (const LoadCase& load_case : structure.cases) {
        structure.select(load_case);
        found.push_back(find());
    }
    std::vector<std::string> all;
    for (std::size_t k = 0; k < found.size(); ++k) {
        for (const std::string& warning : found[k]) {
            const bool is_common = std::ranges::all_of(found, [&](const auto& of_case) {
                return std::ranges::find(of_case, warning) != of_case.end();
            });
            // A density or an expansion that this case does not use is for others.
            const bool is_of_others = warning.starts_with("there is a ");
            if (is_common && k == 0) all.push_back(warning);
            if (is_common || is_of_others) continue;
            all.push_back("case " + structure.cases[k].name + ": " + warning);
        }
    }
    return all;
}

}  // namespace tessera::cli
