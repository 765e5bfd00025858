#include "problems/elasticity/elasticity_test.hpp"
#include "support/messages.hpp"

namespace tessera {
namespace {

using elasticity::Material;
using elasticity::Model;
using elasticity::Orthotropic;
using elasticity::PlaneKind;
using elasticity::Vector;
using test::expect_contains;

constexpr PlaneKind kinds[] = {PlaneKind::stress, PlaneKind::strain, PlaneKind::axisymmetric};

/// Wood, about: stiff along direction 1.
Orthotropic wood() { return {{12, 1.0, 0.6}, {0.4, 0.5, 0.3}, {0.8, 0.06, 0.7}}; }

Material orthotropic(const Orthotropic& constants) {
    Material material;
    material.orthotropic = constants;
    return material;
}

/// Compliances between the normal stresses along directions 1, 2 and 3.
std::array<Vector, 3> compliances(const Orthotropic& o) {
    const auto& [e1, e2, e3] = o.young_moduli;
    const auto& [nu12, nu23, nu13] = o.poisson_ratios;
    return {{{1 / e1, -nu12 / e1, -nu13 / e1},
             {-nu12 / e1, 1 / e2, -nu23 / e2},
             {-nu13 / e1, -nu23 / e2, 1 / e3}}};
}

/// The strain of the stress that a law gives along the directions is the given one: stress and
/// strain as tensors, turned one index at a time.
void expect_hookes_law(const elasticity::ElasticLaw& law, const Orthotropic& o,
                       const std::array<Vector, 3>& directions, const std::array<double, 6>& strain,
                       const std::vector<int>& components, double bound) {
    std::array<Vector, 3> stress{}, along{};
    for (int k = 0; k < 6; ++k) {
        double sum = 0;
        for (int l = 0; l < 6; ++l) sum += law.matrix[k][l] * strain[l];
        const int i = test::tensor_rows[k], j = test::tensor_columns[k];
        stress[i][j] = stress[j][i] = sum;
    }
    const auto turned = [&](const std::array<Vector, 3>& tensor, int a, int b) {
        double sum = 0;
        for (int i = 0; i < 3; ++i) {
            for (int j = 0; j < 3; ++j) sum += directions[a][i] * tensor[i][j] * directions[b][j];
        }
        return sum;
    };
    const auto s = compliances(o);
    const double shears[3][3] = {{0, o.shear_moduli[0], o.shear_moduli[2]},
                                 {o.shear_moduli[0], 0, o.shear_moduli[1]},
                                 {o.shear_moduli[2], o.shear_moduli[1], 0}};
    for (int a = 0; a < 3; ++a) {
        for (int b = 0; b < 3; ++b) {
            along[a][b] = a == b ? 0 : turned(stress, a, b) / (2 * shears[a][b]);
            for (int k = 0; k < 3 && a == b; ++k) along[a][b] += s[a][k] * turned(stress, k, k);
        }
    }
    for (const int k : components) {  // Back to x, y and z.
        double sum = 0;
        for (int a = 0; a < 3; ++a) {
            for (int b = 0; b < 3; ++b) {
                sum += directions[a][test::tensor_rows[k]] * along[a][b] *
                       directions[b][test::tensor_columns[k]];
            }
        }
        EXPECT_NEAR(sum * (k < 3 ? 1 : 2), strain[k], bound) << k;
    }
}

TEST(orthotropic, strains_of_stresses_are_by_the_compliances_along_the_directions) {
    auto random = test::generator();
    // Sums of fewer than 1000 products, of moduli up to 20 and compliances up to 20.
    const double bound = test::gamma<double>(1000) * 400;
    for (int repeat = 0; repeat < 20; ++repeat) {
        Orthotropic o = wood();
        const auto numbers = test::random_vector<double>(random, 12);
        std::array<double, 6> strain{};
        for (int k = 0; k < 6; ++k) strain[k] = numbers[6 + k];
        Model model;
        model.mesh.dimensions = 3;
        for (int i = 0; i < 3; ++i) {
            o.direction[i] = numbers[i];
            o.second_direction[i] = numbers[3 + i];
        }
        // Directions by another way: 3 is normal to both, 2 normal to 3 and 1.
        const auto cross = [](const Vector& a, const Vector& b) {
            Vector c{a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2],
                     a[0] * b[1] - a[1] * b[0]};
            const double length = std::hypot(c[0], c[1], c[2]);
            for (double& x : c) x /= length;
            return c;
        };
        const Vector third = cross(o.direction, o.second_direction);
        const Vector second = cross(third, o.direction);
        expect_hookes_law(elasticity::elastic_law(model, orthotropic(o), "wood"), o,
                          {cross(second, third), second, third}, strain, {0, 1, 2, 3, 4, 5}, bound);

        model.mesh.dimensions = 2;
        const double c = std::cos(7 * numbers[0]), s = std::sin(7 * numbers[0]);
        strain[2] = strain[4] = strain[5] = 0;
        o.direction = {c, s, 0};
        o.second_direction = {-s, c, 0};
        for (const PlaneKind kind : kinds) {
            model.plane = kind;
            const auto law = elasticity::elastic_law(model, orthotropic(o), "wood");
            const bool thin = kind == PlaneKind::stress;
            // In plane stress the strain across the plane is free.
            expect_hookes_law(law, o, {o.direction, o.second_direction, Vector{0, 0, 1}}, strain,
                              thin ? std::vector<int>{0, 1, 3} : std::vector<int>{0, 1, 2, 3},
                              bound);
            for (int k = 0; k < 6 && thin; ++k) EXPECT_EQ(law.matrix[2][k], 0);
        }
    }
}

/// Equal constants along all directions are those of an isotropic material, whatever the
/// directions; the reported Poisson's ratio, too.
TEST(orthotropic, isotropic_constants_give_the_isotropic_law) {
    const Material isotropic{2, 0.35};
    const double g = 1 / 1.35;
    Orthotropic o{{2, 2, 2}, {0.35, 0.35, 0.35}, {g, g, g}, {1, 2, 0}, {1, 0, 0}};
    for (const int dimensions : {2, 3}) {
        if (dimensions == 3) o.second_direction = {0.3, 1, 4};
        for (const PlaneKind kind : kinds) {
            Model model;
            model.mesh.dimensions = dimensions;
            model.plane = kind;
            const auto expected = elasticity::elastic_law(model, isotropic, "steel");
            const auto found = elasticity::elastic_law(model, orthotropic(o), "steel");
            for (int i = 0; i < 6; ++i) {
                for (int j = 0; j < 6; ++j) {
                    // Out of the plane nothing shears.
                    if (dimensions == 2 && i > 3) continue;
                    EXPECT_NEAR(found.matrix[i][j], expected.matrix[i][j],
                                test::gamma<double>(1000) * 4);
                    EXPECT_EQ(found.matrix[i][j], found.matrix[j][i]);
                }
            }
            EXPECT_NEAR(found.poisson_ratio, 0.35, test::gamma<double>(30));
        }
    }
}

/// A square pulled off its directions, on distorted meshes of all plane elements: the stiffness
/// along x is 1 / E_x = c^4 / E1 + s^4 / E2 + c^2 s^2 (1 / G12 - 2 nu12 / E1), c and s the cosine
/// and sine of the angle (R. M. Jones, Mechanics of Composite Materials, section 2.6).
TEST(orthotropic, tension_off_the_directions) {
    Orthotropic o = wood();
    const double c = std::cos(0.5), s = std::sin(0.5);
    o.direction = {c, s, 0};
    o.second_direction = {0, 1, 0};
    const double compliance =
        std::pow(c, 4) / 12 + std::pow(s, 4) + c * c * s * s * (1 / 0.8 - 2 * 0.4 / 12);
    for (const CellShape shape : test::all_element_shapes) {
        if (dimensions(shape) == 3) continue;
        SCOPED_TRACE(to_string(shape));
        Model model;
        model.material = orthotropic(o);
        model.mesh = test::unit_mesh(shape, is_first_order(shape) ? 3 : 2, 0.6);
        model.tractions = {{"left", elasticity::constant({-1, 0, 0})},
                           {"right", elasticity::constant({1, 0, 0})}};
        Index corner = 0, end = 0;
        for (Index node = 0; node < model.mesh.node_count(); ++node) {
            const Vector at = test::point(model.mesh, node);
            if (at[0] + at[1] == 0) corner = node;
            if (at[0] == 1 && at[1] == 0) end = node;
        }
        model.mesh.groups.push_back({"corner", 0, {{CellShape::point, {corner}}}});
        model.mesh.groups.push_back({"end", 0, {{CellShape::point, {end}}}});
        model.fixed_supports = {{"corner"}, {"end", {false, true, false}}};
        const auto system = elasticity::assemble(test::host(), model);
        const auto found = test::solve_by_inverse(
            system, test::gamma<double>(1e4) * test::largest_value(system.matrix.view()));
        EXPECT_LT(found.error, 1e-6);
        const std::vector<double> u = system.displacements(found.unknowns);
        EXPECT_NEAR(u[2 * end], compliance, found.error);
        const auto stresses = elasticity::node_stresses(test::host(), model, u);
        for (std::size_t k = 0; k < stresses.size(); ++k) {
            // Gradients are sums of at most 9 terms, of at most 100 each; moduli are below 20.
            ASSERT_NEAR(stresses[k], k % 6 == 0 ? 1 : 0, 20 * 900 * found.error);
        }
        // Half the work of the load.
        EXPECT_NEAR(elasticity::strain_energy(test::host(), model, u), compliance / 2, found.error);
    }
}

/// A linear displacement of all sides is the solution in solids, too.
TEST(orthotropic, patch_test_of_solids) {
    auto random = test::generator();
    for (const CellShape shape : test::all_element_shapes) {
        if (dimensions(shape) == 2) continue;
        SCOPED_TRACE(to_string(shape));
        const std::vector<double> g = test::random_vector<double>(random, 9);  // du_i / dx_j
        const auto field = [&](const Vector& x) {
            Vector u{};
            for (int i = 0; i < 3; ++i) {
                for (int j = 0; j < 3; ++j) u[i] += g[3 * i + j] * x[j];
            }
            return u;
        };
        Model model;
        Orthotropic o = wood();
        o.direction = {1, 2, -1};
        o.second_direction = {0, 1, 3};
        model.material = orthotropic(o);
        model.mesh = test::unit_mesh(shape, is_first_order(shape) ? 3 : 2, 0.6);
        for (const std::string& side : test::side_names(3)) {
            model.fixed_supports.push_back({side, {true, true, true}, field});
        }
        const auto system = elasticity::assemble(test::host(), model);
        const auto found = test::solve_by_inverse(
            system, 100 * test::gamma<double>(1e4) * test::largest_value(system.matrix.view()));
        EXPECT_LT(found.error, 1e-6);
        const std::vector<double> u = system.displacements(found.unknowns);
        const auto law = elasticity::elastic_law(model, model.material, "wood");
        const auto stresses = elasticity::node_stresses(test::host(), model, u);
        for (std::size_t k = 0; k < stresses.size(); ++k) {
            double expected = 0;
            for (int l = 0; l < 6; ++l) {
                const int i = test::tensor_rows[l], j = test::tensor_columns[l];
                expected +=
                    law.matrix[k % 6][l] * (i == j ? g[4 * i] : g[3 * i + j] + g[3 * j + i]);
            }
            ASSERT_NEAR(stresses[k], expected, 20 * 2700 * found.error);
        }
    }
}

TEST(orthotropic, what_is_no_material_is_rejected) {
    const auto error = [](int dimensions, auto&& change) {
        Model model;
        model.mesh.dimensions = dimensions;
        Orthotropic o = wood();
        change(o);
        return test::message_of([&] { elasticity::elastic_law(model, orthotropic(o), "wood"); });
    };
    EXPECT_EQ(error(3, [](Orthotropic&) {}), "accepted");
    expect_contains(error(3, [](Orthotropic& o) { o.young_moduli[1] = 0; }),
                    "wood: Young's modulus 0 of an orthotropic material is not a positive number");
    expect_contains(error(3, [](Orthotropic& o) { o.shear_moduli[2] = -1; }),
                    "wood: the shear modulus -1 of an orthotropic material");
    // nu12^2 < E1 / E2: 3.46; larger ones than 1/2 are allowed.
    EXPECT_EQ(error(3, [](Orthotropic& o) { o.poisson_ratios[0] = 2; }), "accepted");
    expect_contains(error(3, [](Orthotropic& o) { o.poisson_ratios[0] = 3.5; }),
                    "leave a strain without energy: nu12^2 E2 / E1");
    expect_contains(error(3,
                          [](Orthotropic& o) {
                              o.poisson_ratios = {2.5, 0.9, 2};
                          }),
                    "leave a strain without energy");
    expect_contains(error(3, [](Orthotropic& o) { o.direction = {0, 0, 0}; }), "has no length");
    expect_contains(error(3,
                          [](Orthotropic& o) {
                              o.second_direction = {-2, 0, 0};
                          }),
                    "the directions 1 and 2 of an orthotropic material are parallel");
    expect_contains(error(2,
                          [](Orthotropic& o) {
                              o.direction = {1, 0, 0.1};
                          }),
                    "one direction of an orthotropic material must be along z");
    EXPECT_EQ(error(2, [](Orthotropic& o) { o.direction = {0, 0, 1}; }), "accepted");
}

}  // namespace
}  // namespace tessera
