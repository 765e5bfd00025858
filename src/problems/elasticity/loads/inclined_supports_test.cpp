#include "problems/elasticity/elasticity_test.hpp"
#include "support/messages.hpp"
#include "tessera/amg.hpp"

namespace tessera {
namespace {

using elasticity::Model;
using elasticity::PlaneKind;
using elasticity::Vector;

using Matrix = std::array<Vector, 3>;

/// The rotation about the unit vector (1, 2, 2) / 3, in the plane about z.
Matrix rotation(int dimensions) {
    const double c = std::cos(0.7), s = std::sin(0.7);
    if (dimensions == 2) return {{{c, -s, 0}, {s, c, 0}, {0, 0, 1}}};
    const Vector n{1. / 3, 2. / 3, 2. / 3};
    Matrix r{};
    for (std::size_t i = 0; i < 3; ++i) {
        for (std::size_t j = 0; j < 3; ++j) {
            const std::size_t k = 3 - i - j;
            const double sign = (j + 1) % 3 == i ? 1 : -1;
            r[i][j] = (1 - c) * n[i] * n[j] + (i == j ? c : sign * s * n[k]);
        }
    }
    return r;
}

Vector times(const Matrix& r, const Vector& v) {
    Vector product{};
    for (std::size_t i = 0; i < 3; ++i) {
        for (std::size_t j = 0; j < 3; ++j) product[i] += r[i][j] * v[j];
    }
    return product;
}

/// A square or cube on planes of symmetry, under a traction and its weight.
Model aligned_model(CellShape shape) {
    Model model;
    model.mesh = test::unit_mesh(shape, is_first_order(shape) ? 3 : 2, 0.6);
    model.material = {2, 0.3};
    for (const char* const side : {"left", "bottom", "back"}) {
        if (model.mesh.dimensions == 2 && std::string(side) == "back") continue;
        model.fixed_supports.push_back({side, {}, {}, true});
    }
    model.tractions = {{"right", elasticity::constant({0.5, 0.1, 0})}};
    model.body_force = elasticity::constant({0, -0.3, 0});
    model.springs = {{"top", {1, 1, 1}}};
    return model;
}

/// A model after a rotation.
Model turned(Model model, const Matrix& r) {
    const auto d = std::size_t(model.mesh.dimensions);
    for (Index node = 0; node < model.mesh.node_count(); ++node) {
        const Vector at = times(r, test::point(model.mesh, node));
        std::copy_n(at.begin(), d, &model.mesh.points[std::size_t(node) * d]);
    }
    model.tractions = {{"right", elasticity::constant(times(r, {0.5, 0.1, 0}))}};
    model.body_force = elasticity::constant(times(r, {0, -0.3, 0}));
    return model;
}

TEST(inclined_supports, a_turned_body_has_the_turned_solution) {
    const Context cpu = test::host();
    for (const CellShape shape : test::all_element_shapes) {
        SCOPED_TRACE(to_string(shape));
        const Model model = aligned_model(shape);
        const auto d = std::size_t(model.mesh.dimensions);
        const Matrix r = rotation(int(d));
        const Model other = turned(model, r);
        const auto aligned = elasticity::assemble(cpu, model);
        const auto inclined = elasticity::assemble(cpu, other);
        EXPECT_TRUE(aligned.node_axes.empty());
        EXPECT_FALSE(inclined.node_axes.empty());
        EXPECT_FALSE(inclined.known_singular);
        ASSERT_EQ(inclined.load.size(), aligned.load.size());
        EXPECT_EQ(elasticity::assemble_load(cpu, other).load, inclined.load);
        const auto view = inclined.matrix.view();
        for (Index i = 0; i < view.rows; ++i) {
            std::vector<double> x(std::size_t(view.rows), 0);
            x[std::size_t(i)] = 1;  // Columns are bitwise rows.
            for (Offset k = view.row_offsets[i]; k < view.row_offsets[i + 1]; ++k) {
                const Index j = view.column_indices[k];
                ASSERT_EQ(test::row_product(view, x, j).first, view.values[k]);
            }
        }
        const double rounding = test::gamma<double>(1e4) * test::largest_value(view);
        const auto first = test::solve_by_inverse(aligned, rounding);
        const auto second = test::solve_by_inverse(inclined, rounding);
        const double error = first.error + second.error;
        ASSERT_LT(error, 1e-7);
        const auto u = aligned.displacements(first.unknowns);
        const auto v = inclined.displacements(second.unknowns);
        for (Index node = 0; node < model.mesh.node_count(); ++node) {
            Vector expected{};
            std::copy_n(&u[std::size_t(node) * d], d, expected.begin());
            expected = times(r, expected);
            for (std::size_t i = 0; i < d; ++i) {
                ASSERT_NEAR(v[std::size_t(node) * d + i], expected[i], 3 * error) << node;
            }
        }
        EXPECT_NEAR(elasticity::strain_energy(cpu, other, v),
                    elasticity::strain_energy(cpu, model, u), 1e4 * error);
        const auto forces = elasticity::find_reactions(cpu, model, u);
        const auto others = elasticity::find_reactions(cpu, other, v);
        ASSERT_EQ(others.groups.size(), forces.groups.size());
        for (std::size_t k = 0; k < forces.groups.size(); ++k) {
            EXPECT_EQ(others.groups[k].first, forces.groups[k].first);
            const Vector force = times(r, forces.groups[k].second.force);
            const Vector moment = times(r, forces.groups[k].second.moment);
            for (std::size_t i = 0; i < 3; ++i) {
                EXPECT_NEAR(others.groups[k].second.force[i], force[i], 1e4 * error);
                EXPECT_NEAR(others.groups[k].second.moment[i], moment[i], 1e4 * error);
            }
        }
        // The load on a support that holds a part of it.
        ASSERT_EQ(inclined.load_shares.size(), aligned.load_shares.size());
        const Vector held = times(r, aligned.load_shares[0].held);
        for (std::size_t i = 0; i < d; ++i) {
            EXPECT_NEAR(inclined.load_shares[0].held[i], held[i], 1e-12);
        }
    }
}

/// Multigrid with the turned rigid motions takes as many iterations as where axes are x, y and z.
TEST(inclined_supports, multigrid_knows_the_axes) {
    const Context cpu = test::host();
    Model model = aligned_model(CellShape::hexahedron);
    model.springs.clear();
    model.mesh = test::unit_mesh(CellShape::hexahedron, 12, 0);
    const auto iterations = [&](const Model& of, bool with_axes) {
        const auto system = elasticity::assemble(cpu, of);
        Solver<double> solver(cpu, "cg", "amg");
        solver.use_coordinates(system.coordinates(of.mesh));
        NearNullSpace modes = rigid_body_modes(system.coordinates(of.mesh));
        modes.values = system.to_rows(of.mesh, modes.values, modes.columns);
        if (with_axes) solver.use_near_null_space(modes);
        solver.setup(system.matrix.view());
        std::vector<double> x(system.load.size(), 0);
        const auto report = solver.solve(system.load, x);
        EXPECT_EQ(report.status, Status::converged);
        return report.iterations;
    };
    const Offset aligned = iterations(model, true);
    const Model other = turned(model, rotation(3));
    EXPECT_LE(iterations(other, true), aligned + 2);
    EXPECT_GT(iterations(other, false), iterations(other, true));
}

/// A heated quarter of a ring in a rigid hole, held along its radius all around:
/// u = A r + B / r with u(b) = 0 and no radial stress at a, in plane strain.
TEST(inclined_supports, a_ring_in_a_rigid_hole) {
    const double inner = 1, outer = 2, poisson = 0.3, strain = 0.01;
    Model model;
    model.mesh = test::grid_mesh(CellShape::quadrilateral9, {6, 12, 1});
    for (std::size_t at = 0; at < model.mesh.points.size(); at += 2) {
        const double radius = inner + (outer - inner) * model.mesh.points[at];
        const double angle = std::numbers::pi / 2 * model.mesh.points[at + 1];
        model.mesh.points[at] = radius * std::cos(angle);
        model.mesh.points[at + 1] =
            angle == std::numbers::pi / 2 ? radius : radius * std::sin(angle);
        if (angle == std::numbers::pi / 2) model.mesh.points[at] = 0;
    }
    model.plane = PlaneKind::strain;
    model.material = {1, poisson, 0, {}, {strain, strain, strain}};
    model.temperature = 1;
    for (const char* const side : {"right", "bottom", "top"}) {
        model.fixed_supports.push_back({side, {}, {}, true});
    }
    const auto system = elasticity::assemble(test::host(), model);
    EXPECT_FALSE(system.known_singular);
    const auto u = system.displacements(test::solve_by_inverse(system, 1e-15).unknowns);
    // Free growth (1 + nu) strain r less A r + B / r of a pressure at b.
    const double growth = (1 + poisson) * strain;
    const double ratio = inner * inner / (1 - 2 * poisson);  // B / A without stress at a.
    const double a = -growth * outer / (outer + ratio / outer);
    for (Index node = 0; node < model.mesh.node_count(); ++node) {
        const Vector at = test::point(model.mesh, node);
        const double radius = std::hypot(at[0], at[1]);
        const double expected = growth * radius + a * (radius + ratio / radius);
        for (std::size_t i = 0; i < 2; ++i) {
            EXPECT_NEAR(u[std::size_t(node) * 2 + i], expected * at[i] / radius, 1e-4 * growth);
        }
    }
    const auto reactions = elasticity::find_reactions(test::host(), model, u);
    for (std::size_t i = 0; i < 2; ++i) EXPECT_NEAR(reactions.total.force[i], 0, 1e-12);
}

/// An open ring that its outer side holds along the normals: it can turn, unless that is no circle.
TEST(inclined_supports, motions_along_curved_surfaces_are_found) {
    for (const CellShape shape : {CellShape::quadrilateral, CellShape::triangle6}) {
        SCOPED_TRACE(to_string(shape));
        const auto warnings = [&](double width, bool fixed) {
            Model model;
            model.mesh = test::grid_mesh(shape, {2, 40, 1});
            for (std::size_t at = 0; at < model.mesh.points.size(); at += 2) {
                const double radius = 1 + model.mesh.points[at];
                // Elements of various lengths: the normals of nodes are not along the radius.
                const double place = model.mesh.points[at + 1];
                const double angle = 5.5 * (place + 0.02 * std::sin(20 * place));
                model.mesh.points[at] = width * radius * std::cos(angle);
                model.mesh.points[at + 1] = radius * std::sin(angle);
            }
            model.fixed_supports = {{"right", {}, {}, true}};
            if (fixed) model.fixed_supports.push_back({"bottom"});
            model.forces = {{"top", {0, 1, 0}}};
            const auto system = elasticity::assemble(test::host(), model);
            std::string all;
            for (const auto& text : elasticity::find_warnings(test::host(), model, system)) {
                all += text + "\n";
            }
            return all;
        };
        const std::string warning = "the curved supports 'right' hold the body only as far as";
        test::expect_contains(warnings(1, false), warning);
        for (const auto& [width, fixed] : {std::pair{1., true}, {1.5, false}}) {
            EXPECT_EQ(warnings(width, fixed).find(warning), std::string::npos) << width;
        }
    }
}

TEST(inclined_supports, motions_along_planes_are_found) {
    Model model = turned(aligned_model(CellShape::quadrilateral), rotation(2));
    model.springs.clear();
    const auto is_singular = [&] {
        return elasticity::assemble(test::host(), model).known_singular;
    };
    EXPECT_FALSE(is_singular());
    model.fixed_supports.pop_back();
    EXPECT_TRUE(is_singular());
    // A fixed point of the plane, which the plane does not hold along itself.
    model.mesh.groups.push_back({"corner", 0, {{CellShape::point, {0}}}});
    model.fixed_supports.push_back({"corner"});
    EXPECT_FALSE(is_singular());
    model.fixed_supports = {{"corner", {}, {}, true}};
    test::expect_contains(test::message_of([&] { is_singular(); }),
                          "the normal of group 'corner': it needs edges");
    model.mesh.groups.push_back({"inside", 1, {{CellShape::segment, {1, 5}}}});
    model.fixed_supports = {{"inside", {}, {}, true}};
    test::expect_contains(test::message_of([&] { is_singular(); }),
                          "the normal of 'inside' acts between element");
}

/// A heated cone whose surface cannot move outwards stays as it is, and presses on it evenly.
TEST(inclined_supports, a_cone_in_a_rigid_hole) {
    const double young = 2, poisson = 0.3, strain = 0.01;
    for (const CellShape shape : {CellShape::quadrilateral, CellShape::quadrilateral9}) {
        Model model;
        model.mesh = test::unit_mesh(shape, 3, 0.6);
        for (std::size_t at = 0; at < model.mesh.points.size(); at += 2) {
            model.mesh.points[at] *= 2 - model.mesh.points[at + 1];
        }
        model.plane = PlaneKind::axisymmetric;
        model.material = {young, poisson, 0, {}, {strain, strain, strain}};
        model.temperature = 1;
        for (const char* const side : {"right", "bottom", "top"}) {
            model.fixed_supports.push_back({side, {}, {}, true});
        }
        const auto system = elasticity::assemble(test::host(), model);
        const auto u = test::solve(system, 1e-12);
        for (const double moved : u) EXPECT_NEAR(moved, 0, 1e-10);
        const double pressure = young * strain / (1 - 2 * poisson);
        const auto stresses = elasticity::node_stresses(test::host(), model, u);
        for (std::size_t k = 0; k < stresses.size(); ++k) {
            EXPECT_NEAR(stresses[k], k % 6 < 3 ? -pressure : 0, 1e-7);
        }
        const auto reactions = elasticity::find_reactions(test::host(), model, u);
        EXPECT_NEAR(reactions.total.force[1], 0, 1e-7);
    }
}

}  // namespace
}  // namespace tessera
