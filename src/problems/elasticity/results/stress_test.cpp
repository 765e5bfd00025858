#include <cmath>
#include <limits>

#include "problems/elasticity/elasticity_test.hpp"

namespace tessera {
namespace {

using elasticity::Model;
using elasticity::Vector;

TEST(stress, von_mises_of_plain_states) {
    const auto expect = [](const std::vector<double>& stress, double expected) {
        EXPECT_DOUBLE_EQ(elasticity::von_mises(stress).at(0), expected);
    };
    expect({-3, 0, 0, 0, 0, 0}, 3);                 // one axis
    expect({0, 0, 0, 2, 0, 0}, 2 * std::sqrt(3.));  // shear
    expect({2, 2, 0, 0, 0, 0}, 2);                  // two axes
    expect({0, 5, 0, 0, 0, 0}, 5);
    expect({4, 4, 4, 0, 0, 0}, 0);                  // pressure
    expect({0, 0, 0, 1, 2, 2}, 3 * std::sqrt(3.));  // shears
    expect({1, 2, 3, 1, 1, 1}, std::sqrt(3. + 9.));
    EXPECT_EQ(elasticity::von_mises(std::vector<double>(12)).size(), 2u);
    EXPECT_THROW(elasticity::von_mises(std::vector<double>(4)), InvalidArgument);
}

/// Scaling by powers of two scales the result, far beyond where squares are out of range.
TEST(stress, von_mises_of_any_magnitude) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    std::vector<double> stress{3, -1.7, 0.3, 1, 2, -5};
    const double expected = elasticity::von_mises(stress)[0];
    for (const int exponent : {-1000, -665, 665, 1019}) {
        std::vector<double> scaled = stress;
        for (double& component : scaled) component = std::scalbn(component, exponent);
        EXPECT_EQ(elasticity::von_mises(scaled)[0], std::scalbn(expected, exponent)) << exponent;
    }
    stress[1] = nan;
    EXPECT_TRUE(std::isnan(elasticity::von_mises(stress)[0]));
    stress.assign(stress.size(), 0);
    EXPECT_EQ(elasticity::von_mises(stress)[0], 0);
}

TEST(stress, node_means_of_any_magnitude) {
    Mesh mesh = test::unit_mesh(CellShape::quadrilateral, 2, 0);
    for (double& x : mesh.points) x = std::scalbn(x, 250);
    const double stress = std::scalbn(1.5, 700);  // times an area is out of range
    for (const double mean :
         elasticity::node_means(test::host(), mesh, std::vector<double>(4, stress), 1)) {
        EXPECT_EQ(mean, stress);
    }
}

TEST(stress, node_means_are_weighted_by_size) {
    Mesh mesh;  // a square of area 1 and a triangle of area 3 at its right edge
    mesh.points = {0, 0, 1, 0, 1, 1, 0, 1, 7, 0, 9, 9};
    mesh.elements = {{CellShape::quadrilateral, {0, 1, 2, 3}}, {CellShape::triangle, {1, 4, 2}}};
    const std::vector<double> means =
        elasticity::node_means(test::host(), mesh, std::vector<double>{4, -4, 8, 0}, 2);
    const std::vector<double> expected{4, -4, 7, -1, 7, -1, 4, -4, 8, 0, 0, 0};
    ASSERT_EQ(means.size(), expected.size());
    for (std::size_t k = 0; k < means.size(); ++k) EXPECT_DOUBLE_EQ(means[k], expected[k]) << k;
    EXPECT_THROW(elasticity::node_means(test::host(), mesh, std::vector<double>(3), 2),
                 InvalidArgument);
}

/// Two bars in a row with nu = 0 under tension: equal stress in both, strains by their E.
/// A material of a group of elements is that of its elements, whatever their region.
TEST(stress, groups_of_elements_have_their_materials) {
    Model by_region;
    by_region.mesh = test::unit_mesh(CellShape::quadrilateral, 2, 0.5);
    by_region.fixed_supports.push_back({"left"});
    Model by_group = by_region;
    by_region.mesh.region_names = {"soft", "stiff"};
    by_region.mesh.regions = {0, 1, 1, 0};
    by_region.materials = {{"stiff", {5, 0}}, {"soft", {1, 0.2}}};
    const std::vector<Index>& nodes = by_group.mesh.elements[0].nodes;
    by_group.mesh.region_names = {"all"};
    by_group.mesh.regions = {0, 0, 0, 0};
    MeshGroup stiff{"stiff", 2, {{CellShape::quadrilateral, {}}}};
    stiff.cells[0].nodes.assign(nodes.begin() + 4, nodes.begin() + 12);
    MeshGroup soft{"soft", 2, {{CellShape::quadrilateral, {}}}};
    soft.cells[0].nodes.assign(nodes.begin() + 12, nodes.end());
    by_group.mesh.groups.insert(by_group.mesh.groups.end(), {stiff, soft});
    by_group.material = {1, 0.2};
    by_group.materials = {{"stiff", {5, 0}}};
    EXPECT_EQ(elasticity::elements_of(by_group.mesh, "stiff"), (std::vector<Index>{1, 2}));
    EXPECT_EQ(elasticity::elements_of(by_region.mesh, "soft"), (std::vector<Index>{0, 3}));
    const auto expected = elasticity::assemble(test::host(), by_region);
    const auto found = elasticity::assemble(test::host(), by_group);
    EXPECT_TRUE(std::ranges::equal(found.matrix.view().values_span(),
                                   expected.matrix.view().values_span()));
}

TEST(stress, regions_have_their_materials) {
    for (const CellShape shape : test::element_shapes) {
        SCOPED_TRACE(to_string(shape));
        Model model;
        model.mesh = test::unit_mesh(shape, 4, 0);
        const int d = model.mesh.dimensions;
        model.mesh.region_names = {"soft", "stiff"};
        const std::vector<Index>& nodes = model.mesh.elements[0].nodes;
        const std::size_t n = std::size_t(node_count(shape));
        for (std::size_t at = 0; at < nodes.size(); at += n) {
            double x = 0;
            for (std::size_t c = 0; c < n; ++c) x += test::point(model.mesh, nodes[at + c])[0] / n;
            model.mesh.regions.push_back(x > 0.5);
        }
        model.material = {2, 0};
        model.materials["stiff"] = {5, 0};
        model.fixed_supports.push_back({"left"});
        model.tractions.push_back({"right", elasticity::constant({3, 0, 0})});
        const elasticity::System system = elasticity::assemble(test::host(), model);
        const double residual = test::residual_bound(system.matrix.view(), 4, 0, d, 1.05) +
                                test::gamma<double>(256) * 3;
        const auto [solution, bound] = test::solve_by_inverse(system, residual);
        const std::vector<double> u = system.displacements(solution);
        for (Index node = 0; node < model.mesh.node_count(); ++node) {
            const double x = test::point(model.mesh, node)[0];
            const double expected = 3 * (std::min(x, 0.5) / 2 + std::max(x - 0.5, 0.) / 5);
            EXPECT_NEAR(u[node * d], expected, bound);
        }
        const std::vector<double> stresses = elasticity::element_stresses(test::host(), model, u);
        const std::size_t components = std::size_t(elasticity::tensor_components);
        for (std::size_t k = 0; k < stresses.size(); ++k) {
            const double stress = k % components == 0 ? 3 : 0;
            // Gradients are sums of 8 terms up to 4.
            EXPECT_NEAR(stresses[k], stress, 5 * 32 * bound);
        }
    }
}

/// G. Kirsch, 1898: an infinite plate under the tension 1 along x with a hole of radius 1, at
/// (r cos t, r sin t); xx, yy, xy.
std::array<double, 3> kirsch(const Vector& x) {
    const double r2 = x[0] * x[0] + x[1] * x[1];
    const double t = std::atan2(x[1], x[0]);
    const double a = 1 / r2, b = 1.5 / (r2 * r2);
    return {1 - a * (1.5 * std::cos(2 * t) + std::cos(4 * t)) + b * std::cos(4 * t),
            -a * (0.5 * std::cos(2 * t) - std::cos(4 * t)) - b * std::cos(4 * t),
            -a * (0.5 * std::sin(2 * t) + std::sin(4 * t)) + b * std::sin(4 * t)};
}

struct Plate {
    double concentration;  ///< Stress xx at the top of the hole, as recovered at the node.
    double error;          ///< Root of the mean square error over the area, all components.
};

Plate solve_plate(CellShape shape, Index size) {
    Model model;
    model.mesh = meshes::plate_with_hole(shape, size);
    model.fixed_supports = {{"left", {true, false, false}}, {"bottom", {false, true, false}}};
    model.tractions = {{"right",
                        [](const Vector& x) {
                            return Vector{kirsch(x)[0], kirsch(x)[2]};
                        }},
                       {"top", [](const Vector& x) {
                            return Vector{kirsch(x)[2], kirsch(x)[1]};
                        }}};
    const elasticity::System system = elasticity::assemble(test::host(), model);
    EXPECT_FALSE(system.known_singular);
    const std::vector<double> u = test::solve(system, 1e-9);
    const std::vector<double> means = elasticity::node_means(
        test::host(), model.mesh, elasticity::element_stresses(test::host(), model, u), 6);
    const std::vector<double> areas =
        elasticity::node_means(test::host(), model.mesh, test::element_volumes(model.mesh), 1);
    Plate plate{0, 0};
    double area = 0;
    for (Index node = 0; node < model.mesh.node_count(); ++node) {
        const Vector at = test::point(model.mesh, node);
        const auto exact = kirsch(at);
        if (at[0] == 0 && std::abs(at[1] - 1) < 1e-12) plate.concentration = means[6 * node];
        for (int k = 0; k < 3; ++k) {
            const double difference = means[6 * node + (k < 2 ? k : 3)] - exact[k];
            plate.error += areas[node] * difference * difference;
        }
        area += areas[node];
    }
    plate.error = std::sqrt(plate.error / area);
    return plate;
}

/// At the top of the hole the stress along x is 3, and decreases by 7 per unit of length. Its mean
/// over the elements at that node is the stress about half a cell away, cells being pi / (4 size)
/// long.
TEST(stress, concentration_at_a_hole_is_three) {
    for (const CellShape shape : {CellShape::triangle, CellShape::quadrilateral}) {
        SCOPED_TRACE(to_string(shape));
        Plate last{};
        for (const Index size : {8, 16, 32}) {
            const Plate plate = solve_plate(shape, size);
            const double cell = std::numbers::pi / (4 * size);
            EXPECT_NEAR(plate.concentration, 3, 7 * cell) << size;
            if (size > 8) {
                EXPECT_LT(std::abs(plate.concentration - 3),
                          0.65 * std::abs(last.concentration - 3));
                EXPECT_LT(plate.error, 0.55 * last.error);
            }
            last = plate;
        }
    }
}

/// The work of a force on a group is the strain energy, whatever the thickness, and the nodal parts
/// of the force add up to it.
TEST(stress, forces_on_groups_and_thickness) {
    for (const CellShape shape : {CellShape::triangle, CellShape::quadrilateral,
                                  CellShape::tetrahedron, CellShape::hexahedron}) {
        SCOPED_TRACE(to_string(shape));
        const bool plane = dimensions(shape) == 2;
        elasticity::Model model;
        model.mesh = plane ? meshes::rectangle(shape, 4, 3) : meshes::box(shape, 3, 2, 2);
        model.mesh.groups.push_back({"points", 0, {{CellShape::point, {1, 5, 7}}}});
        model.fixed_supports = {{"left"}};
        model.thickness = 0.25;
        for (const char* group : {"right", "points"}) {
            model.forces = {{group, {3, -2, 1}}};
            const elasticity::System system = elasticity::assemble(test::host(), model);
            const std::vector<double> u = test::solve(system, 1e-13);
            double work = 0, load = 0;
            for (std::size_t k = 0; k < u.size(); ++k) {
                const Index row = system.unknowns[k];
                if (row < 0) continue;
                work += u[k] * system.load[std::size_t(row)] / 2;
                if (k % std::size_t(model.mesh.dimensions) == 1) load += system.load[row];
            }
            // Sums of fewer than 200 products, and a solve to 1e-13 of a condition below 1e4.
            EXPECT_NEAR(elasticity::strain_energy(test::host(), model, u), work, 1e-8 * work);
            if (std::string(group) == "right") {
                EXPECT_NEAR(load, -2, 200 * std::numeric_limits<double>::epsilon());
            }
        }
        model.forces = {{"right", {1, 0, 0}}};
        model.thickness = 0;
        if (plane) {
            EXPECT_THROW(elasticity::assemble(test::host(), model), InvalidArgument);
        }
        model.thickness = 1;
        model.forces = {{"nothing", {1, 0, 0}}};
        EXPECT_THROW(elasticity::assemble(test::host(), model), InvalidArgument);
    }
}

}  // namespace
}  // namespace tessera
