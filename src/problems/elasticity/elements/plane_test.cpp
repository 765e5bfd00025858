#include "problems/elasticity/elasticity_test.hpp"
#include "problems/elasticity/elements/element_stiffness.hpp"
#include "support/messages.hpp"

// Plane strain and axisymmetry: states that every mesh represents, motions without strain, errors.

namespace tessera {
namespace {

using elasticity::Formulation;
using elasticity::Model;
using elasticity::PlaneKind;
using elasticity::Vector;
using test::expect_contains;

constexpr CellShape plane_shapes[] = {CellShape::triangle, CellShape::quadrilateral,
                                      CellShape::triangle6, CellShape::quadrilateral8,
                                      CellShape::quadrilateral9};

/// A distorted mesh of the unit square, `inner` from the axis.
Mesh distorted(CellShape shape, double inner) {
    Mesh mesh = test::unit_mesh(shape, is_first_order(shape) ? 3 : 2, 0.7);
    for (std::size_t k = 0; k < mesh.points.size(); k += 2) mesh.points[k] += inner;
    return mesh;
}

double inner_radius(const Mesh& mesh) {
    double least = mesh.points[0];
    for (Index node = 0; node < mesh.node_count(); ++node) {
        least = std::min(least, test::point(mesh, node)[0]);
    }
    return least;
}

/// f(model) for elements of all shapes and formulations in plane strain and in axisymmetry, off the
/// axis and on it.
template <class F>
void each_model(F&& f) {
    for (const CellShape shape : plane_shapes) {
        for (const Formulation formulation :
             {Formulation::incompatible_modes, Formulation::full_integration}) {
            for (const auto& [kind, inner] :
                 {std::pair(PlaneKind::strain, 0.), std::pair(PlaneKind::axisymmetric, 0.),
                  std::pair(PlaneKind::axisymmetric, 0.75)}) {
                SCOPED_TRACE(concat(to_string(shape), ", kind ", int(kind), " at ", inner));
                Model model;
                model.plane = kind;
                model.formulation = formulation;
                model.material = {2, 0.35};
                model.mesh = distorted(shape, inner);
                f(model);
            }
        }
    }
}

double lambda_of(const elasticity::Material& material) {
    const double nu = material.poisson_ratio;
    return material.young_modulus * nu / ((1 + nu) * (1 - 2 * nu));
}

/// Expects this stress at all nodes and in all elements. Gradients are sums of at most 27 terms, of
/// at most 100 each.
void expect_stress(const Model& model, const std::vector<double>& u,
                   const std::array<double, 6>& stress, double error) {
    for (const auto& stresses : {elasticity::element_stresses(test::host(), model, u),
                                 elasticity::node_stresses(test::host(), model, u)}) {
        for (std::size_t k = 0; k < stresses.size(); ++k) {
            ASSERT_NEAR(stresses[k], stress[k % 6], 2700 * lambda_of(model.material) * error);
        }
    }
}

/// A constant strain; in axisymmetry those whose stress is in equilibrium: along the axis, and
/// equal along the radius and the circle.
TEST(plane, constant_strains_are_exact) {
    auto random = test::generator();
    each_model([&](Model& model) {
        const bool round = model.plane == PlaneKind::axisymmetric;
        std::vector<double> g = test::random_vector<double>(random, 4);  // du_i / dx_j
        if (round) g[1] = g[2] = 0;
        const auto field = [&](const Vector& x) {
            return Vector{g[0] * x[0] + g[1] * x[1], g[2] * x[0] + g[3] * x[1] + round};
        };
        for (const std::string& side : test::side_names(2)) {
            model.fixed_supports.push_back({side, {true, true, true}, field});
        }
        const auto system = elasticity::assemble(test::host(), model);
        const double unit = test::gamma<double>(1e4) * test::largest_value(system.matrix.view());
        const auto found = test::solve_by_inverse(system, unit);
        EXPECT_LT(found.error, 1e-6);
        const std::vector<double> u = system.displacements(found.unknowns);
        for (Index node = 0; node < model.mesh.node_count(); ++node) {
            const Vector exact = field(test::point(model.mesh, node));
            for (int i = 0; i < 2; ++i) ASSERT_NEAR(u[2 * node + i], exact[i], found.error);
        }
        const double lambda = lambda_of(model.material), mu = 2 / 2.7;
        const double hoop = round ? g[0] : 0, pressure = lambda * (g[0] + g[3] + hoop);
        expect_stress(model, u,
                      {2 * mu * g[0] + pressure, 2 * mu * g[3] + pressure, 2 * mu * hoop + pressure,
                       mu * (g[1] + g[2]), 0, 0},
                      found.error);
        // Half of strain : stress over the volume.
        const double inner = inner_radius(model.mesh);
        const double volume = round ? std::numbers::pi * (1 + 2 * inner) : 1;
        const double energy =
            volume *
            (mu * (g[0] * g[0] + g[3] * g[3] + hoop * hoop + (g[1] + g[2]) * (g[1] + g[2]) / 2) +
             pressure * (g[0] + g[3] + hoop) / 2);
        EXPECT_NEAR(elasticity::strain_energy(test::host(), model, u), energy,
                    2700 * lambda * volume * found.error);
    });
}

/// A pressure on all sides leaves the stress -p in all directions of the plane and, in axisymmetry,
/// along the circle; the supports carry nothing.
TEST(plane, pressure_on_all_sides) {
    each_model([](Model& model) {
        const double pressure = 3;
        const bool round = model.plane == PlaneKind::axisymmetric;
        model.fixed_supports = {{"bottom", {false, true, false}}};
        if (!round) model.fixed_supports.push_back({"left", {true, false, false}});
        const bool on_axis = round && inner_radius(model.mesh) == 0;
        for (const std::string& side : test::side_names(2)) {
            if (!on_axis || side != "left") model.pressures.emplace_back(side, pressure);
        }
        const auto system = elasticity::assemble(test::host(), model);
        EXPECT_FALSE(system.known_singular);
        const auto found = test::solve_by_inverse(
            system, test::gamma<double>(1e4) * test::largest_value(system.matrix.view()));
        EXPECT_LT(found.error, 1e-6);
        const std::vector<double> u = system.displacements(found.unknowns);
        expect_stress(model, u,
                      {-pressure, -pressure, round ? -pressure : -2 * 0.35 * pressure, 0, 0, 0},
                      found.error);
        const auto reactions = elasticity::find_reactions(test::host(), model, u);
        const double inner = inner_radius(model.mesh);
        const double area = round ? std::numbers::pi * (1 + 2 * inner) : 1;
        EXPECT_NEAR(reactions.loads.force[1], 0, test::gamma<double>(1000) * pressure * area);
        // The bottom carries what the pressure on it does not.
        EXPECT_NEAR(reactions.groups[0].second.force[1], 0, 2700 * area * found.error);
    });
}

/// Weight, and a force given as a total, of a hollow cylinder of height 1; its bottom carries both.
TEST(plane, loads_are_sums_over_the_circle) {
    each_model([](Model& model) {
        const double inner = inner_radius(model.mesh);
        const bool round = model.plane == PlaneKind::axisymmetric;
        if (!round) model.thickness = 0.5;
        const double volume = round ? std::numbers::pi * (1 + 2 * inner) : 0.5;
        model.material.density = 3;
        model.gravity = {0, -10, 0};
        model.forces = {{"top", {0, 7, 0}}};
        model.tractions = {{"right", elasticity::constant({2, 0, 0})}};
        model.fixed_supports = {{"bottom"}};
        const auto system = elasticity::assemble(test::host(), model);
        const double rtol = 1e-13;
        const std::vector<double> u = test::solve(system, rtol);
        const auto reactions = elasticity::find_reactions(test::host(), model, u);
        const double weight = 30 * volume;
        const double rounding = 1000 * (test::gamma<double>(1e4) + rtol) * (weight + 7);
        EXPECT_NEAR(reactions.loads.force[1], 7 - weight, rounding);
        EXPECT_NEAR(reactions.groups[0].second.force[1], weight - 7, rounding);
        const double outside = round ? 2 * std::numbers::pi * (1 + inner) : 0.5;
        EXPECT_NEAR(reactions.loads.force[0], 2 * outside, rounding);
        if (!round) {
            EXPECT_NEAR(reactions.total.force[0], -2 * outside, rounding);
        }
        double work = 0;
        for (std::size_t k = 0; k < u.size(); ++k) {
            if (system.unknowns[k] >= 0) work += u[k] * system.load[system.unknowns[k]] / 2;
        }
        // A solve to 1e-13 of a condition below 1e4.
        EXPECT_NEAR(elasticity::strain_energy(test::host(), model, u), work, 1e-8 * work);
    });
}

TEST(plane, means_at_nodes_are_weighted_by_volumes_of_rings) {
    Mesh mesh;  // Two squares: rings of the volumes pi and 3 pi.
    mesh.points = {0, 0, 1, 0, 2, 0, 0, 1, 1, 1, 2, 1};
    mesh.elements = {{CellShape::quadrilateral, {0, 1, 4, 3, 1, 2, 5, 4}}};
    const std::vector<double> values{4, 8};
    const auto means =
        elasticity::node_means(test::host(), mesh, values, 1, PlaneKind::axisymmetric);
    EXPECT_DOUBLE_EQ(means[1], 7);
    EXPECT_DOUBLE_EQ(elasticity::node_means(test::host(), mesh, values, 1)[1], 6);
}

/// A fan of triangles on a line along the radius has its centres at one height: without a second
/// support a rotation about that point takes no energy.
TEST(plane, triangles_with_centres_at_one_height_do_not_turn) {
    Model model;
    model.plane = PlaneKind::axisymmetric;
    model.mesh.points = {1, 0, 2, 0, 3, 0, 2.5, 3};
    model.mesh.elements = {{CellShape::triangle, {0, 1, 3, 1, 2, 3}}};
    model.mesh.groups = {{"pin", 0, {{CellShape::point, {0}}}},
                         {"end", 0, {{CellShape::point, {2}}}},
                         {"tip", 0, {{CellShape::point, {3}}}}};
    const auto message = [&] {
        try {
            elasticity::assemble(test::host(), model);
        } catch (const InvalidArgument& error) {
            return std::string(error.what());
        }
        return std::string();
    };
    const elasticity::FixedSupport pin{"pin", {false, true, false}};
    model.fixed_supports = {pin};
    test::expect_contains(message(), "the triangles around node 0 have their centres");
    for (const elasticity::FixedSupport& other :
         {elasticity::FixedSupport{"end", {false, true, false}},
          elasticity::FixedSupport{"tip", {true, false, false}},
          elasticity::FixedSupport{"pin", {true, true, false}}}) {
        model.fixed_supports = {pin, other};
        EXPECT_EQ(message(), "");
        const auto system = elasticity::assemble(test::host(), model);
        for (const double entry : test::inverse(system.matrix.view())) {
            ASSERT_LT(std::abs(entry), 1e3);
        }
    }
    model.fixed_supports = {pin};
    model.mesh.points[2] = 2.1;  // Still at one height.
    EXPECT_NE(message(), "");
    model.mesh.points[3] = 0.1;  // The centres remain at one height, as both have this node.
    EXPECT_NE(message(), "");
    model.mesh.points[5] = 0.1;
    EXPECT_EQ(message(), "");
}

/// A body of revolution can only move along its axis; parts that share a node move as one.
TEST(plane, the_only_rigid_motion_of_a_body_of_revolution_is_along_the_axis) {
    Model model;
    model.plane = PlaneKind::axisymmetric;
    model.mesh = distorted(CellShape::quadrilateral, 0.5);
    const auto is_singular = [&] {
        return elasticity::assemble(test::host(), model).known_singular;
    };
    EXPECT_TRUE(is_singular());
    const auto free = elasticity::assemble(test::host(), model);
    const auto a = free.matrix.view();
    std::vector<double> along(std::size_t(a.rows), 0);
    for (std::size_t k = 1; k < along.size(); k += 2) along[k] = 1;
    for (Index i = 0; i < a.rows; ++i) {
        const auto [product, magnitude] = test::row_product(a, along, i);
        ASSERT_LE(std::abs(product), test::entry_bound(a, 3, 0.7) * magnitude);
    }
    model.fixed_supports = {{"left", {true, false, false}}, {"right", {true, false, false}}};
    EXPECT_TRUE(is_singular());
    model.mesh.groups.push_back({"corner", 0, {{CellShape::point, {0}}}});
    model.fixed_supports = {{"corner", {false, true, false}}};
    EXPECT_FALSE(is_singular());
    const auto system = elasticity::assemble(test::host(), model);
    for (const double entry : test::inverse(system.matrix.view())) {
        ASSERT_LT(std::abs(entry), 1e3);  // The matrix is regular; E = 1.
    }
    // So it is of one cell of any shape, on the axis and off it.
    each_model([](Model& one) {
        if (one.plane != PlaneKind::axisymmetric) return;
        const CellShape shape = one.mesh.elements[0].shape;
        const double inner = inner_radius(one.mesh);
        one.mesh = test::unit_mesh(shape, 1, 0);
        for (std::size_t k = 0; k < one.mesh.points.size(); k += 2) one.mesh.points[k] += inner;
        one.mesh.groups.push_back({"corner", 0, {{CellShape::point, {0}}}});
        one.fixed_supports = {{"corner", {false, true, false}}};
        const auto regular = elasticity::assemble(test::host(), one);
        EXPECT_FALSE(regular.known_singular);
        for (const double entry : test::inverse(regular.matrix.view())) {
            ASSERT_LT(std::abs(entry), 1e3);
        }
    });
    // Two rings that touch at one node.
    model.mesh.points = {1, 0, 2, 0, 2, 1, 1, 1, 3, 1, 3, 2, 2, 2};
    model.mesh.elements = {{CellShape::quadrilateral, {0, 1, 2, 3, 2, 4, 5, 6}}};
    EXPECT_FALSE(is_singular());
}

/// Mesh generators write radii on the axis with rounding errors.
TEST(plane, nodes_on_the_axis_stay_on_it) {
    Model model;
    model.plane = PlaneKind::axisymmetric;
    model.mesh = distorted(CellShape::quadrilateral8, 0);
    model.fixed_supports = {{"bottom", {false, true, false}}};
    model.tractions = {{"top", elasticity::constant({1, -1, 0})}};
    for (std::size_t k = 0; k < model.mesh.points.size(); k += 2) {
        double& radius = model.mesh.points[k];
        if (radius == 0) radius = k % 4 == 0 ? 1e-16 : -1e-16;
    }
    const auto system = elasticity::assemble(test::host(), model);
    Index on_axis = 0;
    for (Index node = 0; node < model.mesh.node_count(); ++node) {
        const bool at_axis = test::point(model.mesh, node)[0] < 1e-15;
        on_axis += at_axis;
        EXPECT_EQ(system.unknowns[2 * node] < 0, at_axis);
    }
    EXPECT_EQ(on_axis, 5);
    // The radial force on the axis is no support's.
    EXPECT_EQ(system.load_shares.at(0).held_share, 0);
    model.fixed_supports.push_back({"left", {true, false, false}, elasticity::constant({0.5, 0})});
    const auto message = test::message_of([&] { elasticity::assemble(test::host(), model); });
    expect_contains(message, "the fixed support of group 'left' moves node ");
    expect_contains(message, " off the axis by 0.5");
    // A support that keeps them there changes nothing.
    model.fixed_supports.back().displacement = elasticity::constant({0, 0, 0});
    EXPECT_EQ(elasticity::assemble(test::host(), model).unknowns, system.unknowns);
}

TEST(plane, what_does_not_fit_the_kind_is_rejected) {
    Model good;
    good.plane = PlaneKind::axisymmetric;
    good.mesh = distorted(CellShape::triangle, 0);
    good.fixed_supports = {{"bottom"}};
    const auto error = [&](auto&& change) {
        Model model = good;
        change(model);
        const std::vector<double> u(model.mesh.points.size(), 0);
        const auto first = test::message_of([&] { elasticity::assemble(test::host(), model); });
        const auto second =
            test::message_of([&] { elasticity::node_stresses(test::host(), model, u); });
        EXPECT_EQ(first, second);
        return first;
    };
    EXPECT_EQ(error([](Model&) {}), "accepted");
    expect_contains(
        error([](Model& model) { model.mesh = distorted(CellShape::triangle, -0.125); }),
        "node 0 at (-0.125, 0) has a negative radius");
    expect_contains(error([](Model& model) { model.thickness = 0.5; }), "has no thickness");
    expect_contains(error([](Model& model) {
                        model.gravity = {-9.81, 0, 0};
                    }),
                    "the gravity along the radius x must be 0, not -9.81");
    for (const PlaneKind kind : {PlaneKind::strain, PlaneKind::axisymmetric}) {
        expect_contains(error([&](Model& model) {
                            model.plane = kind;
                            model.material.poisson_ratio = 0.5;
                        }),
                        "Poisson's ratio 0.5 is not in (-1, 0.5)");
        expect_contains(error([&](Model& model) {
                            model.plane = kind;
                            model.mesh = test::unit_mesh(CellShape::tetrahedron, 1, 0);
                        }),
                        "this one is solid");
    }
}

}  // namespace
}  // namespace tessera
