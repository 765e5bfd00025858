#include "problems/elasticity/elasticity_test.hpp"
#include "support/messages.hpp"

namespace tessera {
namespace {

using elasticity::Model;
using elasticity::Vector;

/// Both ends turn about the same line: the whole body does, without stress.
TEST(rotation, a_body_turns_as_a_whole) {
    const double angle = 0.01;
    const Vector point{2, -1, 0.5}, direction{2, -1, 2};  // Its length is 3.
    for (const CellShape shape : test::all_element_shapes) {
        SCOPED_TRACE(to_string(shape));
        Model model;
        model.mesh = test::unit_mesh(shape, is_first_order(shape) ? 3 : 2, 0.6);
        const bool plane = model.mesh.dimensions == 2;
        const auto turn = plane ? elasticity::rotation(angle, point)
                                : elasticity::rotation(angle, point, direction);
        for (const char* const side : {"left", "right"}) {
            model.fixed_supports.push_back({side, {true, true, true}, turn});
        }
        const auto system = elasticity::assemble(test::host(), model);
        const auto alone = elasticity::assemble_load(test::host(), model);
        EXPECT_EQ(alone.load, system.load);
        EXPECT_EQ(alone.prescribed, system.prescribed);
        EXPECT_EQ(alone.matrix.rows(), 0);
        const auto found = test::solve_by_inverse(
            system, test::gamma<double>(1e4) * test::largest_value(system.matrix.view()));
        const auto u = system.displacements(found.unknowns);
        const auto d = std::size_t(model.mesh.dimensions);
        for (std::size_t k = 0; k < u.size(); ++k) {
            const Vector at = test::point(model.mesh, Index(k / d));
            const Vector arm{at[0] - point[0], at[1] - point[1], plane ? 0 : at[2] - point[2]};
            const Vector expected = plane ? Vector{-angle * arm[1], angle * arm[0], 0}
                                          : Vector{angle / 3 * (-arm[2] - 2 * arm[1]),
                                                   angle / 3 * (2 * arm[0] - 2 * arm[2]),
                                                   angle / 3 * (2 * arm[1] + arm[0])};
            ASSERT_NEAR(u[k], expected[k % d], found.error) << k;
        }
    }
    EXPECT_THROW(elasticity::rotation(1, {}, {0, 0, 0}), InvalidArgument);
    EXPECT_THROW(elasticity::rotation(INFINITY, {}), InvalidArgument);
}

/// A round bar of the radius 1 about the line through (2, -1), whose mesh has polygons as sections.
Mesh round_bar(Index cells, double length) {
    meshes::GridOptions options;
    options.lengths = {2, 2, length};
    Mesh mesh = meshes::box(CellShape::hexahedron, cells, cells, 4, options);
    for (std::size_t at = 0; at < mesh.points.size(); at += 3) {
        const double a = mesh.points[at] - 1, b = mesh.points[at + 1] - 1;
        mesh.points[at] = 2 + a * std::sqrt(1 - b * b / 2);
        mesh.points[at + 1] = -1 + b * std::sqrt(1 - a * a / 2);
    }
    return mesh;
}

TEST(rotation, large_angles_are_warned_of) {
    Model model;
    model.mesh = test::unit_mesh(CellShape::quadrilateral, 2, 0);
    model.fixed_supports = {{"left"}, {"right"}};
    const auto warning = [&](const elasticity::Field& displacement) {
        model.fixed_supports[1].displacement = displacement;
        const auto system = elasticity::assemble(test::host(), model);
        std::string all;
        for (const auto& text : elasticity::find_warnings(test::host(), model, system)) {
            all += text + "\n";
        }
        return all;
    };
    EXPECT_EQ(warning(elasticity::rotation(0.09, {3, 0.5, 0})), "");
    test::expect_contains(warning(elasticity::rotation(-0.3, {3, 0.5, 0})),
                          "the prescribed displacements of 'right' turn or stretch it by 0.3 of");
    EXPECT_EQ(warning(elasticity::constant({2, 3, 0})), "");
    model.springs = {{"top", {0, 0, 0}}};
    test::expect_contains(warning(elasticity::constant({2, 3, 0})),
                          "the spring of 'top' has no stiffness and holds nothing");
}

/// The torque of a polygon is at least that of the circle inside it, G pi r^4 / 2 times the twist
/// per length, and at most that of its section without warping, G times its polar moment of area:
/// displacements of elements approach it from above.
TEST(rotation, torsion_of_a_round_bar) {
    const double length = 3, angle = 0.02, poisson = 0.25, young = 5;
    Model model;
    model.mesh = round_bar(12, length);
    model.formulation = elasticity::Formulation::full_integration;
    model.material = {young, poisson};
    model.fixed_supports = {{"back"},
                            {"front", {true, true, true}, elasticity::rotation(angle, {2, -1, 0})}};
    double polar = 0, radius = 1;
    for (const char* const side : {"left", "right", "bottom", "top"}) {
        for (const Cells& cells : model.mesh.group(side).cells) {
            for (std::size_t at = 0; at < cells.nodes.size(); at += 4) {
                std::vector<Vector> edge;  // In the plane z = 0.
                for (std::size_t c = 0; c < 4; ++c) {
                    const Vector corner = test::point(model.mesh, cells.nodes[at + c]);
                    if (corner[2] == 0) edge.push_back({corner[0] - 2, corner[1] + 1, 0});
                }
                if (edge.empty()) continue;
                const auto& [a, b] = std::pair(edge.at(0), edge.at(1));
                const auto dot = [](const Vector& p, const Vector& q) {
                    return p[0] * q[0] + p[1] * q[1];
                };
                const double area = std::abs(a[0] * b[1] - a[1] * b[0]);
                polar += area / 12 * (dot(a, a) + dot(a, b) + dot(b, b));
                radius = std::min(radius, area / std::hypot(b[0] - a[0], b[1] - a[1]));
            }
        }
    }
    const double shear = young / (2 * (1 + poisson)) * angle / length;
    const double low = shear * std::numbers::pi / 2 * std::pow(radius, 4), high = shear * polar;
    EXPECT_LT(high - low, 0.02 * high);
    const auto u = test::solve(elasticity::assemble(test::host(), model), 1e-12);
    const auto reactions = elasticity::find_reactions(test::host(), model, u);
    const double torque = reactions.groups.at(1).second.moment[2], rounding = 1e-9 * high;
    EXPECT_GE(torque, low - rounding);
    EXPECT_LE(torque, high + rounding);
    EXPECT_NEAR(reactions.groups.at(0).second.moment[2], -torque, rounding);
    EXPECT_NEAR(elasticity::strain_energy(test::host(), model, u), torque * angle / 2, rounding);
}

}  // namespace
}  // namespace tessera
