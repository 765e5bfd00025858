#include <algorithm>
#include <cmath>

#include "support/messages.hpp"
#include "tessera/elasticity.hpp"
#include "tessera/problems.hpp"

// Options of generated problems that change coefficients and shapes of cells.
namespace tessera::test {

namespace {

CsrMatrix<double> matrix_of(const std::string& text) {
    return problems::generate<double>(host(), Spec(text)).matrix;
}

/// The system of a body clamped on the left and pulled down on the right.
CsrMatrix<double> assembled(Mesh mesh, double poisson_ratio) {
    elasticity::Model model;
    model.mesh = std::move(mesh);
    model.material.poisson_ratio = poisson_ratio;
    model.formulation = elasticity::Formulation::full_integration;
    model.fixed_supports.push_back({"left"});
    return elasticity::assemble(host(), model).matrix;
}

/// Equal patterns, and values that differ by rounding of about 100 operations at most.
void expect_close(const CsrMatrix<double>& found, const CsrMatrix<double>& expected) {
    ASSERT_EQ(found.rows(), expected.rows());
    ASSERT_EQ(found.nonzeros(), expected.nonzeros());
    const CsrView<double> a = found.view(), b = expected.view();
    const double largest = std::ranges::max(b.values_span());
    for (Offset k = 0; k < a.nonzeros; ++k) {
        ASSERT_EQ(a.column_indices[k], b.column_indices[k]);
        ASSERT_NEAR(a.values[k], b.values[k], gamma<double>(100) * largest) << k;
    }
}

}  // namespace

TEST(materials, poisson_ratio_of_elasticity) {
    for (const double ratio : {0.0, 0.45, -0.2}) {
        const std::string option = ",poisson=" + std::to_string(ratio);
        expect_close(matrix_of("elasticity2d:4" + option),
                     assembled(meshes::rectangle(CellShape::quadrilateral, 4, 4), ratio));
        expect_close(matrix_of("elasticity3d:3" + option),
                     assembled(meshes::box(CellShape::hexahedron, 3, 3, 3), ratio));
        expect_close(matrix_of("elasticity3d:2,element=tet4" + option),
                     assembled(meshes::box(CellShape::tetrahedron, 2, 2, 2), ratio));
    }
}

TEST(materials, stretched_cells) {
    expect_close(
        matrix_of("elasticity2d:4,stretch=2:0.25"),
        assembled(meshes::rectangle(CellShape::quadrilateral, 4, 4, {.lengths = {2, 0.25, 1}}),
                  0.3));
    expect_close(
        matrix_of("elasticity3d:3,stretch=1:1:10"),
        assembled(meshes::box(CellShape::hexahedron, 3, 3, 3, {.lengths = {1, 1, 10}}), 0.3));
    expect_close(
        matrix_of("cantilever3d:2,length=3,stretch=5:1:1"),
        assembled(meshes::box(CellShape::hexahedron, 6, 2, 2, {.lengths = {15, 1, 1}}), 0.3));
    for (const char* wrong :
         {"1:1", "1:1:1:1", "1:x:1", "1:1:0", "1:1:-2", "1:1:2e6", "", "1::1"}) {
        const std::string text = std::string("elasticity3d:3,stretch=") + wrong;
        expect_contains(message_of([&] { matrix_of(text); }),
                        *wrong == '\0' ? "stretch" : "stretch needs 3 numbers from 1e-6 to 1e6");
    }
}

/// The matrix is that of the near half and `contrast` times that of the far one.
TEST(materials, contrast_of_two_halves) {
    for (const std::string name :
         {"elasticity2d:4", "elasticity3d:4,element=tet4", "cantilever3d:2"}) {
        SCOPED_TRACE(name);
        const auto one = matrix_of(name + (name == "cantilever3d:2" ? ",jitter=0" : ",contrast=1"));
        const auto three = matrix_of(name + ",contrast=3"), nine = matrix_of(name + ",contrast=9");
        ASSERT_EQ(three.nonzeros(), one.nonzeros());
        ASSERT_EQ(nine.nonzeros(), one.nonzeros());
        const CsrView<double> a = one.view(), b = three.view(), c = nine.view();
        const double largest = std::ranges::max(c.values_span());
        Offset unchanged = 0, tripled = 0;
        for (Offset k = 0; k < a.nonzeros; ++k) {
            const double far = (b.values[k] - a.values[k]) / 2;
            ASSERT_NEAR(c.values[k], a.values[k] + 8 * far, gamma<double>(100) * largest) << k;
            if (std::abs(a.values[k]) < 1e-3) continue;
            unchanged += std::abs(far) <= 1e-12;
            tripled += std::abs(far - a.values[k]) <= 1e-12;
        }
        EXPECT_GT(unchanged, a.nonzeros / 16);
        EXPECT_GT(tripled, a.nonzeros / 16);
    }
}

TEST(materials, diffusion) {
    const auto poisson = matrix_of("poisson3d:6"), plain = matrix_of("diffusion3d:6");
    EXPECT_TRUE(std::ranges::equal(poisson.view().values_span(), plain.view().values_span()));
    EXPECT_TRUE(std::ranges::equal(poisson.view().column_indices_span(),
                                   plain.view().column_indices_span()));
    const Index n = 8;  // Cubes of two points along each axis.
    const double contrast = 100, along_last = 0.01;
    const auto matrix = matrix_of("diffusion3d:8,checkerboard=100,anisotropy=0.01");
    const CsrView<double> a = matrix.view();
    const auto coefficient = [&](Index i) {
        return (i / n / n / 2 + i / n % n / 2 + i % n / 2) % 2 == 0 ? 1 : contrast;
    };
    for (Index i = 0; i < a.rows; ++i) {
        double diagonal = 0, sum = 0;
        int neighbours_along_last = 0, neighbours = 0;
        for (Offset k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) {
            const Index j = a.column_indices[k];
            sum += a.values[k];
            if (j == i) {
                diagonal = a.values[k];
                continue;
            }
            ++neighbours;
            const bool last = std::abs(j - i) == 1;
            neighbours_along_last += last;
            const double mean =
                2 * coefficient(i) * coefficient(j) / (coefficient(i) + coefficient(j));
            EXPECT_NEAR(a.values[k], -(last ? along_last : 1) * mean, gamma<double>(8) * mean);
        }
        const double boundary = coefficient(i) * ((4 - (neighbours - neighbours_along_last)) +
                                                  along_last * (2 - neighbours_along_last));
        EXPECT_NEAR(sum, boundary, gamma<double>(30) * diagonal) << i;
    }
}

}  // namespace tessera::test
