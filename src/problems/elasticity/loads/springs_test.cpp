#include "problems/elasticity/elasticity_test.hpp"
#include "support/messages.hpp"

namespace tessera {
namespace {

using elasticity::Field;
using elasticity::Model;
using elasticity::PlaneKind;
using elasticity::Vector;

constexpr std::array<bool, 3> x{true, false, false}, y{false, true, false}, z{false, false, true};

/// The solution of a model, which is the given one within rounding errors, and balances its loads.
elasticity::Reactions expect_solution(const Model& model, const Field& exact) {
    const Context cpu = test::host();
    const auto system = elasticity::assemble(cpu, model);
    EXPECT_FALSE(system.known_singular);
    const auto matrix = system.matrix.view();
    const auto found =
        test::solve_by_inverse(system, test::gamma<double>(1e4) * test::largest_value(matrix));
    EXPECT_LT(found.error, 1e-6);
    const auto u = system.displacements(found.unknowns);
    const auto d = std::size_t(model.mesh.dimensions);
    for (std::size_t k = 0; k < u.size(); ++k) {
        EXPECT_NEAR(u[k], exact(test::point(model.mesh, Index(k / d)))[k % d], found.error) << k;
    }
    auto reactions = elasticity::find_reactions(cpu, model, u);
    const double bound = double(matrix.nonzeros) * test::largest_value(matrix) * found.error;
    EXPECT_LT(bound, 1e-2);
    if (model.plane == PlaneKind::axisymmetric) return reactions;
    for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_NEAR(reactions.total.force[i], -reactions.loads.force[i], bound);
        EXPECT_NEAR(reactions.total.moment[i], -reactions.loads.moment[i], bound);
    }
    return reactions;
}

/// u = F (1 / k + x / (E A)), whatever the elements on the spring.
TEST(springs, a_bar_on_a_spring) {
    const double force = 3, stiffness = 2, young = 5;
    for (const CellShape shape : test::all_element_shapes) {
        SCOPED_TRACE(to_string(shape));
        Model model;
        model.mesh = test::unit_mesh(shape, is_first_order(shape) ? 3 : 2, 0.6);
        model.material = {young, 0};
        model.springs = {{"left", {stiffness, 0, 0}}};
        model.forces = {{"right", {force, 0, 0}}};
        model.fixed_supports = {{"bottom", y}};
        if (model.mesh.dimensions == 3) model.fixed_supports.push_back({"back", z});
        const auto reactions = expect_solution(model, [&](const Vector& at) {
            return Vector{force / stiffness + force * at[0] / young, 0, 0};
        });
        EXPECT_EQ(reactions.groups.back().first, "left");
        EXPECT_NEAR(reactions.groups.back().second.force[0], -force, 1e-8);

        // The support and the spring of one group add up.
        model.fixed_supports.push_back({"left", x, elasticity::constant({0.5, 0, 0})});
        const auto both = expect_solution(model, [&](const Vector& at) {
            return Vector{0.5 + force * at[0] / young, 0, 0};
        });
        EXPECT_EQ(both.groups.back().first, "left");
        EXPECT_NEAR(both.groups.back().second.force[0], -force, 1e-8);
    }
}

/// A block under a traction that varies along x, t = -(p + q (x - 1/2)), on a bed of the stiffness
/// k per area: without lateral strain u_y = t (1 / k + y / E), and u_x follows, without shear.
TEST(springs, a_block_on_a_bed) {
    const double p = 1, q = 0.7, bed = 2, young = 5;
    for (const CellShape shape : test::all_element_shapes) {
        if (is_first_order(shape) && family(shape) != CellFamily::cube) continue;
        // Three points in a triangle do not integrate a linear traction on six nodes.
        if (shape == CellShape::tetrahedron10) continue;
        SCOPED_TRACE(to_string(shape));
        Model model;
        model.mesh = test::unit_mesh(shape, 2, 0);
        model.material = {young, 0};
        const auto traction = [&](double at) { return -(p + q * (at - 0.5)); };
        model.tractions = {{"top", [&](const Vector& at) {
                                return Vector{0, traction(at[0]), 0};
                            }}};
        model.springs = {{"bottom", {0, bed, 0}}};
        model.fixed_supports = {{"bottom", x}};
        if (model.mesh.dimensions == 3) model.fixed_supports.push_back({"back", z});
        expect_solution(model, [&](const Vector& at) {
            return Vector{q * at[1] * (1 / bed + at[1] / 2 / young),
                          traction(at[0]) * (1 / bed + at[1] / young), 0};
        });
        if (model.mesh.dimensions == 3) continue;
        // A column of radius 1 on a bed of the total stiffness 2.
        model.plane = PlaneKind::axisymmetric;
        model.tractions.clear();
        model.forces = {{"top", {0, -p, 0}}};
        model.fixed_supports.clear();
        const auto reactions = expect_solution(model, [&](const Vector& at) {
            return Vector{0, -p * (1 / bed + at[1] / young / std::numbers::pi), 0};
        });
        EXPECT_NEAR(reactions.total.force[1], p, 1e-8);
    }
}

TEST(springs, what_springs_alone_hold_is_supported) {
    Model model;
    model.mesh = meshes::rectangle(CellShape::quadrilateral, 2, 2);
    const auto is_singular = [&] {
        return elasticity::assemble(test::host(), model).known_singular;
    };
    model.springs = {{"left", {1, 0, 0}}};
    EXPECT_TRUE(is_singular());
    model.springs.push_back({"left", {0, 1, 0}});
    EXPECT_FALSE(is_singular());
    // One point may still turn.
    model.mesh.groups.push_back({"corner", 0, {{CellShape::point, {0}}}});
    model.springs = {{"corner", {1, 1, 0}}};
    EXPECT_TRUE(is_singular());
    model.mesh.groups.push_back({"corners", 0, {{CellShape::point, {0, 8}}}});
    model.springs = {{"corners", {1, 1, 0}}};
    EXPECT_FALSE(is_singular());
    // Two points share the stiffness.
    model.material.poisson_ratio = 0;
    model.body_force = elasticity::constant({0, 3, 0});
    const auto u = test::solve(elasticity::assemble(test::host(), model), 1e-12);
    EXPECT_NEAR(u[1] + u[17], 2 * 3., 1e-9);
    EXPECT_NEAR(u[1], u[17], 1e-9);
}

TEST(springs, wrong_springs_are_told) {
    Model model;
    model.mesh = meshes::rectangle(CellShape::quadrilateral, 2, 2);
    model.fixed_supports = {{"left"}};
    const auto message = [&](const std::string& group, const Vector& stiffness) {
        model.springs = {{group, stiffness}};
        return test::message_of([&] { elasticity::assemble(test::host(), model); });
    };
    test::expect_contains(message("right", {1, -1, 0}),
                          "the spring of group 'right' has the stiffness -1 along y");
    test::expect_contains(message("righ", {1, 1, 0}), "did you mean 'right'");
    model.mesh.groups.push_back(
        {"inside", 2, {{CellShape::quadrilateral, model.mesh.elements[0].nodes}}});
    test::expect_contains(message("inside", {1, 1, 0}), "a spring needs segments or points");
}

}  // namespace
}  // namespace tessera
