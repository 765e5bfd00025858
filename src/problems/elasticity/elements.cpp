#include "problems/elasticity/elements.hpp"

#include <limits>
#include <numeric>

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
    double points[corners(S)][dimensions(S)];
    gather<S>(mesh, nodes, points);
    const Geometry inside(reference_points<S>(), points);
    if (!(inside.quality > flat)) return false;
    if constexpr (is_simplex(S)) {
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

Stiffness::Lame lame_of(const Material& material, const std::string& owner, int dimensions) {
    const auto& [young, poisson] = material;
    const bool plane = dimensions == 2;
    require(young > 0 && std::isfinite(young), owner, ": Young's modulus ", number_text(young),
            " is not a positive number");
    require(poisson > -1 && (plane ? poisson <= 0.5 : poisson < 0.5), owner, ": Poisson's ratio ",
            number_text(poisson), " is not in (-1, 0.5", plane ? "]" : ")");
    return {young * poisson / (plane ? 1 - poisson * poisson : (1 + poisson) * (1 - 2 * poisson)),
            young / (2 * (1 + poisson))};
}

}  // namespace

Elements::Elements(const Mesh& mesh) : mesh_(mesh), starts_{0} {
    validate(mesh);
    for (const Cells& cells : mesh.elements) {
        starts_.push_back(starts_.back() +
                          Index(cells.nodes.size() / std::size_t(corners(cells.shape))));
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
                                    "from which the first three run counterclockwise)"));
    }
}

NodeElements::NodeElements(const Elements& elements)
    : starts_(std::size_t(elements.mesh().node_count()) + 1, 0) {
    for (Index element = 0; element < elements.count(); ++element) {
        for (const Index node : elements.nodes(element)) ++starts_[node + 1];
    }
    std::partial_sum(starts_.begin(), starts_.end(), starts_.begin());
    elements_.resize(std::size_t(starts_.back()));
    std::vector<Offset> next(starts_.begin(), starts_.end() - 1);
    for (Index element = 0; element < elements.count(); ++element) {
        for (const Index node : elements.nodes(element)) elements_[next[node]++] = element;
    }
}

Stiffness::Stiffness(const Model& model)
    : regions_(model.mesh.regions),
      default_(lame_of(model.material, "the material", model.mesh.dimensions)) {
    const std::vector<std::string>& names = model.mesh.region_names;
    for (const auto& [name, material] : model.materials) {
        if (std::ranges::find(names, name) != names.end()) continue;
        throw InvalidArgument(concat("the mesh has no region ", unknown_name(name, names)));
    }
    for (const std::string& name : names) {
        const auto own = model.materials.find(name);
        by_region_.push_back(own == model.materials.end()
                                 ? default_
                                 : lame_of(own->second, name, model.mesh.dimensions));
    }
    for (const int region : regions_) {
        require(region >= 0 && std::size_t(region) < names.size(), "an element is of region ",
                region, ", counted from 0; the mesh has ", names.size());
    }
}

}  // namespace tessera::elasticity
