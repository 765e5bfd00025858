#include "problems/elasticity/elasticity_test.hpp"

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

}  // namespace
}  // namespace tessera
