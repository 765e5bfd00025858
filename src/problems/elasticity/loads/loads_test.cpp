#include "problems/elasticity/elasticity_test.hpp"
#include "support/messages.hpp"
#include "tessera/detail/cells.hpp"

namespace tessera {
namespace {

using elasticity::LoadShare;
using elasticity::Model;

/// The only load of a model.
LoadShare share_of(const Model& model) {
    const auto system = elasticity::assemble(test::host(), model);
    EXPECT_EQ(system.load_shares.size(), 1u);
    return system.load_shares.at(0);
}

/// The corner on the fixed left side carries half of one of the n equal edges on the bottom.
TEST(loads, shares_on_fixed_nodes_are_lost) {
    Model model;
    model.mesh = meshes::rectangle(CellShape::quadrilateral, 8, 2);
    model.fixed_supports = {{"left"}};
    model.forces = {{"bottom", {3, -2, 0}}};
    LoadShare share = share_of(model);
    const double rounding = test::gamma<double>(32);
    EXPECT_EQ(share.group, "bottom");
    EXPECT_NEAR(share.held_share, 1. / 16, rounding);
    EXPECT_NEAR(share.total[0], 3, 3 * rounding);
    EXPECT_NEAR(share.total[1], -2, 2 * rounding);
    EXPECT_NEAR(share.held[0], 3. / 16, rounding);
    EXPECT_NEAR(share.held[1], -2. / 16, rounding);

    model.fixed_supports[0].components = {true, false, false};  // y is free.
    share = share_of(model);
    EXPECT_NEAR(share.held_share, 3. / 16 / 5, rounding);
    EXPECT_NEAR(share.held[0], 3. / 16, rounding);
    EXPECT_EQ(share.held[1], 0);

    model.forces.clear();
    model.tractions = {{"left", elasticity::constant({0, 1, 0})}};
    EXPECT_EQ(share_of(model).held_share, 0);
    model.fixed_supports = {{"left"}};
    share = share_of(model);
    EXPECT_EQ(share.held_share, 1);
    EXPECT_EQ(share.held, share.total);
    EXPECT_NEAR(share.total[1], 1, rounding);
}

TEST(loads, points_and_zero) {
    Model model;
    model.mesh = meshes::rectangle(CellShape::triangle, 2, 2);
    model.mesh.groups.push_back({"corners", 0, {{CellShape::point, {0, 2, 6, 8}}}});
    model.fixed_supports = {{"left"}};
    model.forces = {{"corners", {0, 4, 0}}};
    LoadShare share = share_of(model);  // Nodes 0 and 2 are on the left.
    EXPECT_EQ(share.held_share, 0.5);
    EXPECT_EQ(share.held, (elasticity::Vector{0, 2, 0}));
    model.forces = {{"corners", {0, 0, 0}}};
    share = share_of(model);
    EXPECT_EQ(share.held_share, 0);
    EXPECT_EQ(share.total, (elasticity::Vector{0, 0, 0}));
}

/// A pressure on all sides leaves the stress -p in all directions, whatever the orders of the nodes
/// of the sides.
TEST(loads, pressure_acts_against_the_outward_normal) {
    for (const CellShape shape : test::all_element_shapes) {
        SCOPED_TRACE(to_string(shape));
        const double pressure = 3;
        Model model;
        model.mesh = test::unit_mesh(shape, is_first_order(shape) ? 3 : 2, 0.6);
        const int d = model.mesh.dimensions;
        for (std::size_t g = 0; g < model.mesh.groups.size(); g += 2) {
            for (Cells& cells : model.mesh.groups[g].cells) {  // Turned round.
                const std::vector<Index> old = cells.nodes;
                const int n = node_count(cells.shape);
                for (std::size_t k = 0; k < old.size(); ++k) {
                    const auto at = std::size_t(mirrored_node(cells.shape, int(k) % n));
                    cells.nodes[k] = old[k - k % std::size_t(n) + at];
                }
            }
        }
        for (const std::string& side : test::side_names(d)) {
            model.pressures.emplace_back(side, pressure);
        }
        const auto free = elasticity::assemble(test::host(), model);
        const double rounding = test::gamma<double>(1000 + double(free.load.size()));
        EXPECT_NEAR(free.load_shares.at(1).total[0], -pressure, pressure * rounding);
        EXPECT_NEAR(free.load_shares.at(2).total[1], pressure, pressure * rounding);
        // Supports that carry nothing.
        const std::array<bool, 3> x{true, false, false}, y{false, true, false},
            z{false, false, true};
        model.fixed_supports = {{"left", x}, {"bottom", y}};
        if (d == 3) model.fixed_supports.push_back({"back", z});
        const auto system = elasticity::assemble(test::host(), model);
        const auto found = test::solve_by_inverse(
            system, test::gamma<double>(1e4) * test::largest_value(system.matrix.view()));
        const auto stresses =
            elasticity::node_stresses(test::host(), model, system.displacements(found.unknowns));
        const auto components = std::size_t(elasticity::tensor_components);
        EXPECT_LT(found.error, 1e-6);
        for (std::size_t k = 0; k < stresses.size(); ++k) {
            const bool normal = int(k % components) < d;
            ASSERT_NEAR(stresses[k], normal ? -pressure : 0, 2700 * found.error) << k;
        }
    }
}

TEST(loads, pressure_needs_the_surface) {
    Model model;
    model.mesh = meshes::rectangle(CellShape::quadrilateral, 2, 1);
    model.mesh.groups.push_back({"inside", 1, {{CellShape::segment, {2, 3}}}});
    model.mesh.groups.push_back({"across", 1, {{CellShape::segment, {0, 5}}}});
    model.pressures = {{"inside", 1}};
    test::expect_contains(
        test::message_of([&] { elasticity::assemble(test::host(), model); }),
        "the pressure on 'inside' acts between element 0 (quadrilateral) with nodes");
    for (const std::vector<Index>& ends : {std::vector<Index>{0, 5}, {0, 3}}) {  // A diagonal.
        model.mesh.groups.back().cells[0].nodes = ends;
        model.pressures = {{"across", 1}};
        test::expect_contains(test::message_of([&] { elasticity::assemble(test::host(), model); }),
                              "which are no face of an element");
    }
}

TEST(loads, faces_are_those_of_elements) {
    Model model;
    model.mesh = meshes::rectangle(CellShape::quadrilateral, 2, 1);
    model.mesh.groups.push_back({"across", 1, {{CellShape::segment, {0, 5}}}});
    const auto expect_refused = [](const Model& wrong, const std::string& what) {
        test::expect_contains(test::message_of([&] { elasticity::assemble(test::host(), wrong); }),
                              "the " + what +
                                  " on 'across' is on the node 0 and others, which are no face of "
                                  "an element");
    };
    Model pulled = model, forced = model, turned = model, held = model;
    pulled.tractions = {{"across", elasticity::constant({1, 0, 0})}};
    forced.forces = {{"across", {1, 0, 0}}};
    turned.moments = {{"across", {0, 0, 1}}};
    held.springs = {{"across", {1, 1, 0}}};
    expect_refused(pulled, "traction");
    expect_refused(forced, "force");
    expect_refused(turned, "moment");
    expect_refused(held, "spring");
    model.mesh.groups.back().cells[0].nodes = {2, 3};  // Between two elements.
    model.forces = forced.forces;
    EXPECT_GT(elasticity::assemble(test::host(), model).matrix.rows(), 0);
}

/// The resultant of a pressure on an edge is that on its chord, however it is curved: here so far
/// that the middle of the corners of the triangle is not on the inner side of some normals.
TEST(loads, pressure_on_a_curved_edge) {
    Model model;
    model.mesh.points = {0, 0, 1, 0, -0.2, 0.3, 0.5, -0.15, 0.4, 0.15, -0.1, 0.15};
    model.mesh.elements = {{CellShape::triangle6, {0, 1, 2, 3, 4, 5}}};
    model.pressures = {{"edge", 2}};
    for (const bool reversed : {false, true}) {
        model.mesh.groups = {{"edge", 1, {{CellShape::segment3, {0, 1, 3}}}}};
        if (reversed)
            std::swap(model.mesh.groups[0].cells[0].nodes[0],
                      model.mesh.groups[0].cells[0].nodes[1]);
        const LoadShare share = share_of(model);
        EXPECT_NEAR(share.total[0], 0, test::gamma<double>(64));
        EXPECT_NEAR(share.total[1], 2, 2 * test::gamma<double>(64));
    }
}

/// The sum is zero, but not the load.
TEST(loads, pressures_that_balance_each_other) {
    Model model;
    model.mesh = meshes::rectangle(CellShape::quadrilateral, 2, 1);
    MeshGroup both{"both", 1, model.mesh.group("bottom").cells};
    for (const Cells& cells : model.mesh.group("top").cells) both.cells.push_back(cells);
    model.mesh.groups.push_back(both);
    model.pressures = {{"both", 3}};
    const LoadShare share = share_of(model);
    EXPECT_NEAR(share.total[1], 0, 6 * test::gamma<double>(32));
    EXPECT_NEAR(share.size, 6, 6 * test::gamma<double>(32));
}

/// Weight of two materials, a pressure and a force; the supports carry their sum.
TEST(loads, reactions_balance_all_loads) {
    for (const CellShape shape : test::all_element_shapes) {
        SCOPED_TRACE(to_string(shape));
        Model model;
        model.mesh = test::unit_mesh(shape, 2, 0.5);
        const int d = model.mesh.dimensions;
        const Index count = model.mesh.element_count();
        const std::vector<double> volumes = test::element_volumes(model.mesh);
        model.mesh.region_names = {"light", "heavy"};
        double mass = 0;
        for (Index k = 0; k < count; ++k) {
            model.mesh.regions.push_back(k % 3 == 0);
            mass += volumes[k] * (k % 3 == 0 ? 8 : 2) * (d == 2 ? 0.5 : 1);
        }
        model.thickness = 0.5;
        model.materials = {{"light", {1, 0.3, 2}}, {"heavy", {1, 0.3, 8}}};
        model.gravity = {0, -10, 0};
        model.pressures = {{"top", 4}};
        model.forces = {{"left", {0, 0, d == 3 ? 1. : 0}}};
        model.fixed_supports = {{"left"},
                                {"right", {true, true, true}, elasticity::constant({0.01, 0, 0})}};
        const auto system = elasticity::assemble(test::host(), model);
        const double rtol = 1e-13;
        const auto u = test::solve(system, rtol);
        const auto reactions = elasticity::find_reactions(test::host(), model, u);
        const double expected = -10 * mass - 4 * (d == 2 ? 0.5 : 1);
        const double rounding = test::gamma<double>(1e4) * std::abs(expected);
        EXPECT_NEAR(reactions.loads.force[1], expected, rounding);
        EXPECT_NEAR(reactions.loads.force[2], d == 3 ? 1 : 0, rounding);
        ASSERT_EQ(reactions.groups.size(), 2u);
        for (int i = 0; i < d; ++i) {
            // Sums of fewer than 1000 residuals.
            EXPECT_NEAR(reactions.total.force[i] + reactions.loads.force[i], 0,
                        1000 * (rounding + rtol * std::abs(expected)));
            EXPECT_NEAR(reactions.groups[0].second.force[i] + reactions.groups[1].second.force[i],
                        reactions.total.force[i], rounding);
        }
        for (int i = 0; i < 3; ++i) {  // All nodes are in the unit square or cube.
            EXPECT_NEAR(reactions.total.moment[i] + reactions.loads.moment[i], 0,
                        2000 * (rounding + rtol * std::abs(expected)));
        }

        // A bar that is pulled: E A strain on its ends.
        model.mesh.regions.clear();
        model.mesh.region_names.clear();
        model.materials.clear();
        model.material = {1, 0};
        model.gravity = {};
        model.pressures.clear();
        model.forces.clear();
        const auto pulled = elasticity::assemble(test::host(), model);
        const auto ends =
            elasticity::find_reactions(test::host(), model, test::solve(pulled, rtol));
        const double pull = d == 2 ? 0.005 : 0.01;
        EXPECT_NEAR(ends.groups[0].second.force[0], -pull,
                    1000 * (test::gamma<double>(1e4) + rtol) * pull);
        EXPECT_NEAR(ends.groups[1].second.force[0], pull,
                    1000 * (test::gamma<double>(1e4) + rtol) * pull);
    }
}

}  // namespace
}  // namespace tessera
