#include "problems/elasticity/elasticity_test.hpp"

namespace tessera {
namespace {

TEST(conformity, meshes_of_one_kind_conform) {
    for (const CellShape shape : test::all_element_shapes) {
        SCOPED_TRACE(to_string(shape));
        const Mesh mesh = test::unit_mesh(shape, 2, 0.5);
        EXPECT_TRUE(elasticity::find_nonconforming_sides(test::host(), mesh).empty());
    }
}

/// Cells of the left half are of second order, or have their own nodes between the halves.
TEST(conformity, gaping_edges_are_found) {
    for (const CellShape shape : {CellShape::triangle, CellShape::quadrilateral,
                                  CellShape::tetrahedron, CellShape::hexahedron}) {
        SCOPED_TRACE(to_string(shape));
        const bool solid = dimensions(shape) == 3;
        const Mesh linear = test::unit_mesh(shape, 2, 0);
        Mesh mesh = meshes::second_order(linear);
        Cells& cells = mesh.elements[0];
        const auto n = std::size_t(node_count(cells.shape));
        const auto is_between = [&](Index node) {
            return mesh.points[std::size_t(node) * mesh.dimensions] == 0.5;
        };
        const auto is_right = [&](std::size_t first) {
            return std::ranges::any_of(std::span(cells.nodes).subspan(first, n), [&](Index node) {
                return mesh.points[std::size_t(node) * mesh.dimensions] > 0.75;
            });
        };
        // The number of edges in the middle plane.
        const std::size_t expected = !solid ? 2 : shape == CellShape::hexahedron ? 12 : 16;

        Mesh mixed = mesh;
        mixed.elements = {{shape, {}}, {cells.shape, {}}};
        mixed.groups.clear();
        for (std::size_t at = 0; at < cells.nodes.size(); at += n) {
            const bool right = is_right(at);
            const std::size_t count = right ? std::size_t(corners(shape)) : n;
            auto& nodes = mixed.elements[right ? 0 : 1].nodes;
            nodes.insert(nodes.end(), &cells.nodes[at], &cells.nodes[at] + count);
        }
        const auto gaps = elasticity::find_nonconforming_sides(test::host(), mixed);
        EXPECT_EQ(gaps.size(), expected);
        for (const auto& gap : gaps) {
            EXPECT_EQ(gap.middles[0], -1);
            EXPECT_TRUE(is_between(gap.middles[1]));
            EXPECT_TRUE(std::ranges::all_of(gap.corners, is_between));
            EXPECT_EQ(gap.corners.size(), 2u);
        }

        Mesh doubled = mesh;
        doubled.groups.clear();
        std::vector<Index> other(std::size_t(mesh.node_count()), -1);
        std::vector<Index>& nodes = doubled.elements[0].nodes;
        for (std::size_t k = 0; k < nodes.size(); ++k) {
            const std::size_t first = k - k % n;
            if (int(k % n) < corners(shape) || !is_right(first) || !is_between(nodes[k])) continue;
            Index& copy = other[std::size_t(nodes[k])];
            if (copy < 0) {
                copy = doubled.node_count();
                for (int i = 0; i < mesh.dimensions; ++i) {
                    doubled.points.push_back(
                        mesh.points[std::size_t(nodes[k]) * mesh.dimensions + i]);
                }
            }
            nodes[k] = copy;
        }
        EXPECT_EQ(elasticity::find_nonconforming_sides(test::host(), doubled).size(), expected);
    }
}

/// Faces of a group without the nodes of their elements.
TEST(conformity, groups_of_another_order) {
    Mesh mesh = test::unit_mesh(CellShape::hexahedron27, 1, 0);
    mesh.groups = {{"side", 2, {{CellShape::quadrilateral, {}}}}};
    auto& nodes = mesh.groups[0].cells[0].nodes;
    for (int k = 0; k < 4; ++k) {
        nodes.push_back(mesh.elements[0].nodes[std::size_t(hexahedron_faces[0][k])]);
    }
    const auto gaps = elasticity::find_nonconforming_sides(test::host(), mesh);
    EXPECT_EQ(gaps.size(), 5u);  // Four edges and the face.
}

}  // namespace
}  // namespace tessera
