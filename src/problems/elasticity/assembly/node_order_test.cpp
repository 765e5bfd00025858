#include "problems/elasticity/assembly/node_order.hpp"

#include <map>
#include <numeric>

#include "problems/elasticity/elasticity_test.hpp"

namespace tessera {
namespace {

using elasticity::Model;
using elasticity::NodeOrder;
using elasticity::System;

/// The mesh with other numbers of its nodes.
Mesh renumbered(const Mesh& mesh, std::span<const Index> numbers) {
    Mesh other = mesh;
    const auto d = std::size_t(mesh.dimensions);
    for (std::size_t node = 0; node < numbers.size(); ++node) {
        std::copy_n(&mesh.points[node * d], d, &other.points[std::size_t(numbers[node]) * d]);
    }
    const auto renumber = [&](std::vector<Cells>& lists) {
        for (Cells& cells : lists) {
            for (Index& node : cells.nodes) node = numbers[std::size_t(node)];
        }
    };
    renumber(other.elements);
    for (MeshGroup& group : other.groups) renumber(group.cells);
    return other;
}

/// Fixed on the left, held along y on top, heavy.
Model model_on(Mesh mesh) {
    Model model;
    model.mesh = std::move(mesh);
    model.fixed_supports = {{"left", {1, 1, 1}, elasticity::constant({})},
                            {"top", {0, 1, 0}, elasticity::constant({})}};
    model.body_force = [](const elasticity::Vector& x) {
        return elasticity::Vector{x[1], 1, x[0] * x[2]};
    };
    return model;
}

/// The mean distance of the columns of entries from their rows.
double mean_distance(const CsrView<double>& a) {
    double sum = 0;
    for (Index i = 0; i < a.rows; ++i) {
        for (Offset k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) {
            sum += std::abs(double(a.column_indices[k]) - i);
        }
    }
    return sum / double(a.nonzeros);
}

/// Random numbers of the nodes of a large mesh: the rows are near those that they are coupled to,
/// and the system is the same but for their order, to the last bit.
TEST(node_order, scattered_nodes_are_put_near_each_other) {
    const Mesh layered = test::unit_mesh(CellShape::hexahedron, 22, 0.3);
    std::vector<Index> numbers(std::size_t(layered.node_count()));
    std::iota(numbers.begin(), numbers.end(), Index(0));
    auto random = test::generator();
    std::ranges::shuffle(numbers, random);
    const Model model = model_on(layered), other_model = model_on(renumbered(layered, numbers));
    const Context cpu = test::host();
    const System system = elasticity::assemble(cpu, model),
                 other = elasticity::assemble(cpu, other_model);
    const auto a = system.matrix.view(), b = other.matrix.view();
    ASSERT_EQ(a.rows, b.rows);
    ASSERT_EQ(a.nonzeros, b.nonzeros);
    // Random rows are a third of all rows apart.
    EXPECT_LT(mean_distance(b), b.rows / 20.);
    std::vector<Index> rows(std::size_t(a.rows), -1);  // Rows of the other system.
    for (std::size_t k = 0; k < system.unknowns.size(); ++k) {
        const Index row = other.unknowns[std::size_t(numbers[k / 3]) * 3 + k % 3];
        ASSERT_EQ(row < 0, system.unknowns[k] < 0);
        if (row >= 0) rows[std::size_t(system.unknowns[k])] = row;
    }
    for (Index i = 0; i < a.rows; ++i) {
        const Index row = rows[std::size_t(i)];
        ASSERT_EQ(system.load[std::size_t(i)], other.load[std::size_t(row)]);
        std::map<Index, double> entries;
        for (Offset k = b.row_offsets[row]; k < b.row_offsets[row + 1]; ++k) {
            ASSERT_TRUE(k == b.row_offsets[row] || b.column_indices[k - 1] < b.column_indices[k]);
            entries[b.column_indices[k]] = b.values[k];
        }
        for (Offset k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) {
            const auto found = entries.find(rows[std::size_t(a.column_indices[k])]);
            ASSERT_TRUE(found != entries.end());
            ASSERT_EQ(found->second, a.values[k]);
        }
    }
    // Without its matrix, and with coordinates, near-null vectors and solutions by rows.
    EXPECT_EQ(elasticity::assemble_load(cpu, other_model).unknowns, other.unknowns);
    const NodeCoordinates coordinates = other.coordinates(other_model.mesh);
    const std::vector<double> modes =
        other.to_rows(other_model.mesh, coordinates.values, 1);  // The node's own coordinates.
    std::vector<double> solution(std::size_t(b.rows));
    std::iota(solution.begin(), solution.end(), 1.0);
    const std::vector<double> displacements = other.displacements(solution);
    for (std::size_t k = 0; k < other.unknowns.size(); ++k) {
        if (other.unknowns[k] < 0) continue;
        const auto row = std::size_t(other.unknowns[k]);
        ASSERT_EQ(modes[row], other_model.mesh.points[k]);
        ASSERT_EQ(displacements[k], solution[row]);
        const auto place = std::size_t(coordinates.unknowns[row]);
        ASSERT_EQ(coordinates.values[place], other_model.mesh.points[k]);
    }
}

/// Small meshes, and large ones whose nodes are numbered layer by layer, keep their order.
TEST(node_order, other_meshes_keep_their_order) {
    for (const Index cells : {3, 22}) {
        const Model model = model_on(test::unit_mesh(CellShape::hexahedron, cells, 0));
        const System system = elasticity::assemble_load(test::host(), model);
        Index rows = 0;
        for (const Index row : system.unknowns) {
            if (row >= 0) {
                EXPECT_EQ(row, rows++);
            }
        }
        const NodeOrder order(system, 3);
        EXPECT_TRUE(std::is_sorted(order.nodes.begin(), order.nodes.begin() + order.with_rows));
        for (std::size_t place = 0; place < order.nodes.size(); ++place) {
            EXPECT_EQ(order.places[std::size_t(order.nodes[place])], Index(place));
        }
    }
}

}  // namespace
}  // namespace tessera
