#include "problems/elasticity/elasticity_test.hpp"
#include "support/messages.hpp"

namespace tessera {
namespace {

using elasticity::Model;
using elasticity::PlaneKind;
using elasticity::Vector;

/// The forces of a moment on the nodes of any group add up to it, and to no force.
TEST(moments, are_exact_on_groups_of_all_elements) {
    for (const CellShape shape : test::all_element_shapes) {
        SCOPED_TRACE(to_string(shape));
        Model model;
        model.mesh = test::unit_mesh(shape, is_first_order(shape) ? 3 : 2, 0.6);
        const bool plane = model.mesh.dimensions == 2;
        std::vector<Index> some{0, 1, model.mesh.node_count() / 2, model.mesh.node_count() / 3};
        model.mesh.groups.push_back({"some", 0, {{CellShape::point, some}}});
        model.thickness = plane ? 0.3 : 1;
        model.fixed_supports = {{"left"}};
        const Vector moment = plane ? Vector{0, 0, 2} : Vector{0.5, -1, 2};
        for (const char* const group : {"right", "top", "some"}) {
            model.moments = {{group, moment}};
            const auto loads =
                elasticity::find_reactions(test::host(), model,
                                           std::vector<double>(model.mesh.points.size(), 0))
                    .loads;
            for (std::size_t i = 0; i < 3; ++i) {
                EXPECT_NEAR(loads.force[i], 0, 1e-12) << group;
                EXPECT_NEAR(loads.moment[i], moment[i], 1e-12) << group;
            }
            const auto system = elasticity::assemble(test::host(), model);
            ASSERT_EQ(system.load_shares.size(), 1U);
            EXPECT_EQ(system.load_shares[0].moment, moment);
        }
    }
}

/// A bar of any section bends by M L / (E I), and its end, which stays plane, turns with it.
TEST(moments, bend_and_twist_a_bar) {
    const double length = 5, young = 3;
    Model model;
    meshes::GridOptions options;
    options.lengths = {length, 1, 2};
    model.mesh = test::grid_mesh(CellShape::hexahedron20, {5, 2, 3}, options);
    model.material = {young, 0};
    model.fixed_supports = {{"left"}};
    model.moments = {{"right", {0, 0, 0.01}}};
    auto u = test::solve(elasticity::assemble(test::host(), model), 1e-12);
    const double turn = 0.01 * length / (young * 2. / 12);  // Without a Poisson's ratio exactly.
    for (Index node = 0; node < model.mesh.node_count(); ++node) {
        const Vector x = test::point(model.mesh, node);
        if (x[0] < length) continue;
        EXPECT_NEAR(u[std::size_t(node) * 3], -turn * (x[1] - 0.5), 1e-9);
        EXPECT_NEAR(u[std::size_t(node) * 3 + 1], turn * length / 2, 1e-9);
    }
    // About its axis, by a rigid end: the work of the moment is twice the strain energy.
    model.moments = {{"right", {0.01, 0, 0}}};
    model.equations = elasticity::rigid_body(model.mesh, "right");
    u = test::solve(elasticity::assemble(test::host(), model), 1e-12);
    double twist = 0;
    for (Index node = 0; node < model.mesh.node_count(); ++node) {
        const Vector x = test::point(model.mesh, node);
        if (x[0] == length && x[1] == 1 && x[2] == 1) twist = u[std::size_t(node) * 3 + 2] / 0.5;
    }
    EXPECT_GT(twist, 0);
    EXPECT_NEAR(0.01 * twist, 2 * elasticity::strain_energy(test::host(), model, u), 1e-10);
    const auto found = elasticity::find_reactions(test::host(), model, u);
    EXPECT_NEAR(found.groups[0].second.moment[0], -0.01, 1e-9);
}

TEST(moments, pass_through_sections) {
    Model model;
    model.mesh = test::grid_mesh(CellShape::quadrilateral9, {4, 2, 1});
    model.fixed_supports = {{"left"}};
    model.moments = {{"right", {0, 0, 0.2}}, {"top", {0, 0, 0.1}}};
    const auto u = test::solve(elasticity::assemble(test::host(), model), 1e-12);
    // The left side: what acts there on the rest.
    const auto section = elasticity::find_section(test::host(), model, u, "left");
    EXPECT_NEAR(section.sum.moment[2], 0.3, 1e-9);
}

TEST(moments, errors_say_what_is_missing) {
    Model model;
    model.mesh = test::unit_mesh(CellShape::hexahedron, 2, 0);
    model.mesh.groups.push_back({"line", 0, {{CellShape::point, {0, 1, 2}}}});
    model.fixed_supports = {{"left"}};
    const auto message = [&] {
        return test::message_of([&] { elasticity::assemble(test::host(), model); });
    };
    model.moments = {{"line", {1, 0, 0}}};
    test::expect_contains(message(), "the moment on 'line' needs points that are not on one line");
    model.mesh = test::unit_mesh(CellShape::quadrilateral, 2, 0);
    model.mesh.groups.push_back({"corner", 0, {{CellShape::point, {0}}}});
    model.moments = {{"corner", {0, 0, 1}}};
    test::expect_contains(message(), "the moment on 'corner' needs points at two places");
    model.moments = {{"right", {0, 0, 1}}};
    EXPECT_EQ(message(), "accepted");
    model.plane = PlaneKind::axisymmetric;
    test::expect_contains(message(), "would turn a body of revolution out of its plane");
}

}  // namespace
}  // namespace tessera
