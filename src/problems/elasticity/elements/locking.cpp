#include "problems/elasticity/elements/element_stiffness.hpp"

namespace tessera::elasticity {

namespace {

/// The ratio above which docs/guide/meshes.md measures displacements that are much too small.
constexpr double nearly_incompressible = 0.45;

/// The faces of the body on its surface: without those on the axis of a body of revolution, which
/// goes on there.
std::vector<unsigned char> find_outer_faces(const Context& cpu, const Elements& elements,
                                            const Thickness& thickness) {
    std::vector<unsigned char> surface = find_surface(cpu, elements);
    if (!thickness.axisymmetric) return surface;
    const std::vector<double>& points = elements.mesh().points;
    for (Index element = 0; element < elements.count(); ++element) {
        const CellShape shape = elements.shape(element);
        for (int face = 0; face < face_count(shape); ++face) {
            const auto is_on_axis = [&](int corner) {
                const Index node = elements.nodes(element)[face_corner(shape, face, corner)];
                return thickness.on_axis(0, points[std::size_t(node) * 2]);
            };
            if (!is_on_axis(0) || !is_on_axis(1)) continue;
            surface[std::size_t(element)] =
                static_cast<unsigned char>(surface[std::size_t(element)] & ~(1U << face));
        }
    }
    return surface;
}

/// The nodes of faces on the surface.
std::vector<char> find_surface_nodes(const Elements& elements,
                                     const std::vector<unsigned char>& surface) {
    std::vector<char> on_surface(std::size_t(elements.mesh().node_count()), 0);
    for (Index element = 0; element < elements.count(); ++element) {
        const CellShape shape = elements.shape(element);
        for (int face = 0; face < face_count(shape); ++face) {
            if (!(surface[element] >> face & 1)) continue;
            for (int k = 0; k < corners(face_shape(shape, face)); ++k) {
                on_surface[elements.nodes(element)[face_corner(shape, face, k)]] = 1;
            }
        }
    }
    return on_surface;
}

/// Whether two opposite faces of a quadrilateral or hexahedron are in a set of its faces.
bool has_opposite_faces(CellShape shape, unsigned faces) {
    const auto both = [&](int a, int b) { return (faces >> a & 1) != 0 && (faces >> b & 1) != 0; };
    if (shape == CellShape::quadrilateral) return both(0, 2) || both(1, 3);
    return both(0, 1) || both(2, 4) || both(3, 5);
}

/// The nodes of a simplex, prism or pyramid that are on the surface where it is alone in its layer:
/// of a pyramid those of the base.
std::span<const Index> layer_nodes(const Elements& elements, Index element) {
    const bool pyramid = elements.shape(element) == CellShape::pyramid;
    return elements.nodes(element).first(pyramid ? 4 : elements.nodes(element).size());
}

}  // namespace

std::vector<Locking> find_locking(const Context& cpu, const Model& model) {
    const Mesh& mesh = model.mesh;
    const Elements elements(mesh);
    const Stiffness stiffness(model);  // Throws for wrong materials.
    const std::vector<unsigned char> faces =
        find_outer_faces(cpu, elements, checked_thickness(model, elements));
    const std::vector<char> on_surface = find_surface_nodes(elements, faces);

    const bool has_regions = !mesh.regions.empty();
    const std::size_t regions = has_regions ? mesh.region_names.size() : 1;
    std::vector<Index> counts(regions, 0), across(regions, 0);
    std::vector<char> incompressible(regions, 0);  // Nearly.
    for (Index element = 0; element < elements.count(); ++element) {
        const CellShape shape = elements.shape(element);
        const std::size_t region = has_regions ? std::size_t(mesh.regions[element]) : 0;
        ++counts[region];
        if (!is_first_order(shape) || has_modes(shape, model.formulation)) continue;
        if (stiffness[element].poisson_ratio > nearly_incompressible) incompressible[region] = 1;
        const auto is_on_surface = [&](Index node) { return on_surface[node] != 0; };
        across[region] += family(shape) == CellFamily::cube
                              ? has_opposite_faces(shape, faces[element])
                              : std::ranges::all_of(layer_nodes(elements, element), is_on_surface);
    }
    std::vector<Locking> found;
    for (std::size_t region = 0; region < regions; ++region) {
        Locking locking{has_regions ? mesh.region_names[region] : ""};
        // Plane stress lets the thickness change, so that nothing locks.
        const bool plane_stress = mesh.dimensions == 2 && model.plane == PlaneKind::stress;
        locking.volume = !plane_stress && incompressible[region] != 0;
        locking.one_layer = across[region] > counts[region] / 2;
        if (locking.volume || locking.one_layer) found.push_back(std::move(locking));
    }
    return found;
}

}  // namespace tessera::elasticity
