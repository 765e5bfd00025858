#include "problems/elasticity/elasticity_test.hpp"
#include "problems/elasticity/loads/faces.hpp"
#include "support/messages.hpp"

namespace tessera {
namespace {

using elasticity::Model;

/// Two boxes of other cells, one after the other along x, `gap` apart, not joined. The groups of
/// the first one are as they are, those of the second one begin with "other ".
Mesh two_boxes(CellShape first, std::array<Index, 3> first_cells, CellShape second,
               std::array<Index, 3> second_cells, double gap = 0) {
    Mesh mesh = test::grid_mesh(first, first_cells);
    const Mesh other = test::grid_mesh(second, second_cells);
    const Index nodes = mesh.node_count();
    const auto d = std::size_t(mesh.dimensions);
    for (std::size_t k = 0; k < other.points.size(); ++k) {
        mesh.points.push_back(other.points[k] + (k % d == 0 ? 1 + gap : 0));
    }
    const auto moved = [&](std::vector<Cells> all) {
        for (Cells& cells : all) {
            for (Index& node : cells.nodes) node += nodes;
        }
        return all;
    };
    for (const Cells& cells : moved(other.elements)) mesh.elements.push_back(cells);
    for (const MeshGroup& group : other.groups) {
        mesh.groups.push_back({"other " + group.name, group.dimensions, moved(group.cells)});
    }
    return mesh;
}

/// A constant stress passes a tie where the tied elements lie inside of those of the other side
/// and have at least their order; elsewhere about, for forces of nodes are spread by their places.
TEST(tie, passes_constant_stresses) {
    using S = CellShape;
    struct Case {
        S first;
        std::array<Index, 3> first_cells;
        S second;
        std::array<Index, 3> second_cells;
        bool is_nested;
    };
    for (const auto& [first, first_cells, second, second_cells, is_nested] :
         {Case{S::quadrilateral, {2, 2, 1}, S::triangle6, {2, 4, 1}, true},
          Case{S::quadrilateral9, {2, 2, 1}, S::quadrilateral8, {2, 6, 1}, true},
          Case{S::quadrilateral9, {2, 2, 1}, S::quadrilateral, {2, 5, 1}, false},
          Case{S::hexahedron, {2, 2, 2}, S::hexahedron, {2, 4, 4}, true},
          Case{S::hexahedron, {2, 2, 2}, S::hexahedron, {2, 3, 3}, false},
          Case{S::tetrahedron, {2, 2, 2}, S::hexahedron, {2, 3, 2}, false},
          Case{S::hexahedron20, {1, 1, 1}, S::tetrahedron10, {2, 2, 2}, false},
          Case{S::tetrahedron10, {2, 2, 2}, S::prism15, {2, 3, 3}, false},
          Case{S::hexahedron27, {1, 1, 1}, S::hexahedron27, {2, 2, 2}, true}}) {
        SCOPED_TRACE(std::string(to_string(first)) + " and " + to_string(second));
        Model model;
        model.mesh = two_boxes(first, first_cells, second, second_cells);
        model.material = {2, 0.3};
        const auto d = std::size_t(model.mesh.dimensions);
        const auto stretch = [](const elasticity::Vector& x) {
            return elasticity::Vector{0.1 * x[0], -0.03 * x[1], -0.03 * x[2]};
        };
        model.fixed_supports = {{"left", {true, true, true}, stretch},
                                {"other right", {true, true, true}, stretch}};
        EXPECT_FALSE(elasticity::assemble(test::host(), model).known_singular);
        model.fixed_supports.pop_back();
        EXPECT_TRUE(elasticity::assemble(test::host(), model).known_singular);
        model.equations = elasticity::tie(model.mesh, "other left", "right");
        model.tractions = {{"other right", elasticity::constant({0.2, 0, 0})}};
        const auto system = elasticity::assemble(test::host(), model);
        EXPECT_FALSE(system.known_singular);
        const auto u = test::solve(system, 1e-12);
        double error = 0;
        for (Index node = 0; node < model.mesh.node_count(); ++node) {
            const auto expected = stretch(test::point(model.mesh, node));
            for (std::size_t i = 0; i < d; ++i) {
                error = std::max(error, std::abs(u[std::size_t(node) * d + i] - expected[i]));
            }
        }
        EXPECT_LT(error, is_nested ? 1e-9 : 0.1 * 0.2);
        const auto found = elasticity::find_reactions(test::host(), model, u);
        ASSERT_EQ(found.equations.size(), 1U);
        EXPECT_EQ(found.equations[0].first, "tie other left=right");
        for (std::size_t i = 0; i < 3; ++i) {
            EXPECT_NEAR(found.equations[0].second.force[i], 0, 1e-9);
            EXPECT_NEAR(found.equations[0].second.moment[i], 0, 1e-9);
        }
    }
}

TEST(tie, closes_small_gaps_only) {
    const auto tie = [](double gap) {
        const Mesh mesh =
            two_boxes(CellShape::hexahedron, {2, 2, 2}, CellShape::hexahedron, {2, 3, 3}, gap);
        return elasticity::tie(mesh, "other left", "right").size();
    };
    EXPECT_EQ(tie(0.05), 3 * 16U);
    EXPECT_EQ(tie(-0.05), 3 * 16U);
    test::expect_contains(test::message_of([&] { tie(0.1); }),
                          "of 'other left' is farther from 'right' than a tenth of its faces");
    Mesh mesh = test::unit_mesh(CellShape::hexahedron, 2, 0);
    test::expect_contains(test::message_of([&] { elasticity::tie(mesh, "right", "right"); }),
                          "group 'right' cannot be tied to itself");
    mesh.groups.push_back(mesh.group("right"));
    mesh.groups.back().name = "again";
    EXPECT_EQ(elasticity::tie(mesh, "again", "right").size(), 0U);  // All nodes are shared.
    Mesh points = mesh;
    points.groups.push_back({"corner", 0, {{CellShape::point, {0}}}});
    test::expect_contains(test::message_of([&] { elasticity::tie(points, "left", "corner"); }),
                          "group 'corner' has no faces that 'left' could be tied to");
}

/// The nearest point of a curved face has the shape functions of the place where it is.
TEST(tie, finds_places_on_curved_faces) {
    Mesh mesh = test::unit_mesh(CellShape::hexahedron27, 2, 0);
    for (std::size_t at = 0; at < mesh.points.size(); at += 3) {
        mesh.points[at] += 0.1 * std::sin(2 * mesh.points[at + 1]) * mesh.points[at + 2];
    }
    const elasticity::Elements elements(mesh);
    const MeshGroup right = mesh.group("right");
    std::vector<Index> extra;
    std::vector<std::vector<double>> weights;
    const Index old = mesh.node_count();
    elasticity::Model model;
    model.mesh = mesh;
    elasticity::each_point(
        model, right, [&](auto, const auto& values, const auto&, const elasticity::Vector& point) {
            extra.push_back(old + Index(extra.size()));
            mesh.points.insert(mesh.points.end(), point.begin(), point.end());
            weights.emplace_back(std::begin(values), std::end(values));
        });
    mesh.groups.push_back({"points", 0, {{CellShape::point, extra}}});
    const auto equations = elasticity::tie(mesh, "points", "right");
    ASSERT_EQ(equations.size(), 3 * extra.size());
    const std::vector<Index>& faces = right.cells[0].nodes;
    for (std::size_t k = 0; k < extra.size(); ++k) {
        const std::size_t face = k / 9 * 9;
        std::size_t found = 0;
        for (std::size_t c = 0; c < 9; ++c) {
            const auto& terms = equations[3 * k].terms;
            const auto term = std::ranges::find_if(
                terms, [&](const auto& each) { return each.node == faces[face + c]; });
            const double weight = term == terms.end() ? 0 : -term->coefficient;
            EXPECT_NEAR(weight, weights[k][c], 1e-12);
            found += std::size_t(term != terms.end());
        }
        EXPECT_EQ(equations[3 * k].terms.size(), found + 1);
    }
}

}  // namespace
}  // namespace tessera
