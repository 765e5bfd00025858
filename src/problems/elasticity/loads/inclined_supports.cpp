#include <map>

#include "problems/elasticity/axes_of_nodes.hpp"
#include "problems/elasticity/loads/faces.hpp"

namespace tessera::elasticity {

namespace {

/// A normal of a surface at a node, with the number of its support.
struct NodeNormal {
    Vector direction{};
    int owner = 0;
};

Vector unit(Vector vector) {
    const double size = length(vector);
    for (double& component : vector) component /= size;
    return vector;
}

/// visit(node, normal) for the nodes of an edge or face of shape S, with normals as long as about
/// its area, to the side from which its corners run counterclockwise, of an edge to its right.
template <CellShape S, class Visit>
void each_node_normal(const Mesh& mesh, std::span<const Index> nodes, Visit&& visit) {
    constexpr int count = node_count(S), axes = dimensions(S), d = axes + 1;
    constexpr double reference_area = is_simplex(S) ? 0.5 : power(2, axes);
    double points[count][d];
    gather<S>(mesh, nodes, points);
    for (int c = 0; c < count; ++c) {
        const ReferencePoint at = node_point(S, c);
        Dual<axes> x[axes];
        for (int k = 0; k < axes; ++k) x[k] = Dual<axes>::variable(k, at[std::size_t(k)]);
        Vector tangents[2]{{}, {0, 0, 1}};
        if (axes == 2) tangents[1] = {};
        for (int b = 0; b < count; ++b) {
            const Dual<axes> function = shape_function<S>(b, x);
            for (int k = 0; k < axes; ++k) {
                for (int i = 0; i < d; ++i) {
                    tangents[k][std::size_t(i)] += function.slopes[k] * points[b][i];
                }
            }
        }
        const auto& [s, t] = tangents;
        visit(nodes[std::size_t(c)], Vector{reference_area * (s[1] * t[2] - s[2] * t[1]),
                                            reference_area * (s[2] * t[0] - s[0] * t[2]),
                                            reference_area * (s[0] * t[1] - s[1] * t[0])});
    }
}

using Normals = std::map<Index, std::vector<NodeNormal>>;

/// Adds the outward unit normals of a group's surface at its nodes.
void add_normals(const Elements& elements, const NodeElements& node_elements,
                 const MeshGroup& group, int owner, Normals& normals) {
    const Mesh& mesh = elements.mesh();
    std::map<Index, Vector> sums;
    for (const Cells& cells : group.cells) {
        select_shape<CellShape::segment, CellShape::segment3, CellShape::triangle,
                     CellShape::triangle6, CellShape::quadrilateral, CellShape::quadrilateral8,
                     CellShape::quadrilateral9>(cells.shape, [&](auto shape) {
            constexpr CellShape s = decltype(shape)::value;
            for (std::size_t at = 0; at < cells.nodes.size(); at += node_count(s)) {
                const auto nodes = std::span(cells.nodes).subspan(at, node_count(s));
                const int sign = outward_direction(elements, node_elements, nodes.first(corners(s)),
                                                   "the normal of '" + group.name + "'");
                each_node_normal<s>(mesh, nodes, [&](Index node, const Vector& normal) {
                    Vector& sum = sums[node];
                    for (std::size_t i = 0; i < 3; ++i) sum[i] += sign * normal[i];
                });
            }
        });
    }
    for (const auto& [node, sum] : sums) {
        require(length(sum) > 0, "group '", group.name, "' has no normal at node ", node);
        normals[node].push_back({unit(sum), owner});
    }
}

/// Joins normals that differ by less than 20 degrees: those of parts of one curved surface.
std::vector<NodeNormal> joined(const std::vector<NodeNormal>& given) {
    constexpr double cosine = 0.9396926207859084;
    std::vector<NodeNormal> found;
    for (const NodeNormal& normal : given) {
        const auto same = std::ranges::find_if(found, [&](const NodeNormal& other) {
            return dot(normal.direction, unit(other.direction)) > cosine;
        });
        if (same == found.end()) {
            found.push_back(normal);
            continue;
        }
        for (std::size_t i = 0; i < 3; ++i) same->direction[i] += normal.direction[i];
        same->owner = normal.owner;
    }
    return found;
}

/// The axes of a node in their making: first those along which it is held.
struct HeldAxes {
    std::vector<Vector> axes;
    std::vector<double> values;
    std::vector<int> owners;

    /// The part of a direction across the axes, which is short where they span it.
    Vector rest_of(Vector direction, double* value = nullptr) const {
        for (std::size_t k = 0; k < axes.size(); ++k) {
            const double along = dot(direction, axes[k]);
            for (std::size_t i = 0; i < 3; ++i) direction[i] -= along * axes[k][i];
            if (value != nullptr) *value -= along * values[k];
        }
        return direction;
    }
    /// Prescribes the displacement along a direction; without effect where it is held already.
    bool hold(const Vector& direction, double value, int owner) {
        const Vector rest = rest_of(direction, &value);
        const double size = length(rest);
        if (!(size > 1e-6)) return false;
        axes.push_back(unit(rest_of(unit(rest))));  // Orthogonal in spite of rounding.
        values.push_back(value / size);
        owners.push_back(owner);
        return true;
    }
    /// Adds free axes, as near x, y and z as possible.
    void complete(std::size_t d) {
        while (axes.size() < d) {
            Vector best{};
            for (std::size_t i = 0; i < d; ++i) {
                Vector direction{};
                direction[i] = 1;
                const Vector rest = rest_of(direction);
                if (length(rest) > length(best)) best = rest;
            }
            axes.push_back(unit(rest_of(unit(best))));
        }
    }
};

}  // namespace

void add_inclined_supports(const Model& model, const Elements& elements,
                           const NodeElements& node_elements, System& system,
                           std::vector<int>& owners) {
    const Mesh& mesh = model.mesh;
    const auto d = std::size_t(mesh.dimensions);
    Normals normals;
    for (std::size_t k = 0; k < model.fixed_supports.size(); ++k) {
        const FixedSupport& support = model.fixed_supports[k];
        if (!support.normal || normal_axis(mesh, support.group) >= 0) continue;
        const MeshGroup& group = mesh.group(support.group);
        check_cells(mesh, group, mesh.dimensions - 1, "the support",
                    concat("a normal needs ", d == 2 ? "segments" : "faces"), node_elements);
        add_normals(elements, node_elements, group, int(k), normals);
    }
    for (const auto& [node, of_groups] : normals) {
        const std::size_t first = std::size_t(node) * d;
        HeldAxes held;
        for (std::size_t i = 0; i < d; ++i) {
            if (system.unknowns[first + i] >= 0) continue;
            Vector direction{};
            direction[i] = 1;
            held.hold(direction, system.prescribed[first + i], owners[first + i]);
        }
        bool is_new = false;
        for (const NodeNormal& normal : joined(of_groups)) {
            is_new |= held.hold(unit(normal.direction), 0, normal.owner);
        }
        if (!is_new) continue;
        const std::size_t count = held.axes.size();
        held.complete(d);
        System::NodeAxes turned{node, {}};
        for (std::size_t i = 0; i < d; ++i) {
            turned.axes[i] = held.axes[i];
            system.unknowns[first + i] = i < count ? -1 : 0;
            system.prescribed[first + i] = i < count ? held.values[i] : 0;
            owners[first + i] = i < count ? held.owners[i] : -1;
        }
        system.node_axes.push_back(turned);
    }
}

}  // namespace tessera::elasticity
