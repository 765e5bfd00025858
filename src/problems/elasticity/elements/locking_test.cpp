#include "problems/elasticity/elasticity_test.hpp"

namespace tessera {
namespace {

using elasticity::Formulation;
using elasticity::Locking;
using elasticity::Model;
using elasticity::PlaneKind;

constexpr double slenderness = 10;

/// A beam of length 10 and of `layers` elements through its thickness 1 and, in space, its width 1;
/// all elements are as long as thick. Clamped on the left, with a force 1 down at its tip.
Model cantilever(CellShape shape, Index layers, double poisson) {
    meshes::GridOptions options;
    options.lengths[0] = slenderness;
    const Index length = Index(slenderness) * layers;
    Model model;
    model.mesh = test::grid_mesh(shape, {length, layers, layers}, options);
    model.material.poisson_ratio = poisson;
    model.fixed_supports = {{"left"}};
    model.forces = {{"right", {0, -1, 0}}};
    return model;
}

/// The mean deflection of the tip over that of Timoshenko's beam, L^3 / (3 E I) + L / (5/6 G A).
double deflection_factor(const Model& model) {
    const elasticity::System system = elasticity::assemble(test::host(), model);
    const std::vector<double> u = test::solve(system, 1e-9);
    const int d = model.mesh.dimensions;
    double sum = 0, count = 0;
    for (Index node = 0; node < model.mesh.node_count(); ++node) {
        if (test::point(model.mesh, node)[0] < slenderness) continue;
        sum -= u[std::size_t(node) * d + 1];
        ++count;
    }
    const double bending = std::pow(slenderness, 3) / 3 * 12;
    const double shear = slenderness * 6 / 5 * 2 * (1 + model.material.poisson_ratio);
    return sum / count / (bending + shear);
}

/// The deflection under a pressure of 1 of the top of a block whose bottom is clamped, as the work
/// of the load.
double settlement(CellShape shape, Index cells, double poisson, Formulation formulation,
                  PlaneKind plane) {
    Model model;
    model.formulation = formulation;
    model.plane = plane;
    model.mesh = test::unit_mesh(shape, cells, 0);
    model.material.poisson_ratio = poisson;
    model.fixed_supports = {{"bottom"}};
    model.tractions = {{"top", elasticity::constant({0, -1, 0})}};
    const elasticity::System system = elasticity::assemble(test::host(), model);
    return elasticity::strain_energy(test::host(), model, test::solve(system, 1e-9));
}

/// Elements of first order without incompatible modes.
bool can_lock(CellShape shape, Formulation formulation) {
    const bool has_modes =
        family(shape) == CellFamily::cube && formulation == Formulation::incompatible_modes;
    return is_first_order(shape) && !has_modes;
}

bool locks(const Model& model, bool Locking::*kind) {
    const auto found = elasticity::find_locking(test::host(), model);
    return std::ranges::any_of(found, [&](const Locking& locking) { return locking.*kind; });
}

constexpr Formulation formulations[] = {Formulation::incompatible_modes,
                                        Formulation::full_integration};

/// docs/guide/meshes.md has these factors.
TEST(locking, a_single_layer_of_linear_elements_bends_too_little_and_is_found) {
    for (const CellShape shape : test::all_element_shapes) {
        for (const Formulation formulation : formulations) {
            SCOPED_TRACE(to_string(shape));
            double last = 0;
            const bool locking = can_lock(shape, formulation);
            for (const Index layers : {1, 2, 4}) {
                if (layers == 4 && !is_first_order(shape)) continue;
                Model model = cantilever(shape, layers, 0.3);
                model.formulation = formulation;
                const double factor = deflection_factor(model);
                EXPECT_EQ(locks(model, &Locking::one_layer), locking && layers == 1) << layers;
                EXPECT_FALSE(locks(model, &Locking::volume));
                EXPECT_TRUE(!locking || layers > 1 || factor < 0.75) << factor;
                EXPECT_GT(factor, locking ? last : 0.97);
                EXPECT_LT(factor, 1.01);
                last = factor;
            }
        }
    }
}

/// A beam of one layer of bricks five times as long as thick, too, bends as it should.
TEST(locking, incompatible_modes_bend_long_elements) {
    for (const CellShape shape : {CellShape::quadrilateral, CellShape::hexahedron}) {
        SCOPED_TRACE(to_string(shape));
        meshes::GridOptions options;
        options.lengths[0] = slenderness;
        Model model = cantilever(shape, 1, 0.3);
        model.mesh = test::grid_mesh(shape, {2, 1, 1}, options);
        EXPECT_GT(deflection_factor(model), 0.89);
        model.formulation = Formulation::full_integration;
        EXPECT_LT(deflection_factor(model), 0.1);
    }
}

TEST(locking, jittered_and_thin_meshes_are_judged_by_their_layers) {
    for (const CellShape shape : test::all_element_shapes) {
        if (shape == CellShape::pyramid) continue;  // Each cell has a node inside.
        for (const Formulation formulation : formulations) {
            SCOPED_TRACE(to_string(shape));
            meshes::GridOptions options;
            options.jitter = 0.9;
            Model model;
            model.formulation = formulation;
            model.mesh = test::unit_mesh(shape, 4, 0.9);
            EXPECT_TRUE(elasticity::find_locking(test::host(), model).empty());
            for (const Index layers : {1, 2}) {  // A plate, for plane shapes a strip.
                // Prisms stand on the plate.
                const bool stands = first_order(shape) == CellShape::prism;
                model.mesh = stands ? test::grid_mesh(shape, {9, 7, layers}, options)
                                    : test::grid_mesh(shape, {9, layers, 7}, options);
                EXPECT_EQ(locks(model, &Locking::one_layer),
                          layers == 1 && can_lock(shape, formulation))
                    << layers;
            }
        }
    }
}

/// In axisymmetry a solid cylinder one element wide is two elements thick, a tube is one.
TEST(locking, the_axis_is_no_surface) {
    for (const CellShape shape : {CellShape::triangle, CellShape::quadrilateral}) {
        SCOPED_TRACE(to_string(shape));
        Model model;
        model.formulation = Formulation::full_integration;
        model.plane = PlaneKind::axisymmetric;
        model.mesh = test::grid_mesh(shape, {1, 6, 1});
        EXPECT_FALSE(locks(model, &Locking::one_layer));
        for (std::size_t at = 0; at < model.mesh.points.size(); at += 2) model.mesh.points[at] += 1;
        EXPECT_TRUE(locks(model, &Locking::one_layer));
    }
}

/// A block has a flange of one layer on its top: the region of the flange alone is named.
TEST(locking, regions_are_judged_one_by_one) {
    Model model;
    model.formulation = Formulation::full_integration;
    model.mesh = meshes::rectangle(CellShape::quadrilateral, 12, 4);
    std::vector<Index> nodes;
    const std::vector<Index> all = std::move(model.mesh.elements[0].nodes);
    for (std::size_t at = 0; at < all.size(); at += 4) {
        const Index column = all[at] / 5, row = all[at] % 5;
        if (column >= 4 && row < 3) continue;
        nodes.insert(nodes.end(), all.begin() + at, all.begin() + at + 4);
        model.mesh.regions.push_back(column >= 4);
    }
    model.mesh.elements[0].nodes = nodes;
    model.mesh.region_names = {"block", "flange"};
    const auto found = elasticity::find_locking(test::host(), model);
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].region, "flange");
    EXPECT_TRUE(found[0].one_layer);
}

/// f(shape, formulation, kind) for elements of all shapes, plane ones in plane stress, plane strain
/// and axisymmetry.
template <class F>
void each_kind(F&& f) {
    for (const CellShape shape : test::all_element_shapes) {
        for (const Formulation formulation : formulations) {
            for (const PlaneKind plane :
                 {PlaneKind::stress, PlaneKind::strain, PlaneKind::axisymmetric}) {
                if (dimensions(shape) == 3 && plane != PlaneKind::stress) continue;
                SCOPED_TRACE(concat(to_string(shape), ", kind ", int(plane)));
                f(shape, formulation, plane);
            }
        }
    }
}

/// The settlement of a block under pressure: a finer mesh corrects little where nothing locks.
TEST(locking, nearly_incompressible_bodies_are_found) {
    each_kind([](CellShape shape, Formulation formulation, PlaneKind plane) {
        const bool thin = dimensions(shape) == 2 && plane == PlaneKind::stress;
        const bool locking = !thin && can_lock(shape, formulation);
        Model model = cantilever(shape, 1, 0.45);
        model.formulation = formulation;
        model.plane = plane;
        EXPECT_FALSE(locks(model, &Locking::volume));
        model.material.poisson_ratio = 0.499;
        EXPECT_EQ(locks(model, &Locking::volume), locking);
        const auto correction = [&](double poisson) {
            return settlement(shape, 4, poisson, formulation, plane) /
                       settlement(shape, 2, poisson, formulation, plane) -
                   1;
        };
        if (locking) {
            EXPECT_GT(correction(0.499), 0.12);
        } else {  // Plane stress: the thickness changes instead.
            EXPECT_LT(correction(0.499), 0.07);
        }
        // By region, and by the region's own material.
        model.mesh.region_names = {"steel", "rubber"};
        model.mesh.regions.assign(std::size_t(model.mesh.element_count()), 0);
        model.mesh.regions.back() = 1;
        model.material.poisson_ratio = 0.3;
        model.materials = {{"rubber", {1, 0.49}}};
        const auto found = elasticity::find_locking(test::host(), model);
        const auto by_volume = [](const Locking& one) { return one.volume; };
        const auto rubber = std::ranges::find_if(found, by_volume);
        ASSERT_EQ(rubber != found.end(), locking);
        EXPECT_TRUE(!locking || rubber->region == "rubber");
    });
}

}  // namespace
}  // namespace tessera
