
#include <map>
#include <set>
#include "tessera/detail/cells.hpp"

#include "problems/elasticity/elasticity_test.hpp"

namespace tessera {
namespace {

using elasticity::Vector;

/// Twice the area vector of a face (of a segment: its normal, times 2), outward by its order.
Vector face_vector(const Mesh& mesh, std::span<const Index> nodes) {
    const Vector p = test::point(mesh, nodes[0]);
    if (nodes.size() == 2) {
        const Vector q = test::point(mesh, nodes[1]);
        return {2 * (q[1] - p[1]), 2 * (p[0] - q[0]), 0};
    }
    Vector sum{};
    for (std::size_t k = 1; k + 1 < nodes.size(); ++k) {
        const Vector q = test::point(mesh, nodes[k]), r = test::point(mesh, nodes[k + 1]);
        for (int i = 0; i < 3; ++i) {
            const int j = (i + 1) % 3, l = (i + 2) % 3;
            sum[i] += (q[j] - p[j]) * (r[l] - p[l]) - (q[l] - p[l]) * (r[j] - p[j]);
        }
    }
    return sum;
}

double sum(const std::vector<double>& numbers) {
    double total = 0;
    for (const double number : numbers) total += number;
    return total;
}

/// Rounding: 20 operations per volume, and the sum of all.
double volume_bound(const Mesh& mesh, double volume) {
    return test::gamma<double>(20 * 8 + double(mesh.element_count())) * volume * 8;
}

TEST(meshes, volumes_are_positive_and_fill_the_box_at_the_largest_jitter) {
    for (const CellShape shape : test::element_shapes) {
        SCOPED_TRACE(to_string(shape));
        meshes::GridOptions options;
        options.lengths = {2, 0.5, 3};
        options.gradings = {5, 0.1, 1};
        options.jitter = 1 - 0x1p-20;
        for (options.seed = 1; options.seed < 20; ++options.seed) {
            const Mesh mesh = dimensions(shape) == 2 ? meshes::rectangle(shape, 9, 7, options)
                                                     : meshes::box(shape, 6, 5, 4, options);
            const std::vector<double> volumes = test::element_volumes(mesh);
            for (const double volume : volumes) ASSERT_GT(volume, 0);
            EXPECT_NO_THROW(elasticity::Elements(mesh).check_geometry(test::host()));
            const double expected = dimensions(shape) == 2 ? 1 : 3;
            EXPECT_NEAR(sum(volumes), expected, volume_bound(mesh, expected));
        }
    }
}

/// Every face belongs to two elements, or to one and a side: the splits of neighbours agree.
TEST(meshes, faces_meet) {
    for (const CellShape shape : test::element_shapes) {
        SCOPED_TRACE(to_string(shape));
        const Mesh mesh =
            dimensions(shape) == 2 ? meshes::rectangle(shape, 5, 4) : meshes::box(shape, 3, 4, 5);
        // A face of a simplex leaves one corner out; of a square or cube it is found by the sides'
        // order of corners, bits of 0, 1, 3, 2 (, 4, 5, 7, 6).
        std::map<std::set<Index>, int> faces;
        const std::vector<Index>& nodes = mesh.elements[0].nodes;
        const std::size_t n = std::size_t(corners(shape));
        const bool simplex = shape == CellShape::triangle || shape == CellShape::tetrahedron;
        for (std::size_t at = 0; at < nodes.size(); at += n) {
            const auto add = [&](auto&& keep) {
                std::set<Index> face;
                for (std::size_t c = 0; c < n; ++c) {
                    if (keep(c)) face.insert(nodes[at + c]);
                }
                ++faces[face];
            };
            if (simplex) {
                for (std::size_t k = 0; k < n; ++k) add([&](std::size_t c) { return c != k; });
                continue;
            }
            for (int axis = 0; axis < mesh.dimensions; ++axis) {
                for (const std::size_t side : {0u, 1u}) {
                    add([&](std::size_t c) {
                        const std::size_t bits = c ^ ((c >> 1) & 1);
                        return ((bits >> axis) & 1) == side;
                    });
                }
            }
        }
        std::size_t single = 0;
        for (const auto& [face, count] : faces) {
            ASSERT_LE(count, 2);
            single += count == 1;
        }
        std::size_t on_sides = 0;
        for (const MeshGroup& group : mesh.groups) {
            const std::vector<Index>& side = group.cells[0].nodes;
            const std::size_t m = std::size_t(corners(group.cells[0].shape));
            for (std::size_t at = 0; at < side.size(); at += m, ++on_sides) {
                const std::set<Index> face(side.begin() + at, side.begin() + at + m);
                EXPECT_EQ(faces[face], 1) << group.name;
            }
        }
        EXPECT_EQ(on_sides, single);
    }
}

TEST(meshes, sides_lie_where_they_should_and_point_outward) {
    for (const CellShape shape : test::element_shapes) {
        SCOPED_TRACE(to_string(shape));
        const Mesh mesh = test::unit_mesh(shape, 4, 0.9);
        const std::vector<std::string> names = test::side_names(mesh.dimensions);
        ASSERT_EQ(mesh.groups.size(), names.size());
        for (std::size_t side = 0; side < names.size(); ++side) {
            const MeshGroup& group = mesh.group(names[side]);
            EXPECT_EQ(group.dimensions, mesh.dimensions - 1);
            const std::vector<Index>& nodes = group.cells[0].nodes;
            const std::size_t m = std::size_t(corners(group.cells[0].shape));
            double area = 0;
            for (std::size_t at = 0; at < nodes.size(); at += m) {
                const Vector vector = face_vector(mesh, {nodes.data() + at, m});
                for (int i = 0; i < 3; ++i) {
                    if (i != int(side / 2)) {
                        EXPECT_EQ(vector[i], 0);
                    }
                }
                const double outward = vector[side / 2] * (side % 2 ? 1 : -1) / 2;
                EXPECT_GT(outward, 0);
                area += outward;
                for (std::size_t c = 0; c < m; ++c) {
                    EXPECT_EQ(test::point(mesh, nodes[at + c])[side / 2], double(side % 2));
                }
            }
            EXPECT_NEAR(area, 1, test::gamma<double>(64));
        }
    }
}

TEST(meshes, simplices_have_uneven_rows) {
    const auto inner_neighbours = [](const Mesh& mesh) {
        std::map<Index, std::set<Index>> of_node;
        const std::vector<Index>& nodes = mesh.elements[0].nodes;
        const std::size_t n = std::size_t(corners(mesh.elements[0].shape));
        for (std::size_t k = 0; k < nodes.size(); ++k) {
            for (std::size_t c = 0; c < n; ++c) of_node[nodes[k]].insert(nodes[k / n * n + c]);
        }
        std::map<std::size_t, int> counts;
        for (const auto& [node, neighbours] : of_node) {
            const Vector at = test::point(mesh, node);
            bool inside = true;
            for (int i = 0; i < mesh.dimensions; ++i) inside = inside && at[i] > 0 && at[i] < 1;
            if (inside) ++counts[neighbours.size() - 1];
        }
        return counts;
    };
    using Counts = std::map<std::size_t, int>;
    EXPECT_EQ(inner_neighbours(test::unit_mesh(CellShape::triangle, 9, 0)),
              (Counts{{4, 32}, {8, 32}}));
    EXPECT_EQ(inner_neighbours(test::unit_mesh(CellShape::tetrahedron, 5, 0)),
              (Counts{{10, 48}, {26, 16}}));
}

TEST(meshes, cells_grow_geometrically) {
    meshes::GridOptions options;
    options.lengths = {4, 1, 1};
    options.gradings = {8, 1, 1};
    const Mesh mesh = meshes::rectangle(CellShape::quadrilateral, 4, 1, options);
    std::vector<double> x;
    for (Index k = 0; k < 5; ++k) x.push_back(test::point(mesh, 2 * k)[0]);
    EXPECT_EQ(x[0], 0);
    EXPECT_EQ(x[4], 4);
    for (int k = 0; k < 3; ++k) {  // ratio 8^(1/3) = 2: cells of 4/15, 8/15, 16/15, 32/15
        EXPECT_NEAR(x[k + 1] - x[k], std::ldexp(4. / 15, k), test::gamma<double>(40));
    }
}

TEST(meshes, jitter_depends_on_the_seed_and_leaves_the_outside) {
    meshes::GridOptions options;
    options.jitter = 0.5;
    const Mesh one = meshes::rectangle(CellShape::triangle, 6, 6, options);
    const Mesh same = meshes::rectangle(CellShape::quadrilateral, 6, 6, options);
    options.seed = 2;
    const Mesh other = meshes::rectangle(CellShape::triangle, 6, 6, options);
    options.jitter = 0;
    const Mesh still = meshes::rectangle(CellShape::triangle, 6, 6, options);
    EXPECT_EQ(one.points, same.points);
    for (Index node = 0; node < still.node_count(); ++node) {
        const Vector at = test::point(still, node);
        const bool inside = at[0] > 0 && at[0] < 1 && at[1] > 0 && at[1] < 1;
        EXPECT_EQ(test::point(one, node) != at, inside);
        EXPECT_EQ(test::point(one, node) != test::point(other, node), inside);
    }
}

TEST(meshes, plate_has_a_round_hole_and_straight_sides) {
    for (const CellShape shape : {CellShape::triangle, CellShape::quadrilateral}) {
        const double radius = 0.5, width = 3;
        const Mesh mesh = meshes::plate_with_hole(shape, 6, radius, width);
        const std::vector<double> volumes = test::element_volumes(mesh);
        for (const double volume : volumes) EXPECT_GT(volume, 0);
        // The arc is replaced by 12 chords: 12 triangles of the angle pi / 24 at the origin.
        const double hole = 12 * radius * radius * std::sin(std::numbers::pi / 24) / 2;
        EXPECT_NEAR(sum(volumes), width * width - hole, volume_bound(mesh, width * width));
        const auto expect_side = [&](const char* name, int axis, double at) {
            const MeshGroup& group = mesh.group(name);
            EXPECT_EQ(group.cells[0].nodes.size(), 12u);
            for (const Index node : group.cells[0].nodes) {
                EXPECT_NEAR(test::point(mesh, node)[axis], at, test::gamma<double>(8) * width)
                    << name;
            }
        };
        expect_side("left", 0, 0);
        expect_side("bottom", 1, 0);
        expect_side("right", 0, width);
        expect_side("top", 1, width);
        for (const Index node : mesh.group("hole").cells[0].nodes) {
            const Vector at = test::point(mesh, node);
            EXPECT_NEAR(std::hypot(at[0], at[1]), radius, test::gamma<double>(8) * radius);
        }
        Vector total{};
        for (const MeshGroup& group : mesh.groups) {
            const std::vector<Index>& nodes = group.cells[0].nodes;
            for (std::size_t at = 0; at < nodes.size(); at += 2) {
                const Vector vector = face_vector(mesh, {nodes.data() + at, 2});
                for (int i = 0; i < 2; ++i) total[i] += vector[i];
            }
        }
        for (int i = 0; i < 2; ++i) EXPECT_NEAR(total[i], 0, test::gamma<double>(70) * width);
    }
}

TEST(meshes, wrong_arguments_are_rejected) {
    meshes::GridOptions options;
    EXPECT_THROW(meshes::rectangle(CellShape::hexahedron, 2, 2), InvalidArgument);
    EXPECT_THROW(meshes::box(CellShape::triangle, 2, 2, 2), InvalidArgument);
    EXPECT_THROW(meshes::rectangle(CellShape::triangle, 0, 2), InvalidArgument);
    EXPECT_THROW(meshes::box(CellShape::hexahedron, 2000, 2000, 2000), InvalidArgument);
    options.jitter = 1;
    EXPECT_THROW(meshes::rectangle(CellShape::triangle, 2, 2, options), InvalidArgument);
    options.jitter = 0;
    options.lengths[1] = 0;
    EXPECT_THROW(meshes::rectangle(CellShape::triangle, 2, 2, options), InvalidArgument);
    options.lengths[1] = 1;
    options.gradings[0] = -1;
    EXPECT_THROW(meshes::rectangle(CellShape::triangle, 2, 2, options), InvalidArgument);
    EXPECT_THROW(meshes::plate_with_hole(CellShape::triangle, 4, 2, 2), InvalidArgument);
    EXPECT_THROW(meshes::plate_with_hole(CellShape::tetrahedron, 4), InvalidArgument);
}

TEST(meshes, orient_reverses_mirrored_elements) {
    for (const CellShape shape : {CellShape::triangle, CellShape::quadrilateral,
                                  CellShape::tetrahedron, CellShape::hexahedron}) {
        for (const bool raised : {false, true}) {
            Mesh mesh = dimensions(shape) == 2 ? meshes::rectangle(shape, 2, 2)
                                               : meshes::box(shape, 2, 2, 2);
            if (raised) mesh = meshes::second_order(mesh);
            Mesh turned = mesh;
            Cells& cells = turned.elements[0];
            const auto n = std::size_t(node_count(cells.shape));
            for (std::size_t k = n; k < 2 * n; ++k) {  // The second element.
                const auto from = std::size_t(mirrored_node(cells.shape, int(k - n)));
                cells.nodes[k] = mesh.elements[0].nodes[n + from];
            }
            EXPECT_NE(cells.nodes, mesh.elements[0].nodes);
            meshes::orient(turned);
            EXPECT_EQ(turned.elements[0].nodes, mesh.elements[0].nodes);
            meshes::orient(turned);
            EXPECT_EQ(turned.elements[0].nodes, mesh.elements[0].nodes);
        }
    }
}

}  // namespace
}  // namespace tessera
