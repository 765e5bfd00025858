#include <map>

#include "problems/elasticity/elasticity_test.hpp"

namespace tessera {
namespace {

using elasticity::Model;
using elasticity::System;
using Corner = std::array<int, 3>;

/// Unit squares or cubes at these corners, each in two cells per axis, of second order in one;
/// nodes at one place are one. The group "bodyK", K from 0, has the nodes of the side x = least of
/// each.
Mesh blocks(CellShape shape, const std::vector<Corner>& corners_of_blocks) {
    const int d = dimensions(shape);
    const Index n = is_first_order(shape) ? 2 : 1;
    Mesh mesh{d, {}, {{shape, {}}}, {}, {}, {}};
    std::map<std::vector<double>, Index> known;
    for (const Corner& corner : corners_of_blocks) {
        const Mesh block = test::unit_mesh(shape, n, 0);
        std::vector<Index> numbers;
        for (std::size_t at = 0; at < block.points.size(); at += std::size_t(d)) {
            std::vector<double> x(block.points.begin() + std::ptrdiff_t(at),
                                  block.points.begin() + std::ptrdiff_t(at) + d);
            for (int i = 0; i < d; ++i) x[std::size_t(i)] += corner[std::size_t(i)];
            const auto [entry, is_new] = known.try_emplace(x, mesh.node_count());
            if (is_new) mesh.points.insert(mesh.points.end(), x.begin(), x.end());
            numbers.push_back(entry->second);
        }
        for (const Index node : block.elements[0].nodes) {
            mesh.elements[0].nodes.push_back(numbers[std::size_t(node)]);
        }
        MeshGroup group = block.groups[0];
        group.name = "body" + std::to_string(mesh.groups.size());
        for (Index& node : group.cells[0].nodes) node = numbers[std::size_t(node)];
        mesh.groups.push_back(group);
    }
    return mesh;
}

/// Whether a pivot of Cholesky's factorisation of the whole matrix is a rounding error.
bool is_singular(const CsrMatrix<double>& matrix) {
    const auto n = std::size_t(matrix.rows());
    const auto view = matrix.view();
    std::vector<double> a(n * n, 0);
    double largest = 0;
    for (std::size_t i = 0; i < n; ++i) {
        for (Offset k = view.row_offsets[i]; k < view.row_offsets[i + 1]; ++k) {
            a[i * n + std::size_t(view.column_indices[k])] = view.values[k];
        }
        largest = std::max(largest, a[i * n + i]);
    }
    for (std::size_t k = 0; k < n; ++k) {
        const double pivot = a[k * n + k];
        if (!(pivot > test::gamma<double>(n * n) * largest)) return true;
        for (std::size_t i = k + 1; i < n; ++i) {
            const double factor = a[i * n + k] / pivot;
            for (std::size_t j = k; j < n; ++j) a[i * n + j] -= factor * a[k * n + j];
        }
    }
    return false;
}

System checked(const Mesh& mesh, const std::vector<elasticity::FixedSupport>& supports) {
    Model model;
    model.mesh = mesh;
    model.fixed_supports = supports;
    System system = elasticity::assemble(test::host(), model);
    EXPECT_EQ(system.known_singular, is_singular(system.matrix));
    return system;
}

/// The positions of hinge nodes.
std::vector<std::vector<double>> hinges(const Mesh& mesh, const System& system) {
    std::vector<std::vector<double>> found;
    for (const Index node : system.hinge_nodes) {
        const auto first = mesh.points.begin() + std::ptrdiff_t(node) * mesh.dimensions;
        found.emplace_back(first, first + mesh.dimensions);
    }
    std::ranges::sort(found);
    return found;
}

const std::array<bool, 3> x{true, false, false};

TEST(rigid_motions, blocks_that_share_one_node) {
    for (const CellShape shape : test::all_element_shapes) {
        SCOPED_TRACE(to_string(shape));
        const bool plane = dimensions(shape) == 2;
        const Mesh mesh = blocks(shape, {{0, 0, 0}, {1, 1, plane ? 0 : 1}});
        const std::vector<std::vector<double>> middle{std::vector<double>(plane ? 2 : 3, 1.)};
        for (const char* fixed : {"body0", "body1"}) {
            const System system = checked(mesh, {{fixed}});
            EXPECT_TRUE(system.known_singular);
            EXPECT_EQ(hinges(mesh, system), middle);
        }
        EXPECT_FALSE(checked(mesh, {{"body0"}, {"body1"}}).known_singular);
        // Without rotations about the node; in space one about x is left.
        const System pinned = checked(mesh, {{"body0"}, {"body1", x}});
        EXPECT_EQ(pinned.known_singular, !plane);
        EXPECT_EQ(hinges(mesh, pinned), plane ? std::vector<std::vector<double>>{} : middle);
        // The whole mesh moves, which no hinge explains.
        const System loose = checked(mesh, {});
        EXPECT_TRUE(loose.known_singular);
        EXPECT_TRUE(loose.hinge_nodes.empty());
    }
}

TEST(rigid_motions, blocks_that_share_an_edge) {
    for (const CellShape shape : test::all_element_shapes) {
        if (dimensions(shape) == 2) continue;
        SCOPED_TRACE(to_string(shape));
        const Mesh mesh = blocks(shape, {{0, 0, 0}, {1, 1, 0}});
        const System system = checked(mesh, {{"body0"}});
        EXPECT_TRUE(system.known_singular);
        EXPECT_EQ(hinges(mesh, system),
                  (std::vector<std::vector<double>>{{1, 1, 0}, {1, 1, 0.5}, {1, 1, 1}}));
        EXPECT_FALSE(checked(mesh, {{"body0"}, {"body1", x}}).known_singular);
    }
}

/// Four blocks in a ring are a linkage of four bars, whose hinges all move; with the opposite one
/// supported, the others are held at two hinges each.
TEST(rigid_motions, rings_of_blocks) {
    for (const CellShape shape : test::all_element_shapes) {
        SCOPED_TRACE(to_string(shape));
        const Mesh mesh = blocks(shape, {{1, 0, 0}, {2, 1, 0}, {1, 2, 0}, {0, 1, 0}});
        const System system = checked(mesh, {{"body0"}});
        EXPECT_TRUE(system.known_singular);
        EXPECT_EQ(system.hinge_nodes.size(), dimensions(shape) == 2 ? 4u : 12u);
        EXPECT_FALSE(checked(mesh, {{"body0"}, {"body2"}}).known_singular);
    }
}

TEST(rigid_motions, blocks_that_share_faces_are_one_body) {
    for (const CellShape shape : test::all_element_shapes) {
        SCOPED_TRACE(to_string(shape));
        // The last block touches the first one at an edge, too.
        const Mesh mesh = blocks(shape, {{0, 0, 0}, {1, 0, 0}, {1, 1, 0}});
        EXPECT_FALSE(checked(mesh, {{"body0"}}).known_singular);
    }
}

}  // namespace
}  // namespace tessera
