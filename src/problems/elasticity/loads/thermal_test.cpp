#include "problems/elasticity/elasticity_test.hpp"
#include "support/messages.hpp"

namespace tessera {
namespace {

using elasticity::Field;
using elasticity::Model;
using elasticity::PlaneKind;
using elasticity::Vector;

constexpr double young = 2, poisson = 0.3, alpha = 0.25, heating = 0.5;
constexpr std::array<bool, 3> x{true, false, false}, y{false, true, false}, z{false, false, true};

/// A unit square or cube that expands freely from the planes x, y and z = 0.
Model free_model(CellShape shape, double jitter) {
    Model model;
    model.mesh = test::unit_mesh(shape, is_first_order(shape) ? 3 : 2, jitter);
    model.material = {young, poisson};
    model.material.expansion.fill(alpha);
    model.temperature = heating;
    model.fixed_supports = {{"left", x}, {"bottom", y}};
    if (model.mesh.dimensions == 3) model.fixed_supports.push_back({"back", z});
    return model;
}

struct Expected {
    Field displacement;
    std::array<double, 6> stress{};
};

/// Displacements and stresses of a model of at most 1 in size, within rounding errors.
void expect_solution(const Model& model, const Expected& expected) {
    const Context cpu = test::host();
    const auto system = elasticity::assemble(cpu, model);
    EXPECT_FALSE(system.known_singular);
    EXPECT_EQ(elasticity::assemble_load(cpu, model).load, system.load);
    const auto found = test::solve_by_inverse(
        system, test::gamma<double>(1e4) * test::largest_value(system.matrix.view()));
    ASSERT_LT(found.error, 1e-6);
    const auto u = system.displacements(found.unknowns);
    const auto d = std::size_t(model.mesh.dimensions);
    for (std::size_t k = 0; k < u.size(); ++k) {
        const Vector exact = expected.displacement(test::point(model.mesh, Index(k / d)));
        ASSERT_NEAR(u[k], exact[k % d], found.error) << k;
    }
    // Strains are at most 2700 times as wrong: gradients are below 100, of 27 nodes.
    const double bound = 2700 * 10 * young * found.error;
    for (const auto& stresses :
         {elasticity::node_stresses(cpu, model, u), elasticity::element_stresses(cpu, model, u)}) {
        for (std::size_t k = 0; k < stresses.size(); ++k) {
            ASSERT_NEAR(stresses[k], expected.stress[k % 6], bound) << k;
        }
    }
    double density = 0;  // sigma : compliance : sigma of equal and of uniaxial stresses alike.
    const auto& s = expected.stress;
    for (std::size_t i = 0; i < 3; ++i) {
        density += ((1 + poisson) * s[i] * s[i] - poisson * s[i] * (s[0] + s[1] + s[2])) / young;
    }
    const bool axisymmetric = model.plane == PlaneKind::axisymmetric;
    const double volume = axisymmetric ? std::numbers::pi : 1;
    EXPECT_NEAR(elasticity::strain_energy(cpu, model, u), volume * density / 2, 10 * bound);
    EXPECT_NEAR(elasticity::estimate_error(cpu, model, u).relative, 0, 1e-4);
    const auto reactions = elasticity::find_reactions(cpu, model, u);
    EXPECT_EQ(reactions.loads.force, Vector{});
    const double areas[] = {axisymmetric ? 2 * std::numbers::pi : 1.,
                            axisymmetric ? std::numbers::pi : 1., 1};
    for (const auto& [group, sum] : reactions.groups) {
        const auto& names = test::side_names(3);
        const auto side = std::size_t(std::ranges::find(names, group) - names.begin());
        if (side == names.size() || (axisymmetric && side == 0)) continue;  // No area.
        const double force = (side % 2 == 0 ? -1 : 1) * s[side / 2] * areas[side / 2];
        EXPECT_NEAR(sum.force[side / 2], force, 10 * bound) << group;
    }
}

Field growth(double strain) {
    return [strain](const Vector& at) {
        return Vector{strain * at[0], strain * at[1], strain * at[2]};
    };
}

TEST(thermal, a_free_body_grows_without_stress) {
    for (const CellShape shape : test::all_element_shapes) {
        SCOPED_TRACE(to_string(shape));
        for (const auto formulation : {elasticity::Formulation::incompatible_modes,
                                       elasticity::Formulation::full_integration}) {
            Model model = free_model(shape, 0.6);
            model.formulation = formulation;
            expect_solution(model, {growth(alpha * heating)});
            if (model.mesh.dimensions == 3) continue;
            model.plane = PlaneKind::axisymmetric;
            expect_solution(model, {growth(alpha * heating)});
            // Plane strain holds the body along z.
            model.plane = PlaneKind::strain;
            expect_solution(model, {growth((1 + poisson) * alpha * heating),
                                    {0, 0, -young * alpha * heating, 0, 0, 0}});
        }
    }
}

TEST(thermal, a_clamped_body_is_compressed) {
    const double strain = alpha * heating;
    for (const CellShape shape : test::all_element_shapes) {
        SCOPED_TRACE(to_string(shape));
        Model model = free_model(shape, 0.6);
        model.fixed_supports.push_back({"right", x});
        const auto contract = [&](double across) {
            return [across](const Vector& at) { return Vector{0, across * at[1], across * at[2]}; };
        };
        expect_solution(model,
                        {contract((1 + poisson) * strain), {-young * strain, 0, 0, 0, 0, 0}});
        // Clamped on all sides: no strain.
        for (const auto& [side, axis] : {std::pair{"top", y}, std::pair{"front", z}}) {
            if (model.mesh.dimensions == 2 && axis == z) continue;
            model.fixed_supports.push_back({side, axis});
        }
        const double all = -young * strain / (1 - 2 * poisson);
        if (model.mesh.dimensions == 3) {
            expect_solution(model, {growth(0), {all, all, all, 0, 0, 0}});
            continue;
        }
        const double both = -young * strain / (1 - poisson);
        expect_solution(model, {growth(0), {both, both, 0, 0, 0, 0}});
        for (const PlaneKind kind : {PlaneKind::strain, PlaneKind::axisymmetric}) {
            model.plane = kind;
            expect_solution(model, {growth(0), {all, all, all, 0, 0, 0}});
        }
    }
}

/// An isotropic body with a linear temperature T = g x stays free of stress:
/// u = alpha (T x - g x . x / 2). Incompatible modes represent it on rectangles, too.
TEST(thermal, a_linear_temperature_leaves_a_free_body_without_stress) {
    const Vector g{0.3, -0.2, 0.4};
    for (const CellShape shape : test::all_element_shapes) {
        if (is_first_order(shape) && family(shape) != CellFamily::cube) continue;
        SCOPED_TRACE(to_string(shape));
        Model model = free_model(shape, 0);
        const int d = model.mesh.dimensions;
        model.fixed_supports.clear();
        const auto temperature = [&](const Vector& at) {
            return g[0] * at[0] + g[1] * at[1] + (d == 3 ? g[2] * at[2] : 0);
        };
        const Field exact = [&](const Vector& at) {
            const double squares = at[0] * at[0] + at[1] * at[1] + at[2] * at[2];
            Vector u{};
            for (std::size_t i = 0; i < 3; ++i) {
                u[i] = alpha * (temperature(at) * at[i] - g[i] * squares / 2);
            }
            return u;
        };
        // Held at the four corners nearest to 0.
        model.node_displacements.assign(model.mesh.points.size(), std::nan(""));
        for (Index node = 0; node < model.mesh.node_count(); ++node) {
            const Vector at = test::point(model.mesh, node);
            model.node_temperatures.push_back(temperature(at));
            if (at[0] + at[1] + at[2] != 0 && std::ranges::count(at, 1.) != 1) continue;
            if (std::ranges::count(at, 0.) < 2) continue;
            const Vector u = exact(at);
            std::copy_n(u.begin(), d, &model.node_displacements[std::size_t(node) * d]);
        }
        expect_solution(model, {exact});
    }
}

/// Two halves of a bar between walls: the force is that of the free growth over both compliances.
TEST(thermal, two_materials_in_a_row_between_walls) {
    Model model;
    model.mesh = meshes::rectangle(CellShape::quadrilateral, 4, 2);
    model.mesh.regions = {0, 0, 0, 0, 1, 1, 1, 1};
    model.mesh.region_names = {"soft", "stiff"};
    for (Index element = 0; element < 8; ++element) {
        double middle = 0;
        for (int c = 0; c < 4; ++c) {
            middle +=
                model.mesh.points[std::size_t(
                                      model.mesh.elements[0].nodes[std::size_t(element) * 4 + c]) *
                                  2] /
                4;
        }
        model.mesh.regions[std::size_t(element)] = middle > 0.5;
    }
    model.materials["soft"] = {1, 0, 0, {}, {0.1, 0, 0}};
    model.materials["stiff"] = {4, 0, 0, {}, {0.3, 0, 0}};
    model.temperature = 2;
    model.temperatures["stiff"] = 1;
    model.fixed_supports = {{"left", x}, {"right", x}, {"bottom", y}};
    const Context cpu = test::host();
    const auto u = test::solve(elasticity::assemble(cpu, model), 1e-13);
    const double stress = -(0.1 * 2 + 0.3 * 1) / (1. / 1 + 1. / 4);
    const auto stresses = elasticity::element_stresses(cpu, model, u);
    for (std::size_t k = 0; k < stresses.size(); k += 6) EXPECT_NEAR(stresses[k], stress, 1e-10);
    // In place of the temperatures of regions.
    model.node_temperatures.assign(std::size_t(model.mesh.node_count()), 3);
    const auto other = test::solve(elasticity::assemble(cpu, model), 1e-13);
    EXPECT_NEAR(elasticity::element_stresses(cpu, model, other)[0], -3 * 0.4 / 1.25, 1e-10);
}

/// S. Timoshenko, Analysis of bi-metal thermostats, J. Opt. Soc. Am. 11 (1925): the curvature of a
/// strip of two layers.
TEST(thermal, a_strip_of_two_metals_bends) {
    meshes::GridOptions options;
    options.lengths = {20, 1, 1};
    Model model;
    model.mesh = test::grid_mesh(CellShape::quadrilateral8, {40, 5, 1}, options);
    const double lower = 0.4, upper = 0.6;
    for (Index element = 0; element < model.mesh.element_count(); ++element) {
        double middle = 0;
        for (int c = 0; c < 4; ++c) {
            const Index node = model.mesh.elements[0].nodes[std::size_t(element) * 8 + c];
            middle += model.mesh.points[std::size_t(node) * 2 + 1] / 4;
        }
        model.mesh.regions.push_back(middle > lower);
    }
    model.mesh.region_names = {"lower", "upper"};
    const double e1 = 1, e2 = 3, a1 = 0.02, a2 = 0.01, change = 0.5;
    model.materials["lower"] = {e1, 0.3, 0, {}, {a1, a1, a1}};
    model.materials["upper"] = {e2, 0.3, 0, {}, {a2, a2, a2}};
    model.temperature = change;
    model.fixed_supports = {{"left", x}};
    model.node_displacements.assign(model.mesh.points.size(), std::nan(""));
    Index tip = -1;
    for (Index node = 0; node < model.mesh.node_count(); ++node) {
        const Vector at = test::point(model.mesh, node);
        if (at == Vector{0, 0, 0}) model.node_displacements[std::size_t(node) * 2 + 1] = 0;
        if (at == Vector{20, 0, 0}) tip = node;
    }
    const auto u = test::solve(elasticity::assemble(test::host(), model), 1e-10);
    const double m = lower / upper, n = e1 / e2;
    const double curvature = 6 * (a1 - a2) * change * (1 + m) * (1 + m) /
                             (3 * (1 + m) * (1 + m) + (1 + m * n) * (m * m + 1 / (m * n)));
    // Its end, about as long as thick, bends otherwise: (1 / 20)^2 of the deflection.
    const double deflection = curvature * 20 * 20 / 2;
    EXPECT_NEAR(u[std::size_t(tip) * 2 + 1], deflection, 0.005 * deflection);
}

TEST(thermal, orthotropic_bodies_expand_along_their_directions) {
    Model model = free_model(CellShape::hexahedron, 0.6);
    elasticity::Orthotropic constants{{12, 1, 0.6}, {0.4, 0.5, 0.3}, {0.8, 0.06, 0.7}};
    const double c = 0.6, s = 0.8;
    constants.direction = {c, s, 0};
    constants.second_direction = {-s, c, 0};
    const Vector expansion{0.1, 0.2, 0.3};
    model.material.orthotropic = constants;
    model.material.expansion = expansion;
    const double xx = c * c * expansion[0] + s * s * expansion[1];
    const double yy = s * s * expansion[0] + c * c * expansion[1];
    const double xy = c * s * (expansion[0] - expansion[1]);
    const Field exact = [&](const Vector& at) {  // The plane y = 0 stays, x = 0 shears.
        return Vector{heating * (xx * at[0] + 2 * xy * at[1]), heating * yy * at[1],
                      heating * expansion[2] * at[2]};
    };
    for (const int dimensions : {3, 2}) {
        if (dimensions == 2) model.mesh = test::unit_mesh(CellShape::triangle6, 2, 0.6);
        model.fixed_supports = {{"bottom", y}};
        if (dimensions == 3) model.fixed_supports.push_back({"back", z});
        const auto d = std::size_t(dimensions);
        model.node_displacements.assign(model.mesh.points.size(), std::nan(""));
        model.node_displacements[0] = 0;  // The rest of the plane x = 0 is free.
        const auto system = elasticity::assemble(test::host(), model);
        const auto found = test::solve_by_inverse(
            system, test::gamma<double>(1e4) * test::largest_value(system.matrix.view()));
        ASSERT_LT(found.error, 1e-6);
        const auto u = system.displacements(found.unknowns);
        const Vector origin = test::point(model.mesh, 0);
        ASSERT_EQ(origin, Vector{});
        for (std::size_t k = 0; k < u.size(); ++k) {
            EXPECT_NEAR(u[k], exact(test::point(model.mesh, Index(k / d)))[k % d], found.error);
        }
        const auto stresses = elasticity::node_stresses(test::host(), model, u);
        for (const double stress : stresses) ASSERT_NEAR(stress, 0, 2e5 * found.error);
    }
}

TEST(thermal, wrong_temperatures_are_told) {
    Model model = free_model(CellShape::quadrilateral, 0);
    const auto message = [&] {
        return test::message_of([&] { elasticity::assemble(test::host(), model); });
    };
    model.temperatures["top"] = 1;
    test::expect_contains(message(), "the mesh has no region 'top'");
    model.temperatures.clear();
    model.mesh.groups.push_back(
        {"all", 2, {{CellShape::quadrilateral, model.mesh.elements[0].nodes}}});
    model.mesh.groups.push_back(model.mesh.groups.back());
    model.mesh.groups.back().name = "every";
    model.temperatures = {{"all", 1}, {"every", 2}};
    test::expect_contains(message(), "which have different changes of temperature");
    model.temperatures.clear();
    model.node_temperatures = {1, 2};
    test::expect_contains(message(), "there are 2 temperatures of nodes, not 16");
    model.node_temperatures.clear();
    model.temperature = std::nan("");
    test::expect_contains(message(),
                          "the change of temperature of the model, nan, is not a number");
    model.temperature = 1;
    model.material.expansion[1] = INFINITY;
    test::expect_contains(message(), "the thermal expansion inf is not a number");

    model.material.expansion = {};
    const auto system = elasticity::assemble(test::host(), model);
    const auto warnings = elasticity::find_warnings(test::host(), model, system);
    test::expect_contains(warnings.at(0), "the temperature changes, but nothing expands with it");
}

}  // namespace
}  // namespace tessera
