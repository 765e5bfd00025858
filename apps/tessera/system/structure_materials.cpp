#include <algorithm>
#include <array>

#include "report/text.hpp"
#include "system/structure_words.hpp"

namespace tessera::cli {

namespace {

using elasticity::Orthotropic;
using elasticity::Vector;

/// One of the options of a material, and the number that it sets, if it is one number.
struct MaterialOption {
    const char* name;
    const char* symbol;
    const std::vector<std::string>& texts;
    double elasticity::Material::*member = nullptr;
};

std::array<MaterialOption, 3> material_options(const MeshArguments& arguments) {
    return {{{"--young", "E", arguments.young, &elasticity::Material::young_modulus},
             {"--poisson", "NU", arguments.poisson, &elasticity::Material::poisson_ratio},
             {"--density", "RHO", arguments.density, &elasticity::Material::density}}};
}

/// Several numbers for all regions, or for one.
struct NamedNumbers {
    std::string region;
    std::vector<double> values;
};

NamedNumbers named_numbers(const std::string& option, const std::string& text) {
    const Assignment assignment = split(text);
    const bool all = text.rfind('=') == std::string::npos;
    NamedNumbers given{all ? "" : assignment.name, {}};
    for (const std::string& word : items(all ? assignment.name : assignment.value)) {
        given.values.push_back(number(option, text, word));
    }
    return given;
}

NamedNumbers named_expansion(const std::string& text) {
    NamedNumbers given = named_numbers("--expansion", text);
    if (given.values.size() == 1) given.values.resize(3, given.values[0]);
    if (given.values.size() == 3) return given;
    throw InvalidArgument("--expansion " + text + " has " + std::to_string(given.values.size()) +
                          " numbers; write --expansion [REGION=]ALPHA, or three along the axes "
                          "of the material");
}

NamedNumbers named_constants(const std::string& text) {
    NamedNumbers given = named_numbers("--orthotropic", text);
    if (given.values.size() == 9) return given;
    throw InvalidArgument("--orthotropic " + text + " has " + std::to_string(given.values.size()) +
                          " numbers; write --orthotropic "
                          "[REGION=]E1,E2,E3,NU12,NU23,NU13,G12,G23,G13");
}

NamedNumbers named_axes(const std::string& text) {
    NamedNumbers given = named_numbers("--axes", text);
    if (given.values.size() == 2) {  // In the plane; direction 2 is to the left.
        const double x = given.values[0], y = given.values[1];
        given.values = {x, y, 0, -y, x, 0};
    }
    if (given.values.size() == 6) return given;
    throw InvalidArgument("--axes " + text + " has " + std::to_string(given.values.size()) +
                          " numbers; write --axes [REGION=]X1,Y1 in the plane, or "
                          "[REGION=]X1,Y1,Z1,X2,Y2,Z2");
}

/// The numbers of a region in a list of options, else of all regions; the last one of each is used.
const NamedNumbers* find_numbers(const std::vector<NamedNumbers>& list, const std::string& region) {
    const NamedNumbers* found = nullptr;
    for (const NamedNumbers& given : list) {
        const bool is_own = found != nullptr && found->region == region;
        if (given.region == region || (given.region.empty() && !is_own)) found = &given;
    }
    return found;
}

/// Throws InvalidArgument for an option that is given for some regions, but neither for the others
/// nor for all: a default beside given values is hardly meant; and for unknown regions. Orthotropic
/// regions need neither --young nor --poisson.
void check_all_regions(const MaterialOption& option, const std::vector<std::string>& orthotropic,
                       const Mesh& mesh) {
    const bool is_elastic = option.member == &elasticity::Material::young_modulus ||
                            option.member == &elasticity::Material::poisson_ratio;
    const bool has_default = option.member == &elasticity::Material::poisson_ratio;
    if (option.texts.empty() && (!is_elastic || has_default || orthotropic.empty())) return;
    std::vector<char> given(std::size_t(mesh.element_count()), 0);
    const auto add = [&](const std::string& region) {
        for (const Index element : elasticity::elements_of(mesh, region)) given[element] = 1;
    };
    bool for_all = false;
    for (const std::string& text : option.texts) {
        const std::string region = named_numbers(option.name, text).region;
        region.empty() ? void(for_all = true) : add(region);
    }
    for (const std::string& text : orthotropic) {
        if (!is_elastic) break;
        const std::string region = named_constants(text).region;
        region.empty() ? void(for_all = true) : add(region);
    }
    if (for_all) return;
    std::vector<char> is_missing(mesh.region_names.size(), 0);
    for (std::size_t element = 0; element < mesh.regions.size(); ++element) {
        if (given[element] == 0) is_missing[std::size_t(mesh.regions[element])] = 1;
    }
    std::vector<std::string> missing;
    for (std::size_t region = 0; region < is_missing.size(); ++region) {
        if (is_missing[region] != 0) missing.push_back(mesh.region_names[region]);
    }
    if (missing.empty()) return;
    const std::string name = option.name;
    std::string list, one;
    for (const std::string& region : missing) {
        list += (list.empty() ? "" : ", ") + (region.empty() ? "(no name)" : region);
        if (one.empty() && !region.empty()) {
            one = name + " " + shell_word(region + "=" + option.symbol) +
                  (missing.size() > 1 ? " and so on" : "") + ", or ";
        }
    }
    throw InvalidArgument((option.texts.empty() ? "--orthotropic" : name) +
                          " is given for some regions, but not for " + list + "; add " + one +
                          name + " " + option.symbol + " for all other regions");
}

/// Sets the orthotropic constants and directions.
void add_orthotropic(const MeshArguments& arguments, elasticity::Model& model) {
    std::vector<NamedNumbers> constants, axes;
    for (const std::string& text : arguments.orthotropic) {
        constants.push_back(named_constants(text));
    }
    for (const std::string& text : arguments.axes) axes.push_back(named_axes(text));
    const auto make = [&](const std::string& region) {
        const std::vector<double>& c = find_numbers(constants, region)->values;
        Orthotropic made{{c[0], c[1], c[2]}, {c[3], c[4], c[5]}, {c[6], c[7], c[8]}};
        if (const NamedNumbers* const own = find_numbers(axes, region)) {
            const std::vector<double>& a = own->values;
            made.direction = {a[0], a[1], a[2]};
            made.second_direction = {a[3], a[4], a[5]};
        }
        return made;
    };
    const auto is_given = [](const std::vector<std::string>& texts, const std::string& region) {
        return std::ranges::any_of(texts, [&](const std::string& text) {
            return named_number("", text).region == region;
        });
    };
    for (const auto* list : {&constants, &axes}) {
        for (const NamedNumbers& given : *list) {
            const std::string& region = given.region;
            const std::string name = region.empty() ? "the material" : "'" + region + "'";
            if (find_numbers(constants, region) == nullptr) {
                throw InvalidArgument("--axes is for --orthotropic materials, which " + name +
                                      " is not");
            }
            if (is_given(arguments.young, region) ||
                (!region.empty() && is_given(arguments.poisson, region))) {
                throw InvalidArgument(name +
                                      " has --orthotropic constants and --young or "
                                      "--poisson; give one of them");
            }
            if (region.empty()) {
                model.material.orthotropic = make("");
            } else {
                model.materials.try_emplace(region, model.material).first->second.orthotropic =
                    make(region);
            }
        }
    }
    if (!model.material.orthotropic) return;
    for (auto& [region, material] : model.materials) {  // Those with a density of their own.
        if (is_given(arguments.young, region) || is_given(arguments.poisson, region)) continue;
        material.orthotropic = make(region);
    }
}

}  // namespace

void check_material_arguments(const MeshArguments& arguments) {
    for (const MaterialOption& option : material_options(arguments)) {
        for (const std::string& text : option.texts) named_number(option.name, text);
    }
    for (const std::string& text : arguments.orthotropic) named_constants(text);
    for (const std::string& text : arguments.axes) named_axes(text);
    for (const std::string& text : arguments.expansion) named_expansion(text);
    if (!arguments.axes.empty() && arguments.orthotropic.empty()) {
        throw InvalidArgument("--axes has no effect without --orthotropic");
    }
}

void add_materials(const MeshArguments& arguments, elasticity::Model& model) {
    const auto options = material_options(arguments);
    const auto for_numbers = [&](auto&& visit) {
        for (const MaterialOption& option : options) {
            for (const std::string& text : option.texts) {
                visit(named_number(option.name, text), option.member);
            }
        }
    };
    for (const MaterialOption& option : options) {
        check_all_regions(option, arguments.orthotropic, model.mesh);
    }
    for_numbers([&](const NamedNumber& given, auto member) {
        if (given.region.empty()) model.material.*member = given.value;
    });
    check_all_regions({"--expansion", "ALPHA", arguments.expansion}, {}, model.mesh);
    const auto set_expansions = [&](bool of_regions) {
        for (const std::string& text : arguments.expansion) {
            const auto [region, values] = named_expansion(text);
            if (region.empty() == of_regions) continue;
            auto& material = of_regions
                                 ? model.materials.try_emplace(region, model.material).first->second
                                 : model.material;
            std::ranges::copy(values, material.expansion.begin());
        }
    };
    set_expansions(false);
    for_numbers([&](const NamedNumber& given, auto member) {
        if (given.region.empty()) return;
        model.materials.try_emplace(given.region, model.material).first->second.*member =
            given.value;
    });
    set_expansions(true);
    add_orthotropic(arguments, model);
}

std::vector<std::pair<std::string, double>> default_values(const MeshArguments& arguments,
                                                           int dimensions) {
    std::vector<std::pair<std::string, double>> defaults;
    const bool all_orthotropic = !arguments.orthotropic.empty() && arguments.young.empty();
    for (const MaterialOption& option : material_options(arguments)) {
        const bool is_used = option.member != &elasticity::Material::density && !all_orthotropic;
        if (!option.texts.empty() || !is_used) continue;
        defaults.emplace_back(option.name + 2, elasticity::Material().*option.member);
    }
    if (dimensions == 2 && arguments.thickness.empty() && arguments.plane != "axisymmetric") {
        defaults.emplace_back("thickness", elasticity::Model().thickness);
    }
    return defaults;
}

}  // namespace tessera::cli
