#include "problems/elasticity/elasticity_test.hpp"
#include "support/messages.hpp"

namespace tessera {
namespace {

using elasticity::Equation;
using elasticity::Model;
using elasticity::PlaneKind;
using elasticity::Vector;

/// How many motions of some nodes fulfil equations: their displacements less independent equations.
std::size_t free_motions(const Mesh& mesh, const std::vector<Equation>& equations,
                         std::size_t nodes) {
    std::vector<std::vector<double>> rows;
    for (const Equation& equation : equations) {
        std::vector<double> row(mesh.points.size(), 0);
        for (const auto& [node, axis, coefficient] : equation.terms) {
            row[std::size_t(node) * std::size_t(mesh.dimensions) + std::size_t(axis)] +=
                coefficient;
        }
        for (int pass = 0; pass < 2; ++pass) {
            for (const auto& other : rows) {
                const double share = std::inner_product(row.begin(), row.end(), other.begin(), 0.);
                for (std::size_t k = 0; k < row.size(); ++k) row[k] -= share * other[k];
            }
        }
        const double size = std::sqrt(std::inner_product(row.begin(), row.end(), row.begin(), 0.));
        if (size < 1e-8) continue;
        for (double& value : row) value /= size;
        rows.push_back(std::move(row));
    }
    return nodes * std::size_t(mesh.dimensions) - rows.size();
}

/// The largest value of equations of a displacement field.
double largest_value(const Mesh& mesh, const std::vector<Equation>& equations,
                     const elasticity::Field& field) {
    double largest = 0;
    for (const Equation& equation : equations) {
        double sum = 0;
        for (const auto& [node, axis, coefficient] : equation.terms) {
            sum += coefficient * field(test::point(mesh, node))[std::size_t(axis)];
        }
        largest = std::max(largest, std::abs(sum));
    }
    return largest;
}

/// A mesh whose group "some" are these points.
Mesh scattered(int dimensions, const std::vector<Vector>& points) {
    Mesh mesh;
    mesh.dimensions = dimensions;
    std::vector<Index> nodes;
    for (const Vector& point : points) {
        nodes.push_back(Index(nodes.size()));
        mesh.points.insert(mesh.points.end(), point.begin(), point.begin() + dimensions);
    }
    mesh.groups = {{"some", 0, {{CellShape::point, nodes}}}};
    return mesh;
}

std::vector<Vector> random_points(std::size_t count, const std::array<Vector, 3>& span) {
    auto generator = test::generator();
    std::uniform_real_distribution<double> number(-1, 1);
    std::vector<Vector> points(count, {3, -2, 5});
    for (Vector& point : points) {
        for (const Vector& direction : span) {
            const double share = number(generator);
            for (std::size_t i = 0; i < 3; ++i) point[i] += share * direction[i];
        }
    }
    return points;
}

/// Rigid motions fulfil the equations of a rigid body, and no others do.
TEST(group_equations, rigid_bodies_have_rigid_motions_only) {
    struct Case {
        const char* what;
        int dimensions;
        std::array<Vector, 3> span;
        std::size_t motions;
        double thickness = 1;  // By which errors of coordinates are magnified.
    };
    const Vector a{1, 2, 0.5}, b{-0.3, 1, 0.2}, c{0.1, 0, 2};
    for (const Case& each : {Case{"plane", 2, {a, b, c}, 3}, Case{"line in the plane", 2, {a}, 3},
                             Case{"space", 3, {a, b, c}, 6}, Case{"plane in space", 3, {a, b}, 6},
                             Case{"line in space", 3, {a}, 5}, Case{"one place", 3, {}, 3},
                             Case{"nearly a plane", 3, {a, b, {0, 0, 1e-6}}, 6, 1e-6},
                             Case{"nearly a line", 3, {a, {0, 1e-6, 0}, {0, 0, 1e-6}}, 6, 1e-6}}) {
        SCOPED_TRACE(each.what);
        for (const std::size_t count : {std::size_t(2), std::size_t(3), std::size_t(12)}) {
            const Mesh mesh = scattered(each.dimensions, random_points(count, each.span));
            const auto equations = elasticity::rigid_body(mesh, "some");
            // A line of nodes has no rotation about itself.
            const std::size_t expected = each.dimensions == 3 && count == 2
                                             ? std::min<std::size_t>(each.motions, 5)
                                             : each.motions;
            EXPECT_EQ(free_motions(mesh, equations, count), expected) << count;
            for (std::size_t axis = 0; axis < std::size_t(each.dimensions); ++axis) {
                Vector unit{};
                unit[axis] = 1;
                EXPECT_LT(largest_value(mesh, equations, elasticity::constant(unit)), 1e-12);
                if (each.dimensions == 2) unit = {0, 0, 1};
                const auto turn = elasticity::rotation(1, {1, 1, 1}, unit);
                // Coordinates up to 10, and about 100 operations.
                EXPECT_LT(largest_value(mesh, equations, turn),
                          test::gamma<double>(100) * 10 / each.thickness);
            }
        }
    }
}

TEST(group_equations, planes_stay_plane) {
    const Vector a{1, 2, 0.5}, b{-0.3, 1, 0.2};
    for (const int dimensions : {2, 3}) {
        std::vector<Vector> points = random_points(10, {a, dimensions == 3 ? b : Vector{}, {}});
        const Mesh mesh = scattered(dimensions, points);
        const auto equations = elasticity::plane_stays_plane(mesh, "some");
        EXPECT_EQ(equations.size(), 10 - std::size_t(dimensions));
        EXPECT_EQ(free_motions(mesh, equations, 10),
                  10 * std::size_t(dimensions) - equations.size());
        // Any motion along the plane, and rigid ones.
        const auto along = [&](const Vector& x) {
            const double s = std::sin(3 * x[0]), t = dimensions == 3 ? std::cos(2 * x[1]) : 0;
            return Vector{s * a[0] + t * b[0], s * a[1] + t * b[1], s * a[2] + t * b[2]};
        };
        EXPECT_LT(largest_value(mesh, equations, along), 1e-12);
        const auto turn = elasticity::rotation(1, {1, 1, 1}, {dimensions == 3 ? 1. : 0., 0, 1});
        EXPECT_LT(largest_value(mesh, equations, turn), 1e-10);
        const auto bend = [&](const Vector& x) { return Vector{x[0] * x[0], 0, 0}; };
        EXPECT_GT(largest_value(mesh, equations, bend), 0.01);
        points[3][1] += 0.1;
        test::expect_contains(
            test::message_of(
                [&] { elasticity::plane_stays_plane(scattered(dimensions, points), "some"); }),
            dimensions == 3 ? "does not lie in a plane: node " : "does not lie on a line: node ");
    }
}

/// A bar that is pulled by a rigid end plate, off its middle: the plate turns as beam theory has
/// it.
TEST(group_equations, a_rigid_plate_turns_a_bar) {
    const double length = 8, young = 3, force = 0.01, arm = 0.3;
    Model model;
    meshes::GridOptions options;
    options.lengths = {length, 1, 1};
    model.mesh = test::grid_mesh(CellShape::hexahedron20, {8, 2, 2}, options);
    model.material = {young, 0};
    model.fixed_supports = {{"left"}};
    std::vector<double> forces(model.mesh.points.size(), 0);
    for (Index node = 0; node < model.mesh.node_count(); ++node) {
        // At (8, 0.5 + 0.5, 0.5) a part that makes the moment, the rest in the middle.
        const Vector x = test::point(model.mesh, node);
        if (x[0] < length || x[2] != 0.5) continue;
        if (x[1] == 1) forces[std::size_t(node) * 3] = force * arm / 0.5;
        if (x[1] == 0.5) forces[std::size_t(node) * 3] = force * (1 - arm / 0.5);
    }
    model.node_forces = forces;
    model.equations = elasticity::rigid_body(model.mesh, "right");
    const auto system = elasticity::assemble(test::host(), model);
    const auto u = test::solve(system, 1e-12);
    // Without a Poisson's ratio the stresses of the plate are those of a beam, to the last digit.
    const double stretch = force * length / young, turn = 12 * force * arm * length / young;
    const double deflection = turn * length / 2;
    for (Index node = 0; node < model.mesh.node_count(); ++node) {
        const Vector x = test::point(model.mesh, node);
        if (x[0] < length) continue;
        const double* const at = &u[std::size_t(node) * 3];
        EXPECT_NEAR(at[0], stretch + turn * (x[1] - 0.5), 1e-9);
        EXPECT_NEAR(at[1], -deflection, 1e-9);
        EXPECT_NEAR(at[2], 0, 1e-9);
    }
    const auto found = elasticity::find_reactions(test::host(), model, u);
    ASSERT_EQ(found.equations.size(), 1U);
    EXPECT_EQ(found.equations[0].first, "rigid right");
    for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_NEAR(found.equations[0].second.force[i], 0, 1e-9);
        EXPECT_NEAR(found.equations[0].second.moment[i], 0, 1e-9);
        EXPECT_NEAR(found.total.force[i] + found.loads.force[i], 0, 1e-9);
        EXPECT_NEAR(found.total.moment[i] + found.loads.moment[i], 0, 1e-8);
    }
}

/// A rigid side whose edge moves with a support. The edge is bent a little, which determines the
/// rotation of the side about it, to rounding errors over the bend; most equations are redundant.
TEST(group_equations, a_rigid_side_follows_a_nearly_straight_edge) {
    auto generator = test::generator();
    std::uniform_real_distribution<double> number(-1, 1), exponent(-7, -1);
    const auto motion = elasticity::rotation(0.1, {1, -2, 3}, {0.5, 0.3, -0.8});
    for (int trial = 0; trial < 100; ++trial) {
        const double bend = std::pow(10, exponent(generator));
        SCOPED_TRACE(concat("trial ", trial, ", bend ", bend));
        Model model;
        model.mesh = test::unit_mesh(CellShape::hexahedron20, 1, 0);
        std::array<Vector, 3> slopes;
        for (Vector& slope : slopes) {
            for (double& part : slope) part = 0.2 * number(generator);
        }
        const Vector phases{number(generator), number(generator), number(generator)};
        std::vector<double>& points = model.mesh.points;
        for (std::size_t k = 0; k < points.size(); k += 3) {
            const Vector x{points[k], points[k + 1], points[k + 2]};
            for (std::size_t i = 0; i < 3; ++i) {
                points[k + i] += std::inner_product(x.begin(), x.end(), slopes[i].begin(), 0.) +
                                 bend * std::sin(1.3 * x[2 - i] + phases[i]);
            }
        }
        model.material = {1, 0.3};
        model.fixed_supports = {{"top", {true, true, true}, motion}};
        model.tractions = {{"left", elasticity::constant({0.1, -0.2, 0.3})}};
        model.equations = elasticity::rigid_body(model.mesh, "right");
        const auto u = test::solve(elasticity::assemble(test::host(), model), 1e-12);
        const double bound = 1e-13 / bend;
        for (const Index node : model.mesh.group("right").cells[0].nodes) {
            const Vector expected = motion(test::point(model.mesh, node));
            for (std::size_t i = 0; i < 3; ++i) {
                EXPECT_NEAR(u[std::size_t(node) * 3 + i], expected[i], bound);
            }
        }
        const auto found = elasticity::find_reactions(test::host(), model, u);
        for (std::size_t i = 0; i < 3; ++i) {
            EXPECT_NEAR(found.total.force[i] + found.loads.force[i], 0, 10 * bound);
            EXPECT_NEAR(found.total.moment[i] + found.loads.moment[i], 0, 100 * bound);
        }
    }
}

/// An end that moves along the bar as a whole cannot turn: the moment of an eccentric force is that
/// of the coupling.
TEST(group_equations, coupled_ends_take_the_moment) {
    Model model;
    model.mesh = test::grid_mesh(CellShape::quadrilateral9, {4, 2, 1});
    model.material = {3, 0.3};
    model.fixed_supports = {{"left", {true, false, false}}};
    model.mesh.groups.push_back({"corner", 0, {{CellShape::point, {0}}}});
    model.fixed_supports.push_back({"corner"});
    model.equations = elasticity::equal_displacements(model.mesh, "right", {true, false, false});
    const std::vector<Index>& nodes = model.mesh.group("right").cells[0].nodes;
    model.mesh.groups.push_back({"loaded", 0, {{CellShape::point, {nodes[0]}}}});
    model.forces = {{"loaded", {0.1, 0, 0}}};
    const auto system = elasticity::assemble(test::host(), model);
    EXPECT_FALSE(system.known_singular);
    const auto u = test::solve(system, 1e-13);
    for (const Index node : nodes) EXPECT_NEAR(u[std::size_t(node) * 2], 0.1 / 3, 1e-10);
    const auto found = elasticity::find_reactions(test::host(), model, u);
    const double arm = test::point(model.mesh, nodes[0])[1] - 0.5;
    EXPECT_GT(std::abs(arm), 0.1);
    EXPECT_NEAR(found.equations[0].second.moment[2], 0.1 * arm, 1e-9);
    EXPECT_NEAR(found.equations[0].second.force[0], 0, 1e-9);
}

TEST(group_equations, rigid_rings_move_along_their_axis_only) {
    Model model;
    model.mesh = test::unit_mesh(CellShape::quadrilateral, 3, 0);
    model.plane = PlaneKind::axisymmetric;
    model.fixed_supports = {{"bottom", {false, true, false}}};
    model.forces = {{"top", {0, 1, 0}}};
    model.equations = elasticity::rigid_body(model.mesh, "top", model.plane);
    const auto system = elasticity::assemble(test::host(), model);
    const auto u = test::solve(system, 1e-12);
    for (const Index node : model.mesh.group("top").cells[0].nodes) {
        EXPECT_NEAR(u[std::size_t(node) * 2], 0, 1e-14);
        EXPECT_NEAR(u[std::size_t(node) * 2 + 1],
                    u[std::size_t(model.mesh.group("top").cells[0].nodes[0]) * 2 + 1], 1e-14);
    }
    const auto found = elasticity::find_reactions(test::host(), model, u);
    EXPECT_NEAR(found.total.force[1], -1, 1e-9);
}

TEST(group_equations, positions_that_are_no_numbers_are_errors) {
    Model model;
    model.mesh = test::unit_mesh(CellShape::quadrilateral, 2, 0);
    Mesh nowhere = model.mesh;
    for (double& x : nowhere.points) x = std::nan("");
    model.equations = elasticity::rigid_body(nowhere, "right");
    test::expect_contains(test::message_of([&] { elasticity::assemble(test::host(), model); }),
                          "the equation 'rigid right' has a coefficient that is not a number");
    test::expect_contains(test::message_of([&] { elasticity::tie(nowhere, "left", "right"); }),
                          "group 'right' has no faces of a finite extent");
}

TEST(group_equations, groups_of_one_node_are_errors) {
    const Mesh mesh = scattered(2, {{1, 2, 0}});
    for (const auto& make :
         {+[](const Mesh& m) { return elasticity::rigid_body(m, "some"); },
          +[](const Mesh& m) { return elasticity::plane_stays_plane(m, "some"); },
          +[](const Mesh& m) {
              return elasticity::equal_displacements(m, "some", {true, true, true});
          }}) {
        test::expect_contains(test::message_of([&] { make(mesh); }), "group 'some' has one node");
    }
}

}  // namespace
}  // namespace tessera
