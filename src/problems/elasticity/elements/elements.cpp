#include "problems/elasticity/elements/elements.hpp"

#include <limits>

#include "base/concat.hpp"
#include "problems/unknown_name.hpp"

namespace tessera::elasticity {

namespace {

/// Relative Jacobians below this are rounding errors: the cofactors and sums of three rows are
/// about 20 operations on products of at most their lengths.
constexpr double flat = 32 * std::numeric_limits<double>::epsilon();

/// Jacobians of elements of other lengths are out of range, or lose digits.
constexpr double shortest = 1e-90, longest = 1e90;

template <CellShape S>
bool is_valid_element(const Mesh& mesh, std::span<const Index> nodes) {
    double points[node_count(S)][dimensions(S)];
    gather<S>(mesh, nodes, points);
    const Geometry inside(reference_points<S>(), points);
    if (!(inside.quality > flat)) return false;
    if constexpr (!is_first_order(S)) {
        // Curved elements may be inverted outside of all points that are used.
        return Geometry(reference_points<S, Rule::centre>(), points).quality > flat &&
               Geometry(reference_points<S, Rule::accurate>(), points).quality > flat;
    } else if constexpr (is_simplex(S)) {
        return true;
    } else {
        // A corner of 180 degrees is allowed.
        return Geometry(reference_points<S, Rule::corners>(), points).quality >= -flat;
    }
}

/// The largest distance of a node from the first one along an axis.
double extent(const Mesh& mesh, std::span<const Index> nodes) {
    double longest_edge = 0;
    for (int i = 0; i < mesh.dimensions; ++i) {
        for (const Index node : nodes) {
            const double edge = std::abs(mesh.points[std::size_t(node) * mesh.dimensions + i] -
                                         mesh.points[std::size_t(nodes[0]) * mesh.dimensions + i]);
            if (!(edge <= longest_edge)) longest_edge = edge;
        }
    }
    return longest_edge;
}

}  // namespace

Elements::Elements(const Mesh& mesh) : mesh_(mesh), starts_{0} {
    validate(mesh);
    for (const Cells& cells : mesh.elements) {
        starts_.push_back(starts_.back() +
                          Index(cells.nodes.size() / std::size_t(node_count(cells.shape))));
    }
}

std::string Elements::description(Index element) const {
    std::string text = concat("element ", element, " (", to_string(shape(element)), ") with nodes");
    const char* separator = " ";
    for (const Index node : nodes(element)) {
        text += concat(separator, node, " at (");
        for (int i = 0; i < mesh_.dimensions; ++i) {
            text += (i > 0 ? ", " : "") +
                    number_text(mesh_.points[std::size_t(node) * mesh_.dimensions + i]);
        }
        text += ")";
        separator = ", ";
    }
    return text;
}

void Elements::check_geometry(const Context& cpu) const {
    constexpr Offset elements_per_part = 4096;
    const Offset parts = count() / elements_per_part + 1;
    std::vector<Index> wrong(std::size_t(parts), -1);
    parallel_parts(cpu.threads(), count(), parts, [&](Offset part, Offset first, Offset last) {
        for (Index element = Index(first); element < last; ++element) {
            const bool sound = with_shape(element, [&](auto shape) {
                return is_valid_element<decltype(shape)::value>(mesh_, nodes(element));
            });
            if (!sound) {
                wrong[part] = element;
                return;
            }
        }
    });
    for (const Index element : wrong) {
        if (element < 0) continue;
        const double size = extent(mesh_, nodes(element));
        require(!(size >= longest || (size > 0 && size <= shortest)), description(element), " is ",
                number_text(size),
                " long; give the mesh in another unit of length, its elements "
                "between ",
                number_text(shortest), " and ", number_text(longest), " long");
        throw InvalidArgument(concat(
            description(element),
            " is inverted or flat: its corners must not lie on one line or plane, and have the ",
            mesh_.dimensions == 2 ? "order counterclockwise"
                                  : "order of mesh.hpp (of a tetrahedron the fourth on the side "
                                    "from which the first three run counterclockwise)",
            is_first_order(shape(element)) ? ""
                                           : "; nodes of its edges must lie near their middle (in "
                                             "Gmsh, Mesh.HighOrderOptimize "
                                             "= 1 moves them)"));
    }
}

namespace {

const MeshGroup* group_of_elements(const Mesh& mesh, const std::string& name) {
    const auto found = std::ranges::find_if(mesh.groups, [&](const MeshGroup& group) {
        return group.name == name && group.dimensions == mesh.dimensions;
    });
    return found == mesh.groups.end() ? nullptr : &*found;
}

}  // namespace

std::vector<Index> elements_of(const Mesh& mesh, const std::string& name) {
    const Elements elements(mesh);
    std::vector<Index> found;
    if (const MeshGroup* const group = group_of_elements(mesh, name)) {
        std::vector<CellKey<Index>> cells;
        for (const Cells& part : group->cells) {
            const auto count = std::size_t(node_count(part.shape));
            for (std::size_t at = 0; at + count <= part.nodes.size(); at += count) {
                cells.push_back(cell_key(part.shape, std::span(part.nodes).subspan(at, count)));
            }
        }
        std::ranges::sort(cells);
        for (Index element = 0; element < elements.count(); ++element) {
            if (std::ranges::binary_search(
                    cells, cell_key(elements.shape(element), elements.nodes(element)))) {
                found.push_back(element);
            }
        }
        return found;
    }
    std::vector<std::string> names = mesh.region_names;
    const auto region = std::ranges::find(names, name) - names.begin();
    if (std::size_t(region) == names.size()) {
        for (const MeshGroup& group : mesh.groups) {
            if (group.dimensions == mesh.dimensions) names.push_back(group.name);
        }
        throw InvalidArgument(concat("the mesh has no region ", unknown_name(name, names)));
    }
    for (std::size_t element = 0; element < mesh.regions.size(); ++element) {
        if (mesh.regions[element] == region) found.push_back(Index(element));
    }
    return found;
}

ThinElement find_thin_element(const Context& cpu, const Mesh& mesh) {
    const Elements elements(mesh);
    std::vector<double> thickness(std::size_t(elements.count()));
    elements.each<Rule::stiffness>(cpu, [&](Index element, const auto& geometry) {
        double steepest = 0;
        for (const auto& at_point : geometry.gradients) {
            for (const auto& gradient : at_point) {
                double squares = 0;
                for (const double component : gradient) squares += component * component;
                steepest = std::max(steepest, std::sqrt(squares));
            }
        }
        thickness[element] = 1 / steepest / extent(mesh, elements.nodes(element));
    });
    const double bound = std::sqrt(std::numeric_limits<double>::epsilon());
    const auto thinnest = std::ranges::min_element(thickness);
    if (thinnest == thickness.end() || !(*thinnest < bound)) return {};
    const auto element = Index(thinnest - thickness.begin());
    return {element, *thinnest, elements.description(element)};
}

Stiffness::Stiffness(const Model& model) : regions_(model.mesh.regions) {
    const Mesh& mesh = model.mesh;
    const ElasticLaw standard = elastic_law(model, model.material, "the material");
    const std::vector<std::string>& names = mesh.region_names;
    for (const auto& [name, material] : model.materials) {
        const bool is_region = std::ranges::find(names, name) != names.end();
        if (!is_region && group_of_elements(mesh, name) == nullptr) elements_of(mesh, name);
        elastic_law(model, material, name);
    }
    for (const std::string& name : names) {
        const auto own = model.materials.find(name);
        laws_.push_back(own == model.materials.end() ? standard
                                                     : elastic_law(model, own->second, name));
    }
    for (const int region : regions_) {
        require(region >= 0 && std::size_t(region) < names.size(), "an element is of region ",
                region, ", counted from 0; the mesh has ", names.size());
    }
    add_groups(model);
    laws_.push_back(standard);
    add_temperatures(model);
}

/// The materials of elements in several groups.
void Stiffness::add_groups(const Model& model) {
    const Mesh& mesh = model.mesh;
    const auto is_group = [&](const auto& named) {
        return group_of_elements(mesh, named.first) != nullptr;
    };
    if (std::ranges::none_of(model.materials, is_group)) return;
    by_element_.assign(std::size_t(mesh.element_count()), -1);
    std::vector<const std::string*> names;  // By index of laws_ less `first`.
    const std::size_t first = laws_.size();
    for (const auto& [name, material] : model.materials) {
        for (const Index element : elements_of(mesh, name)) {
            int& own = by_element_[element];
            if (own >= 0) {
                const std::string& other = *names[std::size_t(own) - first];
                require(model.materials.at(other) == material, Elements(mesh).description(element),
                        " is in the groups '", other, "' and '", name,
                        "', which have different materials; give the material for one of them, "
                        "or the same for both");
            }
            own = int(laws_.size());
        }
        names.push_back(&name);
        laws_.push_back(elastic_law(model, material, name));
    }
    for (int& own : by_element_) {
        if (own < 0) own = int(laws_.size());  // The default, which follows.
    }
}

namespace {

void check_temperature(double temperature, const std::string& owner) {
    require(std::isfinite(temperature), "the change of temperature of ", owner, ", ",
            number_text(temperature), ", is not a number");
}

/// The change of temperature of each element.
std::vector<double> element_temperatures(const Model& model) {
    const Mesh& mesh = model.mesh;
    std::vector<double> found(std::size_t(mesh.element_count()), model.temperature);
    std::vector<const std::string*> owners(found.size(), nullptr);
    for (const auto& [name, temperature] : model.temperatures) {
        check_temperature(temperature, "'" + name + "'");
        for (const Index element : elements_of(mesh, name)) {
            const auto k = std::size_t(element);
            require(owners[k] == nullptr || found[k] == temperature,
                    Elements(mesh).description(element), " is in '", *owners[k], "' and '", name,
                    "', which have different changes of temperature");
            found[k] = temperature;
            owners[k] = &name;
        }
    }
    return found;
}

}  // namespace

void Stiffness::add_temperatures(const Model& model) {
    const std::vector<double>& at_nodes = model.node_temperatures;
    require(at_nodes.empty() || at_nodes.size() == std::size_t(model.mesh.node_count()),
            "there are ", at_nodes.size(), " temperatures of nodes, not ", model.mesh.node_count());
    for (const double temperature : at_nodes) check_temperature(temperature, "a node");
    check_temperature(model.temperature, "the model");
    // Laws without expansion stay equal: so do the materials of an estimate of the error.
    const auto expands = [](const ElasticLaw& law) {
        return std::ranges::any_of(law.expansion, [](double share) { return share != 0; });
    };
    for (ElasticLaw& law : laws_) law.temperature = expands(law) ? model.temperature : 0;
    if (model.temperatures.empty() || !at_nodes.empty()) return;
    const std::vector<double> temperatures = element_temperatures(model);
    std::vector<int> by_element(temperatures.size());
    std::map<std::pair<const ElasticLaw*, double>, int> known;
    std::vector<ElasticLaw> laws;
    for (std::size_t element = 0; element < temperatures.size(); ++element) {
        const ElasticLaw& law = (*this)[Index(element)];
        const auto [entry, is_new] =
            known.try_emplace({&law, temperatures[element]}, int(laws.size()));
        if (is_new) {
            laws.push_back(law);
            if (expands(law)) laws.back().temperature = temperatures[element];
        }
        by_element[element] = entry->second;
    }
    laws_ = std::move(laws);
    by_element_ = std::move(by_element);
}

}  // namespace tessera::elasticity
