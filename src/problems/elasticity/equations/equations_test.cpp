#include "problems/elasticity/elasticity_test.hpp"
#include "support/messages.hpp"
#include "tessera/amg.hpp"

namespace tessera {
namespace {

using elasticity::Equation;
using elasticity::Model;
using elasticity::Vector;

/// A block on its left side, under a traction, its weight and a bed of springs.
Model loaded_block(CellShape shape) {
    Model model;
    model.mesh = test::unit_mesh(shape, is_first_order(shape) ? 3 : 2, 0.4);
    model.material = {2, 0.3};
    model.fixed_supports = {{"left"}};
    model.tractions = {{"right", elasticity::constant({0.5, 0.1, 0.2})}};
    model.body_force = elasticity::constant({0, -0.3, 0.1});
    return model;
}

void add(Model& model, const std::vector<Equation>& equations) {
    model.equations.insert(model.equations.end(), equations.begin(), equations.end());
}

double value_of(const Mesh& mesh, const Equation& equation, std::span<const double> u) {
    double sum = 0;
    for (const auto& [node, axis, coefficient] : equation.terms) {
        sum +=
            coefficient * u[std::size_t(node) * std::size_t(mesh.dimensions) + std::size_t(axis)];
    }
    return sum;
}

/// K u - f of a model without its equations, over the displacements of its system.
std::vector<double> forces_without_equations(Model model, std::span<const double> u) {
    model.equations.clear();
    const auto system = elasticity::assemble(test::host(), model);
    std::vector<double> x(system.load.size()), forces(u.size(), 0);
    for (std::size_t k = 0; k < u.size(); ++k) {
        if (system.unknowns[k] >= 0) x[std::size_t(system.unknowns[k])] = u[k];
    }
    for (std::size_t k = 0; k < u.size(); ++k) {
        const Index row = system.unknowns[k];
        if (row < 0) continue;
        forces[k] =
            test::row_product(system.matrix.view(), x, row).first - system.load[std::size_t(row)];
    }
    return forces;
}

/// The solution by the definition: the equations hold, and the forces that they need do no work in
/// any motion that fulfils them. `motions` are such motions of all displacements.
void expect_solution(const Model& model, std::span<const double> u, double bound,
                     const std::vector<std::vector<double>>& motions) {
    for (const Equation& equation : model.equations) {
        EXPECT_NEAR(value_of(model.mesh, equation, u), equation.value, bound) << equation.name;
    }
    const std::vector<double> forces = forces_without_equations(model, u);
    for (const std::vector<double>& motion : motions) {
        double work = 0;
        for (std::size_t k = 0; k < u.size(); ++k) work += forces[k] * motion[k];
        EXPECT_NEAR(work, 0, 100 * bound);
    }
}

/// Each unknown of a system moved by 1: the motions that equations without values leave.
std::vector<std::vector<double>> motions_of(const Model& model) {
    Model still = model;
    for (Equation& equation : still.equations) equation.value = 0;
    for (auto& support : still.fixed_supports) support.displacement = elasticity::constant({});
    const auto system = elasticity::assemble(test::host(), still);
    std::vector<std::vector<double>> motions;
    for (std::size_t k = 0; k < system.load.size(); ++k) {
        std::vector<double> x(system.load.size(), 0);
        x[k] = 1;
        motions.push_back(system.displacements(x));
    }
    return motions;
}

void expect_balance(const Model& model, std::span<const double> u, double bound) {
    const auto found = elasticity::find_reactions(test::host(), model, u);
    for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_NEAR(found.total.force[i] + found.loads.force[i], 0, bound);
        EXPECT_NEAR(found.total.moment[i] + found.loads.moment[i], 0, bound);
    }
}

TEST(equations, hold_and_do_no_work_for_all_elements) {
    for (const CellShape shape : test::all_element_shapes) {
        SCOPED_TRACE(to_string(shape));
        Model model = loaded_block(shape);
        const Mesh& mesh = model.mesh;
        const int last = mesh.dimensions - 1;
        model.springs = {{"top", {1, 2, 3}}};
        model.fixed_supports[0].displacement = elasticity::constant({0.1, 0, -0.2});
        const std::vector<Index>& right = mesh.group("right").cells[0].nodes;
        const Index held = mesh.group("left").cells[0].nodes[0];
        model.equations = {
            {"lever", {{right[0], 0, 1}, {right[1], last, -2}}, 0.05},
            {"lever", {{right[1], last, 3}, {right[0], 1, 1}, {right[1], 0, 0.5}}},
            {"held", {{right[0], last, 1}, {held, 0, -1}}},
        };
        const auto system = elasticity::assemble(test::host(), model);
        EXPECT_EQ(system.dependents.size() + system.load.size() + 1,
                  elasticity::assemble(test::host(), loaded_block(shape)).load.size());
        EXPECT_EQ(elasticity::assemble_load(test::host(), model).load, system.load);
        const auto view = system.matrix.view();
        for (Index i = 0; i < view.rows; ++i) {
            std::vector<double> x(std::size_t(view.rows), 0);
            x[std::size_t(i)] = 1;  // Columns are bitwise rows.
            for (Offset k = view.row_offsets[i]; k < view.row_offsets[i + 1]; ++k) {
                ASSERT_EQ(test::row_product(view, x, view.column_indices[k]).first, view.values[k]);
            }
        }
        const double rounding = test::gamma<double>(1e4) * test::largest_value(view);
        const auto solution = test::solve_by_inverse(system, rounding);
        ASSERT_LT(solution.error, 1e-7);
        const auto u = system.displacements(solution.unknowns);
        expect_solution(model, u, 10 * solution.error, motions_of(model));
        expect_balance(model, u, 1e4 * solution.error);
    }
}

/// Rotations of a node's axes do not matter to what an equation says about x, y and z.
TEST(equations, hold_at_nodes_on_inclined_supports) {
    Model model = loaded_block(CellShape::hexahedron);
    for (std::size_t at = 0; at < model.mesh.points.size(); at += 3) {
        model.mesh.points[at + 1] += 0.3 * model.mesh.points[at];
    }
    model.fixed_supports.push_back({"bottom", {}, {}, true});
    const std::vector<Index>& bottom = model.mesh.group("bottom").cells[0].nodes;
    Index free_node = 0;
    for (const Index node : bottom) {
        if (model.mesh.points[std::size_t(node) * 3] > 0.9) free_node = node;
    }
    const std::vector<Index>& top = model.mesh.group("top").cells[0].nodes;
    model.equations = {{"roller", {{free_node, 1, 1}, {top.back(), 0, -1}}, 0.01}};
    const auto system = elasticity::assemble(test::host(), model);
    EXPECT_FALSE(system.node_axes.empty());
    const auto solution = test::solve_by_inverse(system, 1e-12);
    const auto u = system.displacements(solution.unknowns);
    expect_solution(model, u, 1e-9, {});
    expect_balance(model, u, 1e-8);
}

/// A body in two halves that equations join node by node moves as the body in one piece.
TEST(equations, join_two_halves) {
    const Context cpu = test::host();
    Model whole = loaded_block(CellShape::hexahedron);
    whole.mesh = test::grid_mesh(CellShape::hexahedron, {4, 2, 2});
    Model halves = whole;
    Mesh& mesh = halves.mesh;
    std::vector<Index> copies(std::size_t(mesh.node_count()), -1);
    std::vector<Index>& nodes = mesh.elements[0].nodes;
    for (std::size_t element = 0; element * 8 < nodes.size(); ++element) {
        double middle = 0;
        for (std::size_t c = 0; c < 8; ++c) {
            middle += mesh.points[std::size_t(nodes[element * 8 + c]) * 3] / 8;
        }
        if (middle < 0.5) continue;
        for (std::size_t c = 0; c < 8; ++c) {
            Index& node = nodes[element * 8 + c];
            if (mesh.points[std::size_t(node) * 3] != 0.5) continue;
            Index& copy = copies[std::size_t(node)];
            if (copy < 0) {
                copy = mesh.node_count();
                for (std::size_t i = 0; i < 3; ++i) {
                    mesh.points.push_back(mesh.points[std::size_t(node) * 3 + i]);
                }
            }
            node = copy;
        }
    }
    for (MeshGroup& group : mesh.groups) {
        // Loads on sides that reach over the cut are left out.
        if (group.name != "left" && group.name != "right") group.cells.clear();
    }
    EXPECT_TRUE(elasticity::assemble(cpu, halves).known_singular);
    for (std::size_t node = 0; node < copies.size(); ++node) {
        if (copies[node] < 0) continue;
        for (int i = 0; i < 3; ++i) {
            halves.equations.push_back({"joint", {{copies[node], i, 1}, {Index(node), i, -1}}});
        }
    }
    const auto joined = elasticity::assemble(cpu, halves);
    EXPECT_FALSE(joined.known_singular);
    const auto u = test::solve(joined, 1e-12);
    const auto v = test::solve(elasticity::assemble(cpu, whole), 1e-12);
    for (std::size_t k = 0; k < v.size(); ++k) EXPECT_NEAR(u[k], v[k], 1e-9);
    const auto forces = elasticity::find_reactions(cpu, halves, u);
    ASSERT_EQ(forces.equations.size(), 1U);
    for (const double part : forces.equations[0].second.moment) EXPECT_NEAR(part, 0, 1e-8);
    for (const double part : forces.equations[0].second.force) EXPECT_NEAR(part, 0, 1e-8);
    // Without one of three joints the halves still cannot move; with two in line they can.
    halves.equations.resize(6);
    EXPECT_TRUE(elasticity::assemble(cpu, halves).known_singular);
}

TEST(equations, hold_a_body_as_supports_do) {
    const Context cpu = test::host();
    Model fixed = loaded_block(CellShape::tetrahedron10);
    fixed.fixed_supports[0].displacement = elasticity::constant({0.3, 0, 0.1});
    Model equal = fixed;
    equal.fixed_supports.clear();
    EXPECT_TRUE(elasticity::assemble(cpu, equal).known_singular);
    for (const Index node : equal.mesh.group("left").cells[0].nodes) {
        const double values[] = {0.3, 0, 0.1};
        for (int i = 0; i < 3; ++i) {
            equal.equations.push_back({"wall", {{node, i, -2}}, -2 * values[i]});
        }
    }
    const auto system = elasticity::assemble(cpu, equal);
    EXPECT_FALSE(system.known_singular);
    const auto other = elasticity::assemble(cpu, fixed);
    EXPECT_EQ(system.load, other.load);
    const auto u = test::solve(other, 1e-12);
    const auto by_fix = elasticity::find_reactions(cpu, fixed, u).groups[0].second;
    const auto by_equations = elasticity::find_reactions(cpu, equal, u).equations[0].second;
    for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_NEAR(by_equations.force[i], by_fix.force[i], 1e-12);
        EXPECT_NEAR(by_equations.moment[i], by_fix.moment[i], 1e-12);
    }
}

TEST(equations, errors_name_the_equation_and_its_node) {
    Model model = loaded_block(CellShape::hexahedron);
    const std::vector<Index> right = model.mesh.group("right").cells[0].nodes;
    const Index held = model.mesh.group("left").cells[0].nodes[0];
    const auto message = [&](const std::vector<Equation>& equations) {
        model.equations = equations;
        return test::message_of([&] { elasticity::assemble(test::host(), model); });
    };
    const Equation first{"first", {{right[0], 0, 1}, {right[1], 0, -1}}};
    Equation again{"again", {{right[1], 0, 3}, {right[0], 0, -3}}};
    EXPECT_EQ(message({first, again}), "accepted");  // It follows from the first one.
    again.value = 1;
    test::expect_contains(message({first, again}),
                          "the equation 'again' of node " + std::to_string(right[1]) + " at (");
    test::expect_contains(message({first, again}), "contradicts supports or other equations");
    test::expect_contains(message({{"pull", {{held, 1, 1}}, 0.1}}), "contradicts supports");
    EXPECT_EQ(message({{"pull", {{held, 1, 1}}, 0}}), "accepted");
    test::expect_contains(message({{"none", {}}}), "the equation 'none' has no terms");
    test::expect_contains(message({{"far", {{1000, 0, 1}}}}), "names node 1000");
    test::expect_contains(message({{"axis", {{1, 3, 1}}}}), "names axis 3");
    test::expect_contains(message({{"bad", {{right[0], 0, std::nan("")}}}}),
                          "a coefficient that is not a number");
    model.mesh = test::unit_mesh(CellShape::hexahedron, 8, 0);
    Equation mean{"mean", {}};
    for (Index node = 0; node < model.mesh.node_count(); ++node) mean.terms.push_back({node, 0, 1});
    test::expect_contains(message({mean}), "the matrix would be dense");
}

/// Multigrid takes about as many iterations as without the equations.
TEST(equations, multigrid_solves_with_rigid_bodies) {
    const Context cpu = test::host();
    Model model = loaded_block(CellShape::hexahedron);
    model.mesh = test::unit_mesh(CellShape::hexahedron, 16, 0);
    const auto iterations = [&] {
        const auto system = elasticity::assemble(cpu, model);
        Solver<double> solver(cpu, "cg", "amg");
        solver.use_coordinates(system.coordinates(model.mesh));
        solver.setup(system.matrix.view());
        std::vector<double> x(system.load.size(), 0);
        const auto report = solver.solve(system.load, x);
        EXPECT_EQ(report.status, Status::converged);
        return report.iterations;
    };
    const Offset without = iterations();
    add(model, elasticity::rigid_body(model.mesh, "right"));
    EXPECT_LE(iterations(), without + 2);
}

}  // namespace
}  // namespace tessera
