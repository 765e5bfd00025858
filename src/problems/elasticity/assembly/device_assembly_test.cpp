#include "base/find_csr_entry.hpp"
#include "problems/elasticity/elasticity_test.hpp"

/// Matrices that the tested Context assembles, beside those of one thread of the CPU.
namespace tessera {
namespace {

using elasticity::Formulation;
using elasticity::Model;
using elasticity::PlaneKind;
using elasticity::System;

/// A distorted block that stands on its left side and whose right side is moved; another law right
/// of the middle.
Model moved_block(CellShape shape) {
    Model model;
    model.mesh = test::unit_mesh(shape, 3, 0.5);
    const int d = model.mesh.dimensions;
    model.material = {2, 0.35, 3, {}, {1e-3, 1e-3, 1e-3}};
    model.temperature = 10;
    model.materials["soft"] = {0.5, 0.2};
    model.mesh.region_names = {"body", "soft"};
    const elasticity::Elements elements(model.mesh);
    for (Index element = 0; element < elements.count(); ++element) {
        const Index node = elements.nodes(element)[0];
        model.mesh.regions.push_back(test::point(model.mesh, node)[0] > 0.5 ? 1 : 0);
    }
    model.gravity = {0, -1, 0};
    model.fixed_supports = {{"left", {true, true, d == 3}},
                            {"right", {true, false, false}, elasticity::constant({0.1, 0, 0})}};
    return model;
}

Index count_asymmetric(const CsrView<double>& a) {
    Index count = 0;
    for (Index i = 0; i < a.rows; ++i) {
        for (Offset k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) {
            count += a.values[find_csr_entry(a, a.column_indices[k], i)] != a.values[k];
        }
    }
    return count;
}

/// The pattern and the load are the same; so are values but for rounding errors.
void expect_same_system(const Model& model, Index cells = 3, double jitter = 0.5) {
    const System expected = elasticity::assemble(test::host(1), model);
    const Context context = test::context();
    const System found = elasticity::assemble(context, model);
    const CsrMatrix<double> matrix = copy_to_host(context, found.matrix.view());
    ASSERT_EQ(copy_to_host(context, found.matrix.row_offsets()),
              copy_to_host(test::host(1), expected.matrix.row_offsets()));
    ASSERT_EQ(copy_to_host(context, found.matrix.column_indices()),
              copy_to_host(test::host(1), expected.matrix.column_indices()));
    EXPECT_EQ(found.load, expected.load);
    EXPECT_EQ(found.unknowns, expected.unknowns);
    const CsrView<double> a = matrix.view(), b = expected.matrix.view();
    const double bound = 2 * test::entry_bound(b, 2 * cells, jitter);
    double largest = 0;
    for (Offset k = 0; k < a.nonzeros; ++k) {
        const double error = std::abs(a.values[k] - b.values[k]);
        if (!(error <= largest)) largest = error;
    }
    EXPECT_LE(largest, bound);
    EXPECT_EQ(count_asymmetric(a), 0);
    const System again = elasticity::assemble(context, model);
    EXPECT_EQ(copy_to_host(context, again.matrix.values()),
              copy_to_host(context, found.matrix.values()));
}

TEST(device_assembly, all_elements) {
    for (const CellShape shape : test::all_element_shapes) {
        SCOPED_TRACE(to_string(shape));
        Model model = moved_block(shape);
        expect_same_system(model);
        if (!is_first_order(shape)) continue;
        model.formulation = Formulation::full_integration;
        expect_same_system(model);
    }
}

TEST(device_assembly, plane_models) {
    for (const CellShape shape : test::all_element_shapes) {
        if (dimensions(shape) != 2) continue;
        SCOPED_TRACE(to_string(shape));
        Model model = moved_block(shape);
        model.thickness = 0.3;
        expect_same_system(model);
        model.plane = PlaneKind::strain;
        expect_same_system(model);
        model.thickness = 1;
        model.plane = PlaneKind::axisymmetric;
        model.fixed_supports[0].components = {false, true, false};
        expect_same_system(model);
    }
}

/// Elements that the host adds: at springs, on inclined supports and in equations.
TEST(device_assembly, elements_of_the_host) {
    for (const CellShape shape : {CellShape::quadrilateral8, CellShape::hexahedron}) {
        SCOPED_TRACE(to_string(shape));
        Model model = moved_block(shape);
        model.springs = {{"top", {1, 2, 0}}};
        expect_same_system(model);
        model.springs.clear();
        const std::vector<Index>& top = model.mesh.group("top").cells[0].nodes;
        model.equations = {{"lever", {{top[0], 1, 1}, {top[1], 1, -2}}, 0.05}};
        expect_same_system(model);
        model.equations.clear();
        elasticity::FixedSupport slide{"bottom"};
        slide.normal = true;
        model.fixed_supports.push_back(slide);
        expect_same_system(model);
    }
}

/// Quadrilaterals, every second one of which is cut into two triangles.
TEST(device_assembly, elements_of_two_shapes) {
    Model model;
    model.mesh = test::unit_mesh(CellShape::quadrilateral, 6, 0.5);
    const std::vector<Index> old = std::move(model.mesh.elements[0].nodes);
    std::vector<Index> quadrilaterals, triangles;
    for (std::size_t at = 0; at < old.size(); at += 4) {
        const Index* const k = &old[at];
        if (at % 8 == 0) {
            quadrilaterals.insert(quadrilaterals.end(), k, k + 4);
        } else {
            triangles.insert(triangles.end(), {k[0], k[1], k[2], k[0], k[2], k[3]});
        }
    }
    model.mesh.elements = {{CellShape::triangle, triangles},
                           {CellShape::quadrilateral, quadrilaterals}};
    model.material = {2, 0.35};
    model.fixed_supports = {{"left", {true, true, false}}};
    model.forces = {{"right", {0, 1, 0}}};
    expect_same_system(model, 6);
}

/// More elements than are added together, and a model without unknowns.
TEST(device_assembly, many_elements_and_none) {
    Model model;
    model.mesh = test::unit_mesh(CellShape::hexahedron, 40, 0.2);
    model.material = {2, 0.35};
    model.fixed_supports = {{"left", {true, true, true}}};
    model.forces = {{"right", {0, 1, 0}}};
    expect_same_system(model, 40, 0.2);
    model.mesh = test::unit_mesh(CellShape::hexahedron, 1, 0);
    model.fixed_supports.push_back({"right", {true, true, true}});
    expect_same_system(model);
}

}  // namespace
}  // namespace tessera
