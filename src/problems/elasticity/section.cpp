#include <limits>

#include "problems/elasticity/element_forces.hpp"
#include "problems/elasticity/faces.hpp"

namespace tessera::elasticity {

namespace {

double dot(const Vector& a, const Vector& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

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
    std::vector<unsigned char> is_cut(std::size_t(mesh.node_count()), 0);
    for (const Cells& cells : mesh.group(group).cells) {
        for (const Index node : cells.nodes) is_cut[std::size_t(node)] = 1;
    }
    std::vector<Index> behind, ahead;
    for (Index element = 0; element < elements.count(); ++element) {
        const auto on_cut = [&](Index node) { return is_cut[std::size_t(node)] != 0; };
        if (!std::ranges::any_of(elements.nodes(element), on_cut)) continue;
        double side = 0;
        for (const Index corner : elements.corner_nodes(element)) {
            side += dot(difference(point_of(mesh, corner), section.centre), section.normal);
        }
        (side < 0 ? behind : ahead).push_back(element);
    }
    // On the surface of the body there is one side only, on which the loads act.
    const double sign = behind.empty() ? -1 : 1;
    const ElementForces forces(cpu, elements, model, thickness,
                               std::move(behind.empty() ? ahead : behind), displacements);
    forces.each([&](std::size_t k, double value) {
        const auto node = Index(k / d);
        if (!is_cut[std::size_t(node)]) return;
        Vector force{};
        force[k % d] = sign * value;
        add_force(section.sum, difference(point_of(mesh, node), section.centre), force);
    });
    if (thickness.axisymmetric) section.sum.moment = {};
    return section;
}

}  // namespace tessera::elasticity
