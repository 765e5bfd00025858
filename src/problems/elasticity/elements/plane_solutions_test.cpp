#include "problems/elasticity/elasticity_test.hpp"

// Plane strain and axisymmetry against exact solutions, and against solid elements.

namespace tessera {
namespace {

using elasticity::Formulation;
using elasticity::Model;
using elasticity::PlaneKind;
using elasticity::Vector;

constexpr CellShape plane_shapes[] = {CellShape::triangle, CellShape::quadrilateral,
                                      CellShape::triangle6, CellShape::quadrilateral8,
                                      CellShape::quadrilateral9};

constexpr double young_modulus = 2, inner_pressure = 3, inner_radius = 1, outer_radius = 2;

/// A mesh of the unit square whose nodes are moved; edges of second order become curved.
template <class Map>
Mesh mapped(CellShape shape, Index cells, Map&& map) {
    Mesh mesh = test::unit_mesh(shape, cells, 0);
    for (Index node = 0; node < mesh.node_count(); ++node) {
        const Vector at = map(test::point(mesh, node));
        mesh.points[2 * node] = at[0];
        mesh.points[2 * node + 1] = at[1];
    }
    return mesh;
}

/// The polar coordinates (1 + x, y pi / 2).
Vector polar(const Vector& x) {
    const double r = inner_radius + x[0] * (outer_radius - inner_radius);
    return {r * std::cos(x[1] * std::numbers::pi / 2), r * std::sin(x[1] * std::numbers::pi / 2)};
}

enum class Body { cylinder_strain, cylinder_ring, sphere };

/// A body under a pressure inside: the quarter of a cylinder's section in plane strain, a ring of
/// it between two planes, or half a sphere, whose nodes on the axis are held by themselves.
Model pressurised(Body body, CellShape shape, Index cells, double poisson) {
    Model model;
    model.material = {young_modulus, poisson};
    model.pressures = {{"left", inner_pressure}};
    model.fixed_supports = {{"bottom", {false, true, false}}};
    model.plane = body == Body::cylinder_strain ? PlaneKind::strain : PlaneKind::axisymmetric;
    if (body == Body::cylinder_ring) {
        model.mesh = mapped(shape, cells, [](const Vector& x) {
            return Vector{inner_radius + x[0] * (outer_radius - inner_radius), x[1]};
        });
        model.fixed_supports.push_back({"top", {false, true, false}});
        return model;
    }
    model.mesh = mapped(shape, cells, polar);
    if (body == Body::cylinder_strain) {
        model.fixed_supports.push_back({"top", {true, false, false}});
    }
    return model;
}

/// Lame's solution u = a r + b / r^n along the radius r, n = 1 for a cylinder in plane strain, 2
/// for a sphere, and its radial and hoop stresses.
struct Lame {
    double a = 0, b = 0, mu = 0, bulk = 0;
    int n = 1;

    Lame(Body body, double nu) : n(body == Body::sphere ? 2 : 1) {
        // radial stress: bulk a - 2 n mu b / r^(n + 1).
        mu = young_modulus / (2 * (1 + nu));
        bulk = body == Body::sphere ? young_modulus / (1 - 2 * nu)
                                    : young_modulus / ((1 + nu) * (1 - 2 * nu));
        const double inside = std::pow(inner_radius, -n - 1);
        const double outside = std::pow(outer_radius, -n - 1);
        b = inner_pressure / (2 * n * mu * (inside - outside));
        a = 2 * n * mu * b * outside / bulk;
    }
    double displacement(double r) const { return a * r + b / std::pow(r, n); }
    double radial_stress(double r) const { return bulk * a - 2 * n * mu * b / std::pow(r, n + 1); }
    double hoop_stress(double r) const { return bulk * a + 2 * mu * b / std::pow(r, n + 1); }
};

/// Root mean squares over the nodes of displacements and stresses, and the error of the energy; all
/// relative.
struct Errors {
    double displacement = 0, stress = 0, energy = 0;
};

Errors solve_pressurised(Body body, CellShape shape, Index cells, double poisson,
                         Formulation formulation = Formulation::incompatible_modes) {
    Model model = pressurised(body, shape, cells, poisson);
    model.formulation = formulation;
    const auto system = elasticity::assemble(test::host(), model);
    EXPECT_FALSE(system.known_singular);
    const std::vector<double> u = test::solve(system, poisson > 0.4 ? 1e-9 : 1e-11);
    const std::vector<double> stresses = elasticity::node_stresses(test::host(), model, u);
    const Lame exact(body, poisson);
    Errors errors;
    for (Index node = 0; node < model.mesh.node_count(); ++node) {
        const Vector x = test::point(model.mesh, node);
        const bool ring = body == Body::cylinder_ring;
        const double r = ring ? x[0] : std::hypot(x[0], x[1]);
        const double cosine = ring ? 1 : x[0] / r, sine = ring ? 0 : x[1] / r;
        const double moved = exact.displacement(r);
        const double wrong =
            std::hypot(u[2 * node] - moved * cosine, u[2 * node + 1] - moved * sine) / moved;
        errors.displacement += wrong * wrong / model.mesh.node_count();
        // The trace is linear in them, too: the third stress of a cylinder is nu times their sum.
        const double radial = exact.radial_stress(r), hoop = exact.hoop_stress(r);
        const double third = body == Body::sphere ? hoop : poisson * (radial + hoop);
        const double difference = radial - hoop;
        const double expected[] = {ring ? radial : hoop + difference * cosine * cosine,
                                   ring ? third : hoop + difference * sine * sine,
                                   body == Body::cylinder_strain ? third : hoop,
                                   ring ? 0 : difference * cosine * sine};
        for (int k = 0; k < 4; ++k) {
            const double wrong_stress = (stresses[6 * node + k] - expected[k]) / inner_pressure;
            errors.stress += wrong_stress * wrong_stress / model.mesh.node_count();
        }
    }
    errors.displacement = std::sqrt(errors.displacement);
    errors.stress = std::sqrt(errors.stress);
    const double area = body == Body::sphere          ? 2 * std::numbers::pi
                        : body == Body::cylinder_ring ? 2 * std::numbers::pi
                                                      : std::numbers::pi / 2;
    const double work = area * inner_pressure * exact.displacement(inner_radius) / 2;
    errors.energy = std::abs(elasticity::strain_energy(test::host(), model, u) / work - 1);
    return errors;
}

/// The order of an error that falls from `coarse` to `fine` on a mesh twice as fine.
double order(double coarse, double fine) { return std::log2(coarse / fine); }

/// Displacements at nodes of order k + 1, k the degree, energies of order 2 k, and stresses of
/// order k, of first order 3/2: inside the mean over the elements of a node is of order 2, at the
/// surface of order 1.
TEST(plane_solutions, cylinders_and_spheres_under_pressure_converge) {
    for (const Body body : {Body::cylinder_strain, Body::cylinder_ring, Body::sphere}) {
        for (const CellShape shape : plane_shapes) {
            SCOPED_TRACE(concat(to_string(shape), ", body ", int(body)));
            const int degree = is_first_order(shape) ? 1 : 2;
            const Index cells = degree == 1 ? 16 : 8;
            const Errors coarse = solve_pressurised(body, shape, cells, 0.3);
            const Errors fine = solve_pressurised(body, shape, 2 * cells, 0.3);
            EXPECT_GT(order(coarse.displacement, fine.displacement), degree + 0.9);
            EXPECT_GT(order(coarse.stress, fine.stress), degree == 1 ? 1.3 : 1.9);
            EXPECT_GT(order(coarse.energy, fine.energy), 2 * degree - 0.3);
        }
    }
}

/// Nearly incompressible: quadrilaterals with incompatible modes and triangles of second order keep
/// their accuracy; quadrilaterals of second order keep that of displacements; those of first order
/// with full integration lock, and are found.
TEST(plane_solutions, nearly_incompressible_bodies) {
    const auto locks = [](Body body, CellShape shape, Formulation formulation) {
        Model model = pressurised(body, shape, 2, 0.499);
        model.formulation = formulation;
        return std::ranges::any_of(elasticity::find_locking(test::host(), model),
                                   &elasticity::Locking::volume);
    };
    for (const Body body : {Body::cylinder_strain, Body::cylinder_ring, Body::sphere}) {
        for (const auto& [shape, formulation] :
             {std::pair(CellShape::quadrilateral, Formulation::incompatible_modes),
              std::pair(CellShape::triangle6, Formulation::full_integration)}) {
            SCOPED_TRACE(concat(to_string(shape), ", body ", int(body)));
            const Errors usual = solve_pressurised(body, shape, 8, 0.3, formulation);
            const Errors soft = solve_pressurised(body, shape, 8, 0.499, formulation);
            EXPECT_LT(soft.displacement, 2 * usual.displacement);
            EXPECT_LT(soft.stress, 2 * usual.stress);
            EXPECT_FALSE(locks(body, shape, formulation));
        }
        for (const CellShape shape : {CellShape::quadrilateral8, CellShape::quadrilateral9}) {
            SCOPED_TRACE(concat(to_string(shape), ", body ", int(body)));
            EXPECT_LT(solve_pressurised(body, shape, 8, 0.499).displacement, 0.01);
        }
        const Formulation full = Formulation::full_integration;
        EXPECT_GT(solve_pressurised(body, CellShape::quadrilateral, 8, 0.499, full).displacement,
                  0.25);
        EXPECT_TRUE(locks(body, CellShape::quadrilateral, full));
        EXPECT_TRUE(locks(body, CellShape::triangle, full));
    }
}

/// A solid cylinder of radius 1 that turns about its axis between two planes, by the force r per
/// volume: S. P. Timoshenko and J. N. Goodier, Theory of Elasticity, section 32, in plane strain.
TEST(plane_solutions, a_rotating_cylinder_converges) {
    const double nu = 0.3;
    const auto error = [&](CellShape shape, Index cells) {
        Model model;
        model.material = {young_modulus, nu};
        model.plane = PlaneKind::axisymmetric;
        model.mesh = test::unit_mesh(shape, cells, 0);
        model.body_force = [](const Vector& x) { return Vector{x[0], 0, 0}; };
        for (const char* side : {"bottom", "top"}) {
            model.fixed_supports.push_back({side, {false, true, false}});
        }
        const auto system = elasticity::assemble(test::host(), model);
        const std::vector<double> u = test::solve(system, 1e-11);
        double largest = 0;
        for (Index node = 0; node < model.mesh.node_count(); ++node) {
            const double r = test::point(model.mesh, node)[0];
            const double exact =
                (1 + nu) * (1 - 2 * nu) / (8 * young_modulus * (1 - nu)) * r * (3 - 2 * nu - r * r);
            largest = std::max(largest, std::hypot(u[2 * node] - exact, u[2 * node + 1]));
        }
        return largest;
    };
    for (const CellShape shape : plane_shapes) {
        SCOPED_TRACE(to_string(shape));
        const double coarse = error(shape, 4), fine = error(shape, 8);
        EXPECT_GT(order(coarse, fine), is_first_order(shape) ? 1.7 : 2.8);
    }
}

/// A plate in plane strain is a slab of bricks that do not move across it.
TEST(plane_solutions, plane_strain_is_a_slab) {
    const std::pair<CellShape, CellShape> pairs[] = {
        {CellShape::quadrilateral, CellShape::hexahedron},
        {CellShape::quadrilateral8, CellShape::hexahedron20},
        {CellShape::quadrilateral9, CellShape::hexahedron27}};
    const auto model_of = [](CellShape shape, Formulation formulation) {
        Model model;
        model.formulation = formulation;
        model.plane = dimensions(shape) == 2 ? PlaneKind::strain : PlaneKind::stress;
        model.material = {young_modulus, 0.4};
        model.thickness = 1;
        model.mesh = test::grid_mesh(shape, {4, 3, 1});
        const auto d = std::size_t(model.mesh.dimensions);
        for (std::size_t k = 0; k < model.mesh.points.size(); k += d) {
            double& x = model.mesh.points[k];
            double& y = model.mesh.points[k + 1];
            const double moved = 0.1 * std::sin(5 * x + 3 * y);
            x += moved;
            y += moved * x;
        }
        model.body_force = elasticity::constant({1, -2, 0});
        model.fixed_supports = {{"left"}};
        if (d == 3) {
            for (const char* side : {"back", "front"}) {
                model.fixed_supports.push_back({side, {false, false, true}});
            }
        }
        return model;
    };
    for (const auto& [flat, solid] : pairs) {
        for (const Formulation formulation :
             {Formulation::incompatible_modes, Formulation::full_integration}) {
            SCOPED_TRACE(to_string(flat));
            const auto solve = [&](const Model& model) {
                return test::solve(elasticity::assemble(test::host(), model), 1e-13);
            };
            const Model plate = model_of(flat, formulation), slab = model_of(solid, formulation);
            const std::vector<double> u = solve(plate), v = solve(slab);
            const auto of_plate = elasticity::node_stresses(test::host(), plate, u);
            const auto of_slab = elasticity::node_stresses(test::host(), slab, v);
            int compared = 0;
            for (Index node = 0; node < plate.mesh.node_count(); ++node) {
                for (Index other = 0; other < slab.mesh.node_count(); ++other) {
                    const Vector x = test::point(plate.mesh, node);
                    const Vector y = test::point(slab.mesh, other);
                    if (std::hypot(x[0] - y[0], x[1] - y[1]) > 1e-9) continue;
                    ++compared;
                    // A solve to 1e-13 of a condition below 1e5.
                    for (int i = 0; i < 2; ++i) {
                        ASSERT_NEAR(u[2 * node + i], v[3 * other + i], 1e-8);
                    }
                    for (int k = 0; k < 6; ++k) {
                        ASSERT_NEAR(of_plate[6 * node + k], of_slab[6 * other + k], 1e-6);
                    }
                }
            }
            EXPECT_GE(compared, 2 * plate.mesh.node_count());
            EXPECT_NEAR(elasticity::strain_energy(test::host(), plate, u),
                        elasticity::strain_energy(test::host(), slab, v), 1e-8);
        }
    }
}

}  // namespace
}  // namespace tessera
