#include <limits>

#include "problems/elasticity/loads/faces.hpp"
#include "problems/elasticity/loads/moments.hpp"
#include "problems/elasticity/loads/springs.hpp"
#include "problems/elasticity/results/element_forces.hpp"

namespace tessera::elasticity {

namespace {

Vector difference(const Vector& a, const Vector& b) {
    return {a[0] - b[0], a[1] - b[1], a[2] - b[2]};
}

/// Normal and centroid of a group of edges or faces, which must lie in a plane.
Section plane_of(const Model& model, const MeshGroup& group) {
    const Mesh& mesh = model.mesh;
    require(group.dimensions == mesh.dimensions - 1, "a section needs ",
            mesh.dimensions == 2 ? "edges" : "faces", "; group '", group.name, "' has none");
    check_nodes(mesh, group);
    Section section;
    double area = 0;
    each_point<Rule::stiffness>(
        model, group, [&](const auto&, const auto&, const Vector& normal, const Vector& point) {
            const double part = length(normal), sign = dot(section.normal, normal) < 0 ? -1 : 1;
            area += part;
            for (int i = 0; i < 3; ++i) {
                section.normal[i] += sign * normal[i];
                section.centre[i] += part * point[i];
            }
        });
    const double size = length(section.normal);
    require(size > 0, "section '", group.name, "' has no area");
    int largest = 0;  // The first one, up to rounding.
    for (int i = 1; i < 3; ++i) {
        if (std::abs(section.normal[i]) > 1.000001 * std::abs(section.normal[largest])) largest = i;
    }
    const double scale = (section.normal[largest] < 0 ? -1 : 1) / size;
    double extent = 0, away = 0;
    for (int i = 0; i < 3; ++i) {
        section.normal[i] *= scale;
        if (std::abs(section.normal[i]) < 1e-14) section.normal[i] = 0;  // Not -0.
        section.centre[i] /= area;
    }
    for (const Cells& cells : group.cells) {
        for (const Index node : cells.nodes) {
            const Vector from_centre = difference(point_of(mesh, node), section.centre);
            extent = std::max(extent, length(from_centre));
            away = std::max(away, std::abs(dot(from_centre, section.normal)));
        }
    }
    require(away <= 1e-6 * extent, "section '", group.name, "' does not lie in a plane");
    return section;
}

/// The nodes of a cut, and the side of it whose elements are summed.
struct CutSide {
    CutSide(const Mesh& of, Section& cut, const MeshGroup& group)
        : mesh(of), section(cut), is_cut(std::size_t(of.node_count()), 0) {
        for (const Cells& cells : group.cells) {
            for (const Index node : cells.nodes) {
                is_cut[std::size_t(node)] = 1;
                tolerance = std::max(tolerance, 2e-6 * length(from_centre(node)));
            }
        }
    }

    const Mesh& mesh;
    Section& section;
    std::vector<unsigned char> is_cut;
    double tolerance = 0;  ///< Nodes in the plane are not farther from it.
    double sign = 1;       ///< 1: behind; -1: ahead.

    Vector from_centre(Index node) const {
        return difference(point_of(mesh, node), section.centre);
    }
    /// The distance of a node ahead of the plane.
    double distance(Index node) const { return dot(from_centre(node), section.normal); }
    bool meets(std::span<const Index> nodes) const {
        return std::ranges::any_of(nodes, [&](Index node) { return is_cut[std::size_t(node)]; });
    }
    /// Whether an edge or face is on this side, not in the plane.
    bool has(std::span<const Index> nodes) const {
        double sum = 0;
        for (const Index node : nodes) sum += distance(node);
        return -sign * sum > tolerance * double(nodes.size());
    }
    /// Adds a force of this side on a node, if that is on the cut.
    void add(Index node, Vector force) const {
        if (!is_cut[std::size_t(node)]) return;
        for (double& component : force) component *= sign;
        add_force(section.sum, from_centre(node), force);
    }
};

/// Whether the plane goes on beside the cut, through an element or between it and another one.
bool goes_on(const Elements& elements, const std::vector<unsigned char>& surface, Index element,
             const CutSide& side) {
    bool is_behind = false, is_ahead = false;
    for (const Index node : elements.corner_nodes(element)) {
        is_behind |= side.distance(node) < -side.tolerance;
        is_ahead |= side.distance(node) > side.tolerance;
    }
    if (is_behind && is_ahead) return true;
    const CellShape shape = elements.shape(element);
    for (int face = 0; face < face_count(shape); ++face) {
        if (surface[std::size_t(element)] >> face & 1) continue;
        int in_plane = 0, on_cut = 0;
        const int count = corners(face_shape(shape, face));
        for (int k = 0; k < count; ++k) {
            const Index node = elements.nodes(element)[face_corner(shape, face, k)];
            in_plane += int(std::abs(side.distance(node)) <= side.tolerance);
            on_cut += int(side.is_cut[std::size_t(node)]);
        }
        if (in_plane == count && on_cut > 0 && on_cut < count) return true;
    }
    return false;
}

/// Subtracts the parts of loads and springs on edges or faces of a side, which act on the nodes of
/// the cut, too, but do not pass through it.
void subtract_loads(const Model& model, const Elements& elements,
                    std::span<const double> displacements, const CutSide& side) {
    const auto d = std::size_t(model.mesh.dimensions);
    const NodeElements node_elements(elements);
    const auto group_of = [&](const std::string& name) -> const MeshGroup& {
        const MeshGroup& group = model.mesh.group(name);
        check_cells(model.mesh, group, group.dimensions == 0 ? 0 : model.mesh.dimensions - 1,
                    "the load", concat("a load needs ", d == 2 ? "segments" : "faces"),
                    node_elements);
        return group;
    };
    const auto subtract = [&](std::span<const Index> nodes, const auto& values,
                              const Vector& force) {
        for (std::size_t c = 0; c < nodes.size(); ++c) {
            side.add(nodes[c],
                     {-values[c] * force[0], -values[c] * force[1], -values[c] * force[2]});
        }
    };
    const auto subtract_traction = [&](const MeshGroup& group, const Field& traction) {
        each_point(model, group,
                   [&](auto nodes, const auto& values, const Vector& normal, const Vector& point) {
                       if (!side.has(nodes)) return;
                       Vector force = traction(point);
                       for (double& component : force) component *= length(normal);
                       subtract(nodes, values, force);
                   });
    };
    for (const auto& [name, traction] : model.tractions) {
        subtract_traction(group_of(name), traction);
    }
    for (const auto& [name, force] : model.forces) {
        const MeshGroup& group = group_of(name);
        if (group.dimensions == 0) continue;
        double area = 0;
        each_point(model, group, [&](auto, const auto&, const Vector& normal, const auto&) {
            area += length(normal);
        });
        subtract_traction(group, constant({force[0] / area, force[1] / area, force[2] / area}));
    }
    for (const auto& [name, moment] : model.moments) {
        const MeshGroup& group = group_of(name);
        if (group.dimensions == 0) continue;
        each_moment_force(model, group, moment,
                          [&](auto nodes, const auto& values, const Vector& force) {
                              if (side.has(nodes)) subtract(nodes, values, force);
                          });
    }
    for (const auto& [name, pressure] : model.pressures) {
        each_pressure(model, elements, node_elements, group_of(name), pressure,
                      [&](auto nodes, const auto& values, const Vector& force) {
                          if (side.has(nodes)) subtract(nodes, values, force);
                      });
    }
    for (const SpringCell& cell : find_springs(model, node_elements)) {
        if (!side.has(cell.nodes)) continue;
        each_spring_force(model, cell, displacements, [&](std::size_t k, double value) {
            Vector force{};
            force[k % d] = -value;
            side.add(Index(k / d), force);
        });
    }
}

}  // namespace

Section find_section(const Context& cpu, const Model& model, std::span<const double> displacements,
                     const std::string& group) {
    const Mesh& mesh = model.mesh;
    const Elements elements(mesh);
    const auto d = std::size_t(mesh.dimensions);
    require(displacements.size() == std::size_t(mesh.node_count()) * d, "the mesh has ",
            std::size_t(mesh.node_count()) * d, " displacements, not ", displacements.size());
    elements.check_geometry(cpu);
    const Thickness thickness = checked_thickness(model, elements);
    Section section = plane_of(model, mesh.group(group));
    CutSide side(mesh, section, mesh.group(group));
    const std::vector<unsigned char> surface = find_surface(cpu, elements);
    std::vector<Index> behind, ahead;
    for (Index element = 0; element < elements.count(); ++element) {
        if (!side.meets(elements.nodes(element))) continue;
        require(!goes_on(elements, surface, element, side), "section '", group,
                "' ends inside the structure, at ", elements.description(element),
                "; it needs all ", d == 2 ? "edges" : "faces",
                " of elements in which its plane cuts a part in two");
        double distances = 0;
        for (const Index corner : elements.corner_nodes(element)) {
            distances += side.distance(corner);
        }
        (distances < 0 ? behind : ahead).push_back(element);
    }
    // On the surface of the body there is one side only, on which the loads act.
    side.sign = behind.empty() ? -1 : 1;
    const ElementForces forces(cpu, elements, model, thickness,
                               std::move(behind.empty() ? ahead : behind), displacements);
    forces.each([&](std::size_t k, double value) {
        Vector force{};
        force[k % d] = value;
        side.add(Index(k / d), force);
    });
    subtract_loads(model, elements, displacements, side);
    if (thickness.axisymmetric) section.sum.moment = {};
    return section;
}

}  // namespace tessera::elasticity
