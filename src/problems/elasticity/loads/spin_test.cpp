#include "problems/elasticity/elasticity_test.hpp"
#include "support/messages.hpp"

namespace tessera {
namespace {

using elasticity::Model;
using elasticity::PlaneKind;
using elasticity::Vector;

/// The sum of the forces is the mass times spin^2 times the distance of the centre from the axis.
TEST(spin, forces_are_those_at_the_centre) {
    const double density = 3;
    for (const CellShape shape : test::all_element_shapes) {
        SCOPED_TRACE(to_string(shape));
        Model model;
        model.mesh = test::unit_mesh(shape, is_first_order(shape) ? 3 : 2, 0.6);
        model.material.density = density;
        model.fixed_supports = {{"left"}};
        model.spin_point = {2, -1, 0.25};
        // Away from the line through this point along (2, -1, 2) / 3.
        model.spin = {2. / 3, -1. / 3, 2. / 3};
        const Vector centre{-1.5, 1.5, 0.25};
        Vector expected{};
        const double along = (2 * centre[0] - centre[1] + 2 * centre[2]) / 3;
        for (std::size_t i = 0; i < 3; ++i) {
            expected[i] = density * (centre[i] - along * model.spin[i]);
        }
        const bool plane = model.mesh.dimensions == 2;
        if (plane) {
            model.spin = {0, 0, 2};
            expected = {density * 4 * centre[0], density * 4 * centre[1], 0};
        }
        const std::vector<double> u(model.mesh.points.size(), 0);
        const auto loads = elasticity::find_reactions(test::host(), model, u).loads;
        for (std::size_t i = 0; i < 3; ++i) {
            EXPECT_NEAR(loads.force[i], expected[i], test::gamma<double>(1e4) * 100) << i;
        }
        if (!plane) continue;
        const auto message = [&] {
            return test::message_of([&] { elasticity::assemble(test::host(), model); });
        };
        model.spin = {1, 0, 2};
        test::expect_contains(message(), "a plane mesh spins about z");
        model.plane = PlaneKind::axisymmetric;
        model.spin = {0, 1, 0};
        test::expect_contains(message(), "spins about its axis x = 0, not about x = 2");
    }
}

/// S. P. Timoshenko and J. N. Goodier, Theory of Elasticity, 1970, section 32: u = r (hoop - nu
/// radial) / E of a ring in plane stress; in plane strain with E / (1 - nu^2) and nu / (1 - nu).
double ring_displacement(double r, double young, double poisson, double force) {
    const double inner = 1, outer = 3, a = inner * inner, b = outer * outer;
    const double radial = (3 + poisson) / 8 * force * (a + b - a * b / (r * r) - r * r);
    const double hoop =
        force / 8 * ((3 + poisson) * (a + b + a * b / (r * r)) - (1 + 3 * poisson) * r * r);
    return r * (hoop - poisson * radial) / young;
}

TEST(spin, a_ring_that_spins) {
    const double young = 50, poisson = 0.3, density = 2, speed = 1.5;
    const double force = density * speed * speed;
    for (const PlaneKind kind : {PlaneKind::stress, PlaneKind::strain, PlaneKind::axisymmetric}) {
        Model model;
        model.plane = kind;
        model.mesh = test::grid_mesh(CellShape::quadrilateral9, {10, 10, 1});
        const bool axisymmetric = kind == PlaneKind::axisymmetric;
        for (std::size_t at = 0; at < model.mesh.points.size(); at += 2) {
            const double radius = 1 + 2 * model.mesh.points[at];
            const double angle = std::numbers::pi / 2 * model.mesh.points[at + 1];
            model.mesh.points[at] = axisymmetric ? radius : radius * std::cos(angle);
            if (!axisymmetric) model.mesh.points[at + 1] = radius * std::sin(angle);
        }
        model.material = {young, poisson, density};
        model.spin = axisymmetric ? Vector{0, speed, 0} : Vector{0, 0, speed};
        const std::array<bool, 3> x{true, false, false}, y{false, true, false};
        model.fixed_supports = {{"bottom", y}, {"top", axisymmetric ? y : x}};
        const auto u = test::solve(elasticity::assemble(test::host(), model), 1e-12);
        const bool thin = kind == PlaneKind::stress;  // The others cannot strain along the axis.
        const double e = thin ? young : young / (1 - poisson * poisson);
        const double nu = thin ? poisson : poisson / (1 - poisson);
        for (Index node = 0; node < model.mesh.node_count(); ++node) {
            const Vector at = test::point(model.mesh, node);
            const double radius = axisymmetric ? at[0] : std::hypot(at[0], at[1]);
            const double expected = ring_displacement(radius, e, nu, force);
            const double* const found = &u[std::size_t(node) * 2];
            const double moved = axisymmetric ? found[0] : std::hypot(found[0], found[1]);
            EXPECT_NEAR(moved, expected, 1e-4 * expected);
        }
    }
}

}  // namespace
}  // namespace tessera
