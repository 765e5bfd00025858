#include "problems/elasticity/elasticity_test.hpp"
#include "support/messages.hpp"

namespace tessera {
namespace {

using elasticity::Model;
using elasticity::Section;
using elasticity::Vector;

/// Adds the faces of elements at x = `place` as the group "cut", each once.
void add_cut(Mesh& mesh, double place) {
    const elasticity::Elements elements(mesh);
    MeshGroup cut{"cut", mesh.dimensions - 1, {}};
    for (Index element = 0; element < elements.count(); ++element) {
        const CellShape shape = elements.shape(element);
        const std::span<const Index> nodes = elements.nodes(element);
        double middle = 0;
        for (const Index node : elements.corner_nodes(element)) {
            middle += test::point(mesh, node)[0] - place;
        }
        if (middle > 0) continue;
        for (int face = 0; face < face_count(shape); ++face) {
            const CellShape of_face = face_shape(shape, face);
            Cells cell{of_face, {}};
            for (int k = 0; k < node_count(of_face); ++k) {
                cell.nodes.push_back(nodes[std::size_t(face_node(shape, face, k))]);
            }
            const auto is_off = [&](Index node) {
                return std::abs(test::point(mesh, node)[0] - place) > 1e-12;
            };
            if (std::ranges::none_of(cell.nodes, is_off)) cut.cells.push_back(cell);
        }
    }
    mesh.groups.push_back(std::move(cut));
}

Vector cross(const Vector& a, const Vector& b) {
    return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}

/// A body of length 1 that is held on the left, with a force on the right and a weight.
TEST(section, carries_what_acts_on_the_part_ahead) {
    for (const CellShape shape : test::all_element_shapes) {
        SCOPED_TRACE(to_string(shape));
        Model model;
        model.mesh = test::unit_mesh(shape, 2, 0);
        add_cut(model.mesh, 0.5);
        const bool plane = model.mesh.dimensions == 2;
        const Vector load{0.5, -2, plane ? 0. : 1}, weight{0, -3, 0};
        const double middle = plane ? 0 : 0.5;
        model.fixed_supports = {{"left"}};
        model.forces = {{"right", load}};
        model.material.density = 1;
        model.gravity = weight;
        const auto u = test::solve(elasticity::assemble(test::host(), model), 1e-12);
        const std::tuple<const char*, double, double> places[] = {
            {"cut", 0.5, 0.5}, {"right", 1, 0}, {"left", 0, 1}};
        for (const auto& [group, x, ahead] : places) {  // The volume ahead.
            SCOPED_TRACE(group);
            const Section section = elasticity::find_section(test::host(), model, u, group);
            const Vector to_end{1 - x, 0, 0}, to_weight{(1 - x) / 2, 0, 0};
            const Vector end_moment = cross(to_end, load), own_moment = cross(to_weight, weight);
            const Vector centre{x, 0.5, middle};
            for (std::size_t i = 0; i < 3; ++i) {
                EXPECT_NEAR(section.normal[i], i == 0, 1e-14) << i;
                EXPECT_NEAR(section.centre[i], centre[i], 1e-14) << i;
                EXPECT_NEAR(section.sum.force[i], load[i] + ahead * weight[i], 1e-9) << i;
                EXPECT_NEAR(section.sum.moment[i], end_moment[i] + ahead * own_moment[i], 1e-9)
                    << i;
            }
        }
    }
}

/// Loads on sides that the cut meets act on its nodes from both sides.
TEST(section, loads_beside_the_cut_count_where_they_act) {
    for (const CellShape shape : test::all_element_shapes) {
        SCOPED_TRACE(to_string(shape));
        Model model;
        model.mesh = test::unit_mesh(shape, 2, 0);
        add_cut(model.mesh, 0.5);
        const bool plane = model.mesh.dimensions == 2;
        const Vector traction{0.5, -2, plane ? 0. : 1}, force{1, 0.25, 0};
        const double pressure = 3;
        model.fixed_supports = {{"left"}};
        model.tractions = {{"top", elasticity::constant(traction)}};
        model.forces = {{"bottom", force}};
        model.pressures = {{"bottom", pressure}};
        const auto u = test::solve(elasticity::assemble(test::host(), model), 1e-12);
        const Vector from_below{force[0], force[1] + pressure, 0};
        const Vector to_top{0.25, 0.5, 0}, to_bottom{0.25, -0.5, 0};
        const Vector top_moment = cross(to_top, traction);
        const Vector bottom_moment = cross(to_bottom, from_below);
        const Section section = elasticity::find_section(test::host(), model, u, "cut");
        const Section end = elasticity::find_section(test::host(), model, u, "right");
        for (std::size_t i = 0; i < 3; ++i) {
            EXPECT_NEAR(section.sum.force[i], (traction[i] + from_below[i]) / 2, 1e-9) << i;
            EXPECT_NEAR(section.sum.moment[i], (top_moment[i] + bottom_moment[i]) / 2, 1e-9) << i;
            EXPECT_NEAR(end.sum.force[i], 0, 1e-9) << i;
            EXPECT_NEAR(end.sum.moment[i], 0, 1e-9) << i;
        }
    }
}

/// A body that is pressed evenly into a bed of springs has no shear.
TEST(section, springs_beside_the_cut_count_where_they_act) {
    for (const CellShape shape : test::all_element_shapes) {
        SCOPED_TRACE(to_string(shape));
        Model model;
        model.mesh = test::unit_mesh(shape, 2, 0);
        add_cut(model.mesh, 0.5);
        model.material.poisson_ratio = 0;
        model.springs = {{"bottom", {1, 2, 1}}};
        model.tractions = {{"top", elasticity::constant({0, -3, 0})}};
        const auto u = test::solve(elasticity::assemble(test::host(), model), 1e-12);
        const Section section = elasticity::find_section(test::host(), model, u, "cut");
        for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(section.sum.force[i], 0, 1e-9) << i;
    }
}

/// A part of a cut has forces of its neighbours at its end.
TEST(section, parts_of_a_cut_are_refused) {
    for (const CellShape shape : test::all_element_shapes) {
        SCOPED_TRACE(to_string(shape));
        Model model;
        model.mesh = test::unit_mesh(shape, 2, 0);
        add_cut(model.mesh, 0.5);
        Cells& cells = model.mesh.groups.back().cells[0];
        cells.nodes.resize(std::size_t(node_count(cells.shape)));
        model.mesh.groups.back().cells.resize(1);
        const std::vector<double> u(model.mesh.points.size(), 0);
        test::expect_contains(
            test::message_of([&] { elasticity::find_section(test::host(), model, u, "cut"); }),
            "section 'cut' ends inside the structure, at ");
    }
}

TEST(section, wrong_groups_are_named) {
    Model model;
    model.mesh = test::unit_mesh(CellShape::hexahedron, 2, 0);
    model.fixed_supports = {{"left"}};
    const std::vector<double> u(model.mesh.points.size(), 0);
    const auto message = [&](const std::string& group) {
        return test::message_of([&] { elasticity::find_section(test::host(), model, u, group); });
    };
    MeshGroup both{"both", 2, model.mesh.group("left").cells};
    const Cells& other = model.mesh.group("top").cells[0];
    both.cells[0].nodes.insert(both.cells[0].nodes.end(), other.nodes.begin(), other.nodes.end());
    model.mesh.groups.push_back(both);
    model.mesh.groups.push_back({"corner", 0, {{CellShape::point, {0}}}});
    test::expect_contains(message("both"), "section 'both' does not lie in a plane");
    test::expect_contains(message("corner"), "a section needs faces; group 'corner' has none");
    test::expect_contains(message("none"), "none");
    EXPECT_THROW(elasticity::find_section(test::host(), model, {}, "left"), InvalidArgument);
}

}  // namespace
}  // namespace tessera
