#include <cstring>

#include "problems/elasticity/elasticity_test.hpp"

namespace tessera {
namespace {

using elasticity::Model;
using elasticity::System;
using elasticity::Vector;
using Matrix = std::array<Vector, 3>;

/// u = shift + G x.
struct LinearField {
    Vector shift{};
    Matrix gradient{};

    Vector operator()(const Vector& x) const {
        Vector u = shift;
        for (int i = 0; i < 3; ++i) {
            for (int j = 0; j < 3; ++j) u[i] += gradient[i][j] * x[j];
        }
        return u;
    }
};

LinearField random_field(int dimensions) {
    auto random = test::generator();
    const std::vector<double> numbers = test::random_vector<double>(random, 12);
    LinearField field;
    for (int i = 0; i < dimensions; ++i) {
        field.shift[i] = numbers[i];
        for (int j = 0; j < dimensions; ++j) field.gradient[i][j] = numbers[3 + 3 * i + j];
    }
    return field;
}

Model model_of(CellShape shape, Index cells, double jitter) {
    Model model;
    model.mesh = test::unit_mesh(shape, cells, jitter);
    model.material = {2, 0.35};
    return model;
}

/// A linear displacement on the boundary is the solution inside: the residual of the exact one is
/// rounding, and so is, by the inverse, the distance of the computed solution.
TEST(assembly, patch_test) {
    for (const CellShape shape : test::element_shapes) {
        SCOPED_TRACE(to_string(shape));
        const Index cells = 4;
        const double jitter = 0.5;
        Model model = model_of(shape, cells, jitter);
        const int d = model.mesh.dimensions;
        const LinearField field = random_field(d);
        for (const std::string& side : test::side_names(d))
            model.fixed_supports.push_back({side, {1, 1, 1}, field});
        const System system = elasticity::assemble(test::host(), model);
        EXPECT_FALSE(system.known_singular);
        EXPECT_EQ(system.natural_block, d);
        const auto a = system.matrix.view();
        ASSERT_EQ(a.rows, d * Index(std::pow(cells - 1, d)));

        std::vector<double> exact(a.rows);
        double largest = 0;
        for (Index node = 0; node < model.mesh.node_count(); ++node) {
            const Vector u = field(test::point(model.mesh, node));
            for (int i = 0; i < d; ++i) {
                largest = std::max(largest, std::abs(u[i]));
                const Index row = system.unknowns[node * d + i];
                if (row >= 0) exact[row] = u[i];
                EXPECT_EQ(system.prescribed[node * d + i], row >= 0 ? 0 : u[i]);
            }
        }
        const double residual_bound = test::residual_bound(a, cells, jitter, d, largest);
        for (Index i = 0; i < a.rows; ++i) {
            ASSERT_NEAR(test::row_product(a, exact, i).first, system.load[i], residual_bound);
        }
        const auto [solution, solution_bound] = test::solve_by_inverse(system, residual_bound);
        for (Index i = 0; i < a.rows; ++i) ASSERT_NEAR(solution[i], exact[i], solution_bound);

        // Constant stress: gradients are at most cells / (1 - jitter), of at most 8 corners.
        const std::vector<double> all = system.displacements(solution);
        const std::vector<double> stresses = elasticity::element_stresses(test::host(), model, all);
        const double lambda = 2 * 0.35 / (d == 2 ? 1 - 0.35 * 0.35 : 1.35 * 0.3);
        const double mu = 2 / (2 * 1.35);
        const double slope = 8 * double(cells) / (1 - jitter);
        const double strain_bound =
            slope * (solution_bound + test::gamma<double>(60 * slope) * largest);
        const double stress_bound = (2 * mu + d * lambda) * strain_bound;
        double trace = 0;
        for (int i = 0; i < d; ++i) trace += field.gradient[i][i];
        const std::size_t components = std::size_t(elasticity::tensor_components);
        for (std::size_t k = 0; k < stresses.size(); ++k) {
            const int i = test::tensor_rows[k % components];
            const int j = test::tensor_columns[k % components];
            const double expected = d == 2 && j == 2  // Plane stress.
                                        ? 0
                                        : mu * (field.gradient[i][j] + field.gradient[j][i]) +
                                              (i == j ? lambda * trace : 0);
            ASSERT_NEAR(stresses[k], expected, stress_bound);
        }
        // The bound is of the size of rounding errors: a wrong element causes errors of about 1.
        EXPECT_LT(stress_bound, 1e-6);
    }
}

TEST(assembly, rigid_motions_need_no_force) {
    for (const CellShape shape : test::element_shapes) {
        SCOPED_TRACE(to_string(shape));
        const Index cells = 5;
        const double jitter = 0.7;
        const Model model = model_of(shape, cells, jitter);
        const int d = model.mesh.dimensions;
        const System system = elasticity::assemble(test::host(), model);
        EXPECT_TRUE(system.known_singular);
        const auto a = system.matrix.view();
        ASSERT_EQ(a.rows, model.mesh.node_count() * d);
        const double unit = test::entry_bound(a, cells, jitter) +
                            test::gamma<double>(27 * d) * test::largest_value(a);
        const auto expect_null = [&](const LinearField& field) {
            std::vector<double> u;
            for (Index node = 0; node < model.mesh.node_count(); ++node) {
                const Vector at = field(test::point(model.mesh, node));
                u.insert(u.end(), at.begin(), at.begin() + d);
            }
            for (Index i = 0; i < a.rows; ++i) {
                const auto [product, magnitude] = test::row_product(a, u, i);
                ASSERT_LE(std::abs(product), unit * magnitude);
            }
        };
        for (int i = 0; i < d; ++i) {
            LinearField motion;
            motion.shift[i] = 1;
            expect_null(motion);
            for (int j = 0; j < i; ++j) {
                motion = {};
                motion.gradient[i][j] = 1;
                motion.gradient[j][i] = -1;
                expect_null(motion);
            }
        }
    }
}

TEST(assembly, symmetric_in_every_bit) {
    for (const CellShape shape : test::element_shapes) {
        SCOPED_TRACE(to_string(shape));
        Model model = model_of(shape, 5, 0.8);
        model.fixed_supports.push_back({"left", {true, false, true}});
        const System system = elasticity::assemble(test::host(), model);
        const auto a = system.matrix.view();
        EXPECT_NO_THROW(validate(a));
        for (Index i = 0; i < a.rows; ++i) {
            for (Offset k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) {
                const Index j = a.column_indices[k];
                const Index* end = a.column_indices + a.row_offsets[j + 1];
                const Index* mirrored =
                    std::lower_bound(a.column_indices + a.row_offsets[j], end, i);
                ASSERT_TRUE(mirrored != end && *mirrored == i) << i << ", " << j;
                ASSERT_EQ(a.values[mirrored - a.column_indices], a.values[k]) << i << ", " << j;
            }
        }
    }
}

template <class T>
bool same_bits(std::span<const T> a, std::span<const T> b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

TEST(assembly, equal_for_every_number_of_threads) {
    for (const CellShape shape : test::element_shapes) {
        SCOPED_TRACE(to_string(shape));
        Model model = model_of(shape, dimensions(shape) == 2 ? 60 : 15, 0.8);
        model.fixed_supports.push_back({"left"});
        model.tractions.push_back({"right", elasticity::constant({1, 2, 3})});
        model.body_force = [](const Vector& x) { return Vector{x[1], x[0] * x[1], 1}; };
        const auto results = [&](int threads) {
            const Context cpu = test::host(threads);
            System system = elasticity::assemble(cpu, model);
            std::vector<double> u = system.displacements(system.load);
            std::vector<double> numbers = system.load;
            const std::vector<double> stresses = elasticity::element_stresses(cpu, model, u);
            const std::vector<double> means =
                elasticity::node_means(cpu, model.mesh, stresses, elasticity::tensor_components);
            for (const auto& more : {stresses, means}) {
                numbers.insert(numbers.end(), more.begin(), more.end());
            }
            numbers.push_back(elasticity::strain_energy(cpu, model, u));
            return std::pair(std::move(system), std::move(numbers));
        };
        const auto [one, numbers] = results(1);
        for (const int threads : {2, 5}) {
            const auto [other, more] = results(threads);
            const auto a = one.matrix.view();
            const auto b = other.matrix.view();
            EXPECT_TRUE(same_bits(a.row_offsets_span(), b.row_offsets_span()));
            EXPECT_TRUE(same_bits(a.column_indices_span(), b.column_indices_span()));
            EXPECT_TRUE(same_bits(a.values_span(), b.values_span()));
            EXPECT_TRUE(same_bits(std::span<const double>(numbers), std::span<const double>(more)));
        }
    }
}

TEST(assembly, uniform_grids_are_those_of_the_generator) {
    for (const CellShape shape : {CellShape::quadrilateral, CellShape::hexahedron}) {
        for (const bool free : {false, true}) {
            const int d = dimensions(shape);
            const Index cells = d == 2 ? 9 : 5;
            Model model;
            model.formulation = elasticity::Formulation::full_integration;
            model.mesh = test::unit_mesh(shape, cells, 0);
            if (!free) {
                model.fixed_supports.push_back({"left"});
                model.tractions.push_back({"right", elasticity::constant({0, -1, 0})});
            }
            const System system = elasticity::assemble(test::host(), model);
            const auto expected = problems::generate<double>(
                test::host(), Spec("elasticity" + std::to_string(d) + "d:" + std::to_string(cells) +
                                   (free ? ",free" : "")));
            const auto a = system.matrix.view();
            const auto b = expected.matrix.view();
            ASSERT_TRUE(same_bits(a.row_offsets_span(), b.row_offsets_span()));
            ASSERT_TRUE(same_bits(a.column_indices_span(), b.column_indices_span()));
            const double bound = test::entry_bound(a, cells, 0);
            for (Offset k = 0; k < a.nonzeros; ++k) ASSERT_NEAR(a.values[k], b.values[k], bound);
            EXPECT_EQ(system.known_singular, expected.known_singular);
            EXPECT_EQ(system.natural_block, expected.natural_block);
            for (std::size_t k = 0; k < expected.load.size(); ++k) {
                ASSERT_NEAR(system.load[k], expected.load[k], test::gamma<double>(64 * cells));
            }
        }
    }
}

TEST(assembly, loads_sum_to_force_times_area_or_volume) {
    for (const CellShape shape : test::element_shapes) {
        SCOPED_TRACE(to_string(shape));
        meshes::GridOptions options;
        options.lengths = {2, 3, 0.5};
        options.gradings = {2, 0.3, 4};
        options.jitter = 0.6;
        Model model;
        model.mesh = dimensions(shape) == 2 ? meshes::rectangle(shape, 6, 5, options)
                                            : meshes::box(shape, 4, 5, 3, options);
        const int d = model.mesh.dimensions;
        const Vector force{1, -2, 0.5};
        const auto expect_total = [&](double size) {
            const System system = elasticity::assemble(test::host(), model);
            Vector total{};
            Vector magnitude{};
            for (std::size_t k = 0; k < system.load.size(); ++k) {
                total[k % d] += system.load[k];
                magnitude[k % d] += std::abs(system.load[k]);
            }
            // Cells are at least a fifteenth of a side: edges lose 15 units, in up to 3 factors.
            const double unit = test::gamma<double>(3 * 60 * 15 + double(system.load.size()));
            for (int i = 0; i < d; ++i) {
                EXPECT_NEAR(total[i], force[i] * size, unit * magnitude[i]);
            }
        };
        model.tractions.push_back({"top", elasticity::constant(force)});
        expect_total(d == 2 ? 2 : 1);
        model.tractions.push_back({"left", elasticity::constant(force)});
        expect_total(d == 2 ? 2 + 3 : 1 + 1.5);
        model.tractions.clear();
        model.body_force = elasticity::constant(force);
        expect_total(d == 2 ? 6 : 3);
    }
}

TEST(assembly, holds_are_by_component_and_the_later_one_counts) {
    Model model = model_of(CellShape::quadrilateral, 3, 0);
    model.fixed_supports.push_back({"left", {true, false, false}, elasticity::constant({1, 7, 0})});
    model.fixed_supports.push_back(
        {"bottom", {false, true, false}, elasticity::constant({7, 2, 0})});
    System system = elasticity::assemble(test::host(), model);
    EXPECT_FALSE(system.known_singular);
    EXPECT_EQ(system.natural_block, 1);
    EXPECT_EQ(system.matrix.rows(), 2 * 16 - 4 - 4);
    EXPECT_EQ(system.unknowns[0], -1);  // node 0 is the corner of both
    EXPECT_EQ(system.prescribed[0], 1);
    EXPECT_EQ(system.prescribed[1], 2);
    EXPECT_EQ(system.unknowns[2], -1);  // node 1 is on the left only
    EXPECT_EQ(system.unknowns[3], 0);
    EXPECT_EQ(system.prescribed[3], 0);

    model.fixed_supports.push_back({"left", {true, true, false}, elasticity::constant({3, 4, 0})});
    system = elasticity::assemble(test::host(), model);
    EXPECT_EQ(system.prescribed[0], 3);
    EXPECT_EQ(system.prescribed[1], 4);
    EXPECT_THROW(system.displacements(std::vector<double>(3)), InvalidArgument);
}

TEST(assembly, everything_held_leaves_an_empty_system) {
    Model model = model_of(CellShape::triangle, 1, 0);
    model.fixed_supports = {{"left"}, {"right", {1, 1, 1}, elasticity::constant({1, 0, 0})}};
    const System system = elasticity::assemble(test::host(), model);
    EXPECT_EQ(system.matrix.rows(), 0);
    EXPECT_FALSE(system.known_singular);
    EXPECT_EQ(system.displacements({}), system.prescribed);
}

TEST(assembly, nodes_of_no_element_have_no_unknowns) {
    Model model = model_of(CellShape::tetrahedron, 2, 0.5);
    model.fixed_supports.push_back({"left"});
    const System without = elasticity::assemble(test::host(), model);
    model.mesh.points.insert(model.mesh.points.end(), {9, 9, 9});
    const System with = elasticity::assemble(test::host(), model);
    EXPECT_EQ(with.matrix.rows(), without.matrix.rows());
    EXPECT_FALSE(with.known_singular);
    EXPECT_EQ(with.unknowns.back(), -1);
    EXPECT_EQ(with.displacements(with.load).back(), 0);
}

TEST(assembly, rigid_motions_that_are_left_are_seen) {
    const auto singular = [](CellShape shape,
                             const std::vector<elasticity::FixedSupport>& supports) {
        Model model = model_of(shape, 3, 0.5);
        model.fixed_supports = supports;
        return elasticity::assemble(test::host(), model).known_singular;
    };
    const std::array<bool, 3> x{1, 0, 0}, y{0, 1, 0}, z{0, 0, 1};
    for (const CellShape shape : test::element_shapes) {
        EXPECT_TRUE(singular(shape, {}));
        EXPECT_FALSE(singular(shape, {{"top"}}));
        EXPECT_TRUE(singular(shape, {{"left", x}}));
        EXPECT_TRUE(singular(shape, {{"left", x}, {"right", x}}));
        EXPECT_EQ(singular(shape, {{"left", x}, {"bottom", y}}), dimensions(shape) == 3);
    }
    EXPECT_FALSE(singular(CellShape::hexahedron, {{"left", x}, {"bottom", y}, {"front", z}}));
    // Prescribing z on a whole side prevents the rotations about x and y as well.
    EXPECT_TRUE(singular(CellShape::tetrahedron, {{"back", z}, {"left", y}}));

    // One point prevents no rotation.
    Model model = model_of(CellShape::quadrilateral, 3, 0);
    model.mesh.groups.push_back({"corner", 0, {{CellShape::point, {0}}}});
    model.fixed_supports = {{"corner"}};
    EXPECT_TRUE(elasticity::assemble(test::host(), model).known_singular);
    // A second part without supports.
    model.fixed_supports = {{"left"}};
    EXPECT_FALSE(elasticity::assemble(test::host(), model).known_singular);
    const Index first = model.mesh.node_count();
    model.mesh.points.insert(model.mesh.points.end(), {5, 0, 6, 0, 5, 1});
    model.mesh.elements.push_back({CellShape::triangle, {first, first + 1, first + 2}});
    EXPECT_TRUE(elasticity::assemble(test::host(), model).known_singular);
    model.mesh.groups[4].cells[0].nodes = {first, first + 1};
    model.fixed_supports.push_back({"corner"});
    EXPECT_FALSE(elasticity::assemble(test::host(), model).known_singular);
}

}  // namespace
}  // namespace tessera
