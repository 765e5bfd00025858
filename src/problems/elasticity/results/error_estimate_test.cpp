#include "problems/elasticity/elasticity_test.hpp"

namespace tessera {
namespace {

using elasticity::Model;
using elasticity::Vector;

/// Displacements of all nodes.
std::vector<double> displacements(const Mesh& mesh, const elasticity::Field& field) {
    std::vector<double> u;
    for (Index node = 0; node < mesh.node_count(); ++node) {
        Vector x{};
        for (int i = 0; i < mesh.dimensions; ++i) {
            x[std::size_t(i)] = mesh.points[std::size_t(node) * mesh.dimensions + i];
        }
        const Vector value = field(x);
        u.insert(u.end(), value.begin(), value.begin() + mesh.dimensions);
    }
    return u;
}

/// Strains that elements represent have no error: constant ones, with a jump between materials, and
/// linear ones in elements of second order, whose patches fit them where there are enough elements.
TEST(error_estimate, exact_solutions_have_none) {
    for (const CellShape shape : test::all_element_shapes) {
        SCOPED_TRACE(to_string(shape));
        const bool first = is_first_order(shape);
        Model model;
        model.mesh = test::unit_mesh(shape, 4, first ? 0.5 : 0);
        const auto bent = [&](const Vector& x) {
            const double square = first ? 0 : 1;
            return Vector{0.3 * x[0] - 0.1 * x[1] + square * x[0] * x[1],
                          0.2 * x[1] + square * (x[1] * x[1] - x[0] * x[2]),
                          0.1 * x[2] + square * x[2] * x[0]};
        };
        auto estimate =
            elasticity::estimate_error(test::host(), model, displacements(model.mesh, bent));
        EXPECT_LT(estimate.relative, 1e-7);  // The regularisation is 1e-9.

        if (first_order(shape) == CellShape::pyramid) continue;
        model.mesh = test::unit_mesh(shape, 4, 0);
        model.mesh.region_names = {"soft", "hard"};
        const elasticity::Elements elements(model.mesh);
        for (Index element = 0; element < elements.count(); ++element) {
            double middle = 0;
            for (const Index node : elements.nodes(element)) {
                middle += model.mesh.points[std::size_t(node) * model.mesh.dimensions];
            }
            model.mesh.regions.push_back(middle > 0.5 * double(elements.nodes(element).size()));
        }
        model.materials = {{"soft", {1, 0}}, {"hard", {10, 0}}};
        const auto pulled = [](const Vector& x) {
            return Vector{x[0] < 0.5 ? x[0] : 0.5 + 0.1 * (x[0] - 0.5), 0, 0};
        };
        estimate =
            elasticity::estimate_error(test::host(), model, displacements(model.mesh, pulled));
        EXPECT_LT(estimate.relative, 1e-7);
        model.materials["hard"] = model.materials["soft"];  // Then the jump is an error.
        estimate =
            elasticity::estimate_error(test::host(), model, displacements(model.mesh, pulled));
        EXPECT_GT(estimate.relative, 0.04);
    }
}

TEST(error_estimate, parts_of_elements_add_up_on_any_number_of_threads) {
    for (const CellShape shape : {CellShape::tetrahedron10, CellShape::quadrilateral}) {
        Model model;
        model.mesh = test::unit_mesh(shape, 3, 0.5);
        const auto twisted = [](const Vector& x) {
            return Vector{x[1] * x[1] * x[1], std::sin(x[0]), x[0] * x[1]};
        };
        const auto u = displacements(model.mesh, twisted);
        const auto one = elasticity::estimate_error(Context::cpu(1), model, u);
        const auto three = elasticity::estimate_error(Context::cpu(3), model, u);
        EXPECT_EQ(one.elements, three.elements);
        double squares = 0;
        for (const double part : one.elements) squares += part * part;
        EXPECT_NEAR(std::sqrt(squares), one.relative, 1e-12);
        EXPECT_GT(one.relative, 0.001);
    }
}

TEST(error_estimate, nothing_moves) {
    Model model;
    model.mesh = test::unit_mesh(CellShape::triangle, 2, 0);
    const std::vector<double> u(model.mesh.points.size(), 0);
    EXPECT_EQ(elasticity::estimate_error(test::host(), model, u).relative, 0);
    const auto shifted = displacements(model.mesh, [](const Vector& x) {
        return Vector{0.1 + 1e-9 * x[1], -1e-9 * x[0], 0};  // A small rotation, too.
    });
    EXPECT_EQ(elasticity::estimate_error(test::host(), model, shifted).relative, 0);
}

}  // namespace
}  // namespace tessera
