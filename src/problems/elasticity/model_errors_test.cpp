#include <limits>

#include "problems/elasticity/elasticity_test.hpp"
#include "support/messages.hpp"

namespace tessera {
namespace {

using elasticity::Model;
using test::expect_contains;

Model good_model() {
    Model model;
    model.mesh = test::unit_mesh(CellShape::quadrilateral, 2, 0);
    model.fixed_supports.push_back({"left"});
    return model;
}

std::string error_message(const Model& model) {
    return test::message_of([&] { elasticity::assemble(test::host(), model); });
}

TEST(model_errors, good_model_is_accepted) { EXPECT_EQ(error_message(good_model()), "accepted"); }

TEST(model_errors, inverted_and_flat_elements_are_named) {
    for (const CellShape shape : test::element_shapes) {
        SCOPED_TRACE(to_string(shape));
        const std::size_t n = std::size_t(corners(shape));
        Model model;
        model.mesh = test::unit_mesh(shape, 2, 0.5);
        std::vector<Index>& nodes = model.mesh.elements[0].nodes;
        const std::vector<Index> before = nodes;
        for (const std::size_t element : {3u, 1u}) {  // The later element is the first one named.
            std::swap(nodes[element * n + 1], nodes[element * n + 2]);
            const std::string message = error_message(model);
            expect_contains(message,
                            "element " + std::to_string(element) + " (" + to_string(shape) + ")");
            expect_contains(message, "is inverted or flat");
            expect_contains(message, " with nodes " + std::to_string(nodes[element * n]) + " at (");
        }
        nodes = before;
        // All corners on one line.
        const int d = model.mesh.dimensions;
        for (std::size_t c = 0; c < n; ++c) {
            for (int i = 0; i < d; ++i) model.mesh.points[nodes[n + c] * d + i] = double(c);
        }
        expect_contains(error_message(model), "is inverted or flat");
        model.mesh.points[nodes[n] * d] = std::numeric_limits<double>::quiet_NaN();
        expect_contains(error_message(model), "is inverted or flat");
    }
}

TEST(model_errors, flat_is_measured_against_the_edges) {
    const auto triangle = [](double height) {
        Model model;
        model.mesh.points = {0, 0, 1, 0, 0.5, height};
        model.mesh.elements = {{CellShape::triangle, {0, 1, 2}}};
        return error_message(model);
    };
    EXPECT_EQ(triangle(1e-10), "accepted");
    expect_contains(triangle(0x1p-50), "is inverted or flat");
    expect_contains(triangle(0), "is inverted or flat");
    const auto tiny = [](double scale) {
        Model model;
        model.mesh = test::unit_mesh(CellShape::hexahedron, 1, 0);
        for (double& x : model.mesh.points) x *= scale;
        return error_message(model);
    };
    EXPECT_EQ(tiny(1e-30), "accepted");
    EXPECT_EQ(tiny(1e30), "accepted");
    for (const double length : {1e-120, 1e120}) {
        expect_contains(tiny(length), " long; give the mesh in another unit of length");
    }
    expect_contains(tiny(0), "is inverted or flat");
}

TEST(model_errors, elements_far_thinner_than_long_are_found) {
    const auto find = [](CellShape shape, double height) {
        Mesh mesh = test::unit_mesh(shape, 2, 0);
        const auto last = std::size_t(mesh.dimensions) - 1;
        for (std::size_t k = last; k < mesh.points.size(); k += last + 1) {
            // The upper layer of elements has this height.
            double& x = mesh.points[k];
            if (x > 0.5) x = 0.5 + (x - 0.5) * 2 * height;
        }
        return elasticity::find_thin_element(test::host(), mesh);
    };
    for (const CellShape shape : test::all_element_shapes) {
        if (is_first_order(shape)) continue;
        SCOPED_TRACE(to_string(shape));
        EXPECT_EQ(find(shape, 1e-5).element, -1);
        EXPECT_GE(find(shape, 0x1p-30).element, 0);
    }
    for (const CellShape shape : test::element_shapes) {
        SCOPED_TRACE(to_string(shape));
        EXPECT_EQ(find(shape, 1e-5).element, -1);
        const auto thin = find(shape, 0x1p-30);
        EXPECT_GE(thin.element, 0);
        // 0.5 long; shape functions change by at least 0.62 over the height at a Gauss point.
        EXPECT_LE(thin.thickness, 0x1p-29 / 0.62);
        EXPECT_GE(thin.thickness, 0x1p-29 * 0.99);
        expect_contains(thin.description, std::string(" (") + to_string(shape) + ") with nodes ");
    }
}

TEST(model_errors, middle_nodes_far_from_the_middle_are_rejected) {
    for (const CellShape shape : test::all_element_shapes) {
        if (is_first_order(shape)) continue;
        SCOPED_TRACE(to_string(shape));
        const auto moved = [&](double share) {  // Towards the first corner of the first edge.
            Model model;
            model.mesh = test::unit_mesh(shape, 1, 0);
            const int d = model.mesh.dimensions;
            const std::vector<Index>& nodes = model.mesh.elements[0].nodes;
            for (int i = 0; i < d; ++i) {
                double& x = model.mesh.points[std::size_t(nodes[corners(shape)] * d + i)];
                x += share * (model.mesh.points[std::size_t(nodes[0] * d + i)] - x);
            }
            return error_message(model);
        };
        EXPECT_EQ(moved(0), "accepted");
        EXPECT_EQ(moved(0.2), "accepted");
        expect_contains(moved(3), "is inverted or flat");
        expect_contains(moved(3), "nodes of its edges must lie near their middle");
    }
}

/// The fourth corner of a square moves along its diagonal: a corner of 180 degrees is allowed, a
/// concave one is not, even if the Jacobian is positive at all Gauss points.
TEST(model_errors, quadrilaterals_are_convex) {
    const auto square = [](double x) {
        Model model;
        model.mesh.points = {0, 0, 1, 0, x, x, 0, 1};
        model.mesh.elements = {{CellShape::quadrilateral, {0, 1, 2, 3}}};
        return error_message(model);
    };
    EXPECT_EQ(square(1), "accepted");
    EXPECT_EQ(square(0.5), "accepted");
    expect_contains(square(0.45), "is inverted or flat");
    expect_contains(square(0), "is inverted or flat");
}

TEST(model_errors, wrong_nodes_and_shapes_are_rejected) {
    Model model = good_model();
    std::vector<Index>& nodes = model.mesh.elements[0].nodes;
    nodes[5] = 9;
    expect_contains(error_message(model),
                    "element 1 (quadrilateral) names node 9; the mesh has 9 nodes, counted from 0");
    nodes[5] = -1;
    expect_contains(error_message(model), "names node -1");
    nodes[5] = nodes[7];
    expect_contains(error_message(model),
                    "element 1 (quadrilateral) names node " + std::to_string(nodes[7]) + " twice");
    model = good_model();
    model.mesh.elements.push_back({CellShape::tetrahedron, {0, 1, 2, 3}});
    expect_contains(error_message(model),
                    "a mesh of 2 dimensions has no elements of shape tetrahedron");
    model = good_model();
    model.mesh.elements[0].nodes.pop_back();
    expect_contains(error_message(model),
                    "elements of shape quadrilateral name 15 nodes, not a multiple of 4");
    model = good_model();
    model.mesh.points.pop_back();
    expect_contains(error_message(model), "17 coordinates, not a multiple of 2");
    model = good_model();
    model.mesh.groups[0].cells[0].nodes.pop_back();
    expect_contains(error_message(model), "cells of group 'left' of shape segment name 3 nodes");
    model = good_model();
    model.mesh.dimensions = 4;
    expect_contains(error_message(model), "2 or 3 dimensions");
}

TEST(model_errors, wrong_groups_are_rejected) {
    Model model = good_model();
    model.fixed_supports.push_back({"lid"});
    expect_contains(error_message(model),
                    "the mesh has no group 'lid'; it has left, right, bottom, top");
    model.fixed_supports = {{"rigth"}};
    expect_contains(error_message(model),
                    "no group 'rigth'; did you mean 'right'? It has left, right, bottom, top");
    model = good_model();
    model.tractions.push_back({"lid", elasticity::constant({1, 0, 0})});
    expect_contains(error_message(model), "the mesh has no group 'lid'");
    model = good_model();
    model.mesh.groups.push_back({"corner", 0, {{CellShape::point, {0}}}});
    model.tractions.push_back({"corner", elasticity::constant({1, 0, 0})});
    expect_contains(error_message(model),
                    "group 'corner' has a cell of shape point; a traction needs segments");
    model = good_model();
    model.mesh.groups[1].cells[0].nodes[0] = 50;
    model.fixed_supports.push_back({"right"});
    expect_contains(error_message(model), "group 'right' names node 50; the mesh has 9 nodes");
    model = good_model();
    model.mesh.points.insert(model.mesh.points.end(), {5, 5});
    model.mesh.groups[1].cells[0].nodes[0] = 9;
    model.tractions.push_back({"right", elasticity::constant({1, 0, 0})});
    expect_contains(error_message(model),
                    "the load on 'right' is on node 9, which belongs to no element");
    for (const std::vector<Index>& nodes : {std::vector<Index>{}, {9}}) {
        model = good_model();
        model.mesh.points.insert(model.mesh.points.end(), {5, 5});
        model.mesh.groups.push_back({"apart", 0, {{CellShape::point, nodes}}});
        model.fixed_supports.push_back({"apart"});
        expect_contains(error_message(model),
                        "the fixed support of group 'apart' holds nothing: no element has a node");
    }
}

TEST(model_errors, wrong_materials_are_rejected) {
    Model model = good_model();
    model.material.young_modulus = 0;
    expect_contains(error_message(model),
                    "the material: Young's modulus 0 is not a positive number");
    model.material.young_modulus = 1.7e308;
    model.thickness = 1e300;
    expect_contains(error_message(model), "the stiffness matrix or the load is not finite");
    model.thickness = 1;
    model.material = {1, 0.5};
    EXPECT_EQ(error_message(model), "accepted");  // plane stress
    model.material = {1, 0.51};
    expect_contains(error_message(model), "Poisson's ratio 0.51 is not in (-1, 0.5]");
    model.mesh = test::unit_mesh(CellShape::tetrahedron, 1, 0);
    model.material = {1, 0.5};
    expect_contains(error_message(model), "Poisson's ratio 0.5 is not in (-1, 0.5)");
    model = good_model();
    model.mesh.region_names = {"steel", "brass"};
    model.mesh.regions = {0, 1, 1, 0};
    EXPECT_EQ(error_message(model), "accepted");
    model.materials["brass"] = {-1, 0};
    expect_contains(error_message(model), "brass: Young's modulus -1");
    model.materials = {{"lead", {}}};
    expect_contains(error_message(model), "the mesh has no region 'lead'; it has steel, brass");
    model.materials = {{"bras", {}}};
    expect_contains(error_message(model),
                    "the mesh has no region 'bras'; did you mean 'brass'? It has steel, brass");
    model.materials.clear();
    model.mesh.groups.push_back({"all", 2, model.mesh.elements});
    model.materials = {{"bras", {}}};
    expect_contains(error_message(model), "It has steel, brass, all");
    model.materials = {{"all", {2, 0.3}}, {"brass", {2, 0.3}}};
    EXPECT_EQ(error_message(model), "accepted");
    model.materials["brass"] = {3, 0.3};
    expect_contains(error_message(model), "element 1 (quadrilateral) with nodes ");
    expect_contains(error_message(model),
                    " is in the groups 'all' and 'brass', which have different materials");
    model.materials.clear();
    model.mesh.regions[3] = 2;
    expect_contains(error_message(model),
                    "an element is of region 2, counted from 0; the mesh has 2");
    model.mesh.regions.pop_back();
    expect_contains(error_message(model), "the mesh gives regions for 3 elements and has 4");
}

TEST(model_errors, wrong_displacements_are_rejected) {
    const Model model = good_model();
    const std::vector<double> few(4);
    EXPECT_THROW(elasticity::element_stresses(test::host(), model, few), InvalidArgument);
    EXPECT_THROW(elasticity::strain_energy(test::host(), model, few), InvalidArgument);
}

}  // namespace
}  // namespace tessera
