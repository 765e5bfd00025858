#include "problems/elasticity/elements/elements.hpp"

namespace tessera::elasticity {

namespace {

/// Sets the radius of nodes on the axis: rounding errors of the largest radius, as mesh generators
/// write them.
void check_radii(const Elements& elements, Thickness& thickness) {
    const Mesh& mesh = elements.mesh();
    double largest = 0, lowest = 0;
    Index min_node = 0;
    for (Index element = 0; element < elements.count(); ++element) {
        for (const Index node : elements.nodes(element)) {
            const double radius = mesh.points[std::size_t(node) * 2];
            largest = std::max(largest, std::abs(radius));
            if (radius < lowest) {
                lowest = radius;
                min_node = node;
            }
        }
    }
    thickness.axis_radius = 1e-12 * largest;
    require(
        lowest >= -thickness.axis_radius, "node ", min_node, " at (", number_text(lowest), ", ",
        number_text(mesh.points[std::size_t(min_node) * 2 + 1]),
        ") has a negative radius: x is the radius of an axisymmetric mesh, and y its axis; mesh "
        "one half of the section");
}

}  // namespace

Thickness checked_thickness(const Model& model, const Elements& elements) {
    const bool plane = model.mesh.dimensions == 2;
    require(plane || model.plane == PlaneKind::stress,
            "plane strain and axisymmetry are for plane meshes; this one is solid");
    Thickness thickness;
    if (!plane) return thickness;
    thickness.axisymmetric = model.plane == PlaneKind::axisymmetric;
    const std::size_t axis = thickness.axisymmetric ? 1 : 2;
    for (std::size_t i = 0; i < 3; ++i) {
        require(i == axis || model.spin[i] == 0,
                "a plane mesh spins about z, in axisymmetry about "
                "y; the spin has the part ",
                number_text(model.spin[i]), " along ", std::string(1, "xyz"[i]));
    }
    require(!thickness.axisymmetric || model.spin_point[0] == 0,
            "an axisymmetric body spins about its axis x = 0, not about x = ",
            number_text(model.spin_point[0]));
    if (thickness.axisymmetric) {
        require(model.thickness == 1,
                "an axisymmetric body has no thickness: its section extends over the full circle");
        require(model.gravity[0] == 0,
                "the weight of an axisymmetric body acts along its axis y; the gravity along the "
                "radius x must be 0, not ",
                number_text(model.gravity[0]));
        check_radii(elements, thickness);
        return thickness;
    }
    require(model.thickness > 0 && std::isfinite(model.thickness),
            "the thickness is not a positive number");
    thickness.length = model.thickness;
    return thickness;
}

}  // namespace tessera::elasticity
