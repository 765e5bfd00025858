#include <cmath>

#include "problems/elasticity/elasticity_test.hpp"
#include "problems/elasticity/elements/element_stiffness.hpp"

// The table of elements: shape functions, quadrature rules, faces, and stiffnesses of single ones.

namespace tessera {
namespace {

using elasticity::Formulation;
using elasticity::Model;
using elasticity::Rule;
using elasticity::Vector;

constexpr CellShape loaded_shapes[] = {CellShape::segment,       CellShape::segment3,
                                       CellShape::triangle,      CellShape::triangle6,
                                       CellShape::quadrilateral, CellShape::quadrilateral8,
                                       CellShape::quadrilateral9};

/// f(ShapeTag) for every cell with shape functions.
template <class F>
void each_shape(F&& f) {
    const auto visit = [&](CellShape shape) {
        SCOPED_TRACE(to_string(shape));
        elasticity::select_shape<
            CellShape::segment, CellShape::segment3, CellShape::triangle, CellShape::quadrilateral,
            CellShape::tetrahedron, CellShape::hexahedron, CellShape::prism, CellShape::pyramid,
            CellShape::triangle6, CellShape::quadrilateral8, CellShape::quadrilateral9,
            CellShape::tetrahedron10, CellShape::prism15, CellShape::hexahedron20,
            CellShape::hexahedron27>(shape, f);
    };
    visit(CellShape::segment);
    visit(CellShape::segment3);
    for (const CellShape shape : test::all_element_shapes) visit(shape);
}

template <CellShape S>
elasticity::Reference<S, 1> functions_at(const Vector& point) {
    elasticity::Reference<S, 1> functions;
    functions.set(0, {point, 1});
    return functions;
}

/// Functions of degree at most 4 along each axis, of sums of fewer than 100 products.
const double rounding = test::gamma<double>(1000);

TEST(elements, shape_functions_are_one_at_their_node_alone) {
    each_shape([](auto shape) {
        constexpr CellShape s = decltype(shape)::value;
        for (int node = 0; node < node_count(s); ++node) {
            const auto functions = functions_at<s>(node_point(s, node));
            for (int c = 0; c < node_count(s); ++c) {
                EXPECT_NEAR(functions.values[0][c], c == node ? 1 : 0, rounding) << node;
            }
        }
    });
}

/// They add up to one, and represent linear functions; those of pyramids on the collapsed cube.
TEST(elements, shape_functions_are_a_partition_of_unity) {
    auto random = test::generator();
    each_shape([&](auto shape) {
        constexpr CellShape s = decltype(shape)::value;
        constexpr int d = dimensions(s);
        for (int repeat = 0; repeat < 10; ++repeat) {
            Vector x{};
            const std::vector<double> numbers = test::random_vector<double>(random, d);
            for (int i = 0; i < d; ++i) x[i] = numbers[i];
            const auto functions = functions_at<s>(x);
            const bool pyramid = family(s) == CellFamily::pyramid;
            for (int k = -1; k < d; ++k) {
                double value = 0, slopes[3]{};
                for (int c = 0; c < node_count(s); ++c) {
                    const double at = k < 0 ? 1 : node_point(s, c)[k];
                    value += at * functions.values[0][c];
                    for (int i = 0; i < d; ++i) {
                        slopes[i] += at * functions.derivatives[0][c][i];
                    }
                }
                const bool collapses = pyramid && k >= 0 && k < 2;
                EXPECT_NEAR(value, k < 0 ? 1 : collapses ? x[k] * (1 - x[2]) : x[k], rounding);
                for (int i = 0; i < d; ++i) {
                    const double slope = collapses && i == 2 ? -x[k]
                                         : i == k            ? (collapses ? 1 - x[2] : 1)
                                                             : 0;
                    EXPECT_NEAR(slopes[i], slope, rounding);
                }
            }
        }
    });
}

/// The formula of five points is exact for polynomials of degree 4.
TEST(elements, derivatives_are_those_of_the_shape_functions) {
    auto random = test::generator();
    each_shape([&](auto shape) {
        constexpr CellShape s = decltype(shape)::value;
        constexpr int d = dimensions(s);
        Vector x{};
        const std::vector<double> numbers = test::random_vector<double>(random, d);
        for (int i = 0; i < d; ++i) x[i] = numbers[i];
        const auto functions = functions_at<s>(x);
        for (int i = 0; i < d; ++i) {
            const auto moved = [&](double step) {
                Vector at = x;
                at[i] += step;
                return functions_at<s>(at);
            };
            const auto a = moved(-1), b = moved(-0.5), e = moved(0.5), f = moved(1);
            for (int c = 0; c < node_count(s); ++c) {
                const double slope =
                    (8 * (e.values[0][c] - b.values[0][c]) - (f.values[0][c] - a.values[0][c])) / 6;
                // Functions of at most 3^4 within [-2, 2].
                EXPECT_NEAR(functions.derivatives[0][c][i], slope, 81 * rounding) << c;
            }
        }
    });
}

/// The middle of the nodes' corners on each face is that of the element, and normals point outward.
TEST(elements, faces_have_the_nodes_of_their_shape) {
    for (const CellShape shape : test::all_element_shapes) {
        SCOPED_TRACE(to_string(shape));
        std::vector<int> uses(node_count(shape), 0);
        for (int face = 0; face < face_count(shape); ++face) {
            const CellShape own = face_shape(shape, face);
            EXPECT_EQ(dimensions(own), dimensions(shape) - 1);
            EXPECT_EQ(is_first_order(own), is_first_order(shape));
            for (int k = 0; k < node_count(own); ++k) {
                const int node = face_node(shape, face, k);
                ASSERT_GE(node, 0);
                ++uses[node];
                Vector mean{};
                int count = 0;
                for (int c = 0; c < corners(own); ++c) {
                    if (!(corners_of_node(own, k) >> c & 1)) continue;
                    const auto at = node_point(shape, face_node(shape, face, c));
                    for (int i = 0; i < 3; ++i) mean[i] += at[i];
                    ++count;
                }
                for (int i = 0; i < 3; ++i) {
                    EXPECT_NEAR(mean[i] / count, node_point(shape, node)[i], rounding);
                }
            }
        }
        const int inner = has_centres(shape) ? 1 : 0;
        EXPECT_EQ(std::count(uses.begin(), uses.end(), 0), inner);
    }
}

/// Gauss rules integrate monomials of the reference cells.
TEST(elements, rules_are_exact_to_their_degree) {
    const auto integral = [](CellShape shape, const std::array<int, 3>& powers) {
        double sum = 0;
        for (int p = 0; p < elasticity::point_count(shape); ++p) {
            const auto [at, weight] = elasticity::rule_point(shape, Rule::stiffness, p);
            sum += weight * std::pow(at[0], powers[0]) * std::pow(at[1], powers[1]) *
                   std::pow(at[2], powers[2]);
        }
        return sum;
    };
    const double unit = test::gamma<double>(200);
    for (const CellShape shape : {CellShape::triangle6, CellShape::tetrahedron10}) {
        const bool plane = dimensions(shape) == 2;  // i! j! k! / (i + j + k + d)!
        EXPECT_NEAR(integral(shape, {0, 0, 0}), plane ? 1. / 2 : 1. / 6, unit);
        EXPECT_NEAR(integral(shape, {1, 0, 0}), plane ? 1. / 6 : 1. / 24, unit);
        EXPECT_NEAR(integral(shape, {2, 0, 0}), plane ? 1. / 12 : 1. / 60, unit);
        EXPECT_NEAR(integral(shape, {1, 1, 0}), plane ? 1. / 24 : 1. / 120, unit);
    }
    EXPECT_NEAR(integral(CellShape::hexahedron, {2, 2, 2}), 8. / 27, unit);
    EXPECT_NEAR(integral(CellShape::hexahedron20, {4, 4, 4}), 8. / 125, unit);
    EXPECT_NEAR(integral(CellShape::quadrilateral9, {4, 2, 0}), 4. / 15, unit);
    EXPECT_NEAR(integral(CellShape::prism, {2, 0, 2}), 1. / 18, unit);
    EXPECT_NEAR(integral(CellShape::prism15, {1, 1, 4}), 1. / 60, unit);
    EXPECT_NEAR(integral(CellShape::pyramid, {2, 2, 3}), 4. / 36, unit);
}

/// The number of singular values of a symmetric matrix that are not rounding errors, by Gauss
/// elimination with complete pivoting.
int rank_of(std::vector<std::vector<double>> a) {
    const std::size_t n = a.size();
    double largest = 0;
    for (std::size_t k = 0; k < n; ++k) {
        std::size_t row = k, column = k;
        for (std::size_t i = k; i < n; ++i) {
            for (std::size_t j = k; j < n; ++j) {
                if (std::abs(a[i][j]) > std::abs(a[row][column])) row = i, column = j;
            }
        }
        if (k == 0) largest = std::abs(a[row][column]);
        if (std::abs(a[row][column]) < test::gamma<double>(double(n * n)) * largest) return int(k);
        std::swap(a[k], a[row]);
        for (auto& other : a) std::swap(other[k], other[column]);
        for (std::size_t i = k + 1; i < n; ++i) {
            const double factor = a[i][k] / a[k][k];
            for (std::size_t j = k; j < n; ++j) a[i][j] -= factor * a[k][j];
        }
    }
    return int(n);
}

/// A single element deforms without strain only in rigid motions: no spurious modes.
TEST(elements, rigid_motions_alone_need_no_force) {
    for (const CellShape shape : test::all_element_shapes) {
        for (const Formulation formulation :
             {Formulation::incompatible_modes, Formulation::full_integration}) {
            SCOPED_TRACE(to_string(shape));
            const int d = dimensions(shape);
            Model model;
            model.formulation = formulation;
            model.mesh.dimensions = d;
            model.mesh.elements = {{shape, {}}};
            for (int node = 0; node < node_count(shape); ++node) {
                Vector at = node_point(shape, node);
                at[0] += 0.1 * at[1] - 0.2 * at[0] * at[1];  // A trapezium.
                model.mesh.points.insert(model.mesh.points.end(), at.begin(), at.begin() + d);
                model.mesh.elements[0].nodes.push_back(node);
            }
            const auto system = elasticity::assemble(test::host(), model);
            const auto view = system.matrix.view();
            std::vector<std::vector<double>> dense(view.rows, std::vector<double>(view.rows, 0));
            for (Index i = 0; i < view.rows; ++i) {
                for (Offset k = view.row_offsets[i]; k < view.row_offsets[i + 1]; ++k) {
                    dense[i][view.column_indices[k]] = view.values[k];
                }
            }
            EXPECT_EQ(rank_of(dense), node_count(shape) * d - (d == 2 ? 3 : 6));
        }
    }
}

/// A linear displacement of all sides is the solution inside, in distorted elements too, and its
/// stress is constant in elements and at nodes.
TEST(elements, patch_test) {
    auto random = test::generator();
    for (const CellShape shape : test::all_element_shapes) {
        for (const Formulation formulation :
             {Formulation::incompatible_modes, Formulation::full_integration}) {
            SCOPED_TRACE(to_string(shape));
            const std::vector<double> slopes = test::random_vector<double>(random, 9);
            const auto field = [&](const Vector& x) {
                Vector u{};
                for (int i = 0; i < 3; ++i) {
                    for (int j = 0; j < 3; ++j) u[i] += slopes[3 * i + j] * x[j];
                }
                return u;
            };
            Model model;
            model.formulation = formulation;
            model.material = {2, 0.35};
            model.mesh = test::unit_mesh(shape, is_first_order(shape) ? 3 : 2, 0.7);
            const int d = model.mesh.dimensions;
            // Curved edges inside, where the quadrature is exact.
            if (shape == CellShape::triangle6 ||
                (!is_first_order(shape) && family(shape) == CellFamily::cube)) {
                for (double& x : model.mesh.points)
                    x += x == 0 || x == 1 ? 0 : 0.01 * std::sin(9 * x);
            }
            for (const std::string& side : test::side_names(d)) {
                model.fixed_supports.push_back({side, {true, true, true}, field});
            }
            const auto system = elasticity::assemble(test::host(), model);
            std::vector<double> exact;
            for (Index node = 0; node < model.mesh.node_count(); ++node) {
                const Vector u = field(test::point(model.mesh, node));
                exact.insert(exact.end(), u.begin(), u.begin() + d);
            }
            // The inverse of the matrix is at most about one: sides are 1 long, and E = 2.
            const double unit =
                test::gamma<double>(1e4) * test::largest_value(system.matrix.view());
            const auto found = test::solve_by_inverse(system, unit);
            const std::vector<double> u = system.displacements(found.unknowns);
            EXPECT_LT(found.error, 1e-6);
            for (std::size_t k = 0; k < u.size(); ++k) {
                ASSERT_NEAR(u[k], exact[k], found.error) << k;
            }
            const double lambda = 2 * 0.35 / (d == 2 ? 1 - 0.35 * 0.35 : 1.35 * 0.3);
            const double mu = 2 / 2.7;
            const double trace = slopes[0] + slopes[4] + (d == 3 ? slopes[8] : 0);
            const auto expected = [&](std::size_t component) {
                const int i = test::tensor_rows[component], j = test::tensor_columns[component];
                if (d == 2 && j == 2) return 0.;  // Plane stress.
                return mu * (slopes[3 * i + j] + slopes[3 * j + i]) + (i == j ? lambda * trace : 0);
            };
            const auto components = std::size_t(elasticity::tensor_components);
            for (const auto& stresses : {elasticity::element_stresses(test::host(), model, u),
                                         elasticity::node_stresses(test::host(), model, u)}) {
                for (std::size_t k = 0; k < stresses.size(); ++k) {
                    // Gradients are sums of at most 27 terms, of at most 100 each.
                    ASSERT_NEAR(stresses[k], expected(k % components), 2700 * lambda * found.error);
                }
            }
        }
    }
}

/// Bending by the stress xx = y: a field of second degree that elements of second order represent,
/// as do rectangles and bricks with incompatible modes. Its stress is linear, and that at nodes
/// exact.
TEST(elements, pure_bending_is_exact) {
    for (const CellShape shape : test::all_element_shapes) {
        const bool has_modes = elasticity::has_modes(shape, Formulation::incompatible_modes);
        if (is_first_order(shape) && !has_modes) continue;
        SCOPED_TRACE(to_string(shape));
        const double nu = 0.25;
        const auto bent = [&](const Vector& x) {
            const auto& [a, b, c] = x;
            const bool solid = dimensions(shape) == 3;
            return Vector{a * b, -(a * a + nu * (b * b - (solid ? c * c : 0))) / 2,
                          solid ? -nu * b * c : 0};
        };
        Model model;
        model.material = {1, nu};
        // Affine elements, in which shape functions are of second degree in x too.
        model.mesh = test::unit_mesh(shape, 2, is_simplex(shape) ? 0.5 : 0);
        const int d = model.mesh.dimensions;
        std::vector<double> u;
        for (Index node = 0; node < model.mesh.node_count(); ++node) {
            const Vector at = bent(test::point(model.mesh, node));
            u.insert(u.end(), at.begin(), at.begin() + d);
        }
        for (const std::string& side : {std::string("left"), std::string("right")}) {
            model.fixed_supports.push_back({side, {true, true, true}, bent});
        }
        const auto system = elasticity::assemble(test::host(), model);
        const double unit = test::gamma<double>(1e4) * test::largest_value(system.matrix.view());
        const auto found = test::solve_by_inverse(system, unit);
        const std::vector<double> solved = system.displacements(found.unknowns);
        for (std::size_t k = 0; k < u.size(); ++k) ASSERT_NEAR(solved[k], u[k], found.error) << k;
        const std::vector<double> stresses = elasticity::node_stresses(test::host(), model, solved);
        const auto components = std::size_t(elasticity::tensor_components);
        for (Index node = 0; node < model.mesh.node_count(); ++node) {
            for (std::size_t k = 0; k < components; ++k) {
                ASSERT_NEAR(stresses[std::size_t(node) * components + k],
                            k == 0 ? test::point(model.mesh, node)[1] : 0, 2700 * found.error);
            }
        }
        EXPECT_LT(found.error, 1e-6);
    }
}

TEST(elements, volumes_fill_the_box) {
    for (const CellShape shape : test::all_element_shapes) {
        SCOPED_TRACE(to_string(shape));
        double sum = 0;
        const std::vector<double> volumes = test::element_volumes(test::unit_mesh(shape, 3, 0.8));
        for (const double volume : volumes) {
            EXPECT_GT(volume, 0);
            sum += volume;
        }
        EXPECT_NEAR(sum, 1, test::gamma<double>(100 * 27 + double(volumes.size())));
    }
}

/// Nodal shares of a uniform load on one cell by the textbook.
TEST(elements, loads_on_edges_and_faces_are_consistent) {
    const auto shares = [](CellShape shape) {
        const int d = dimensions(shape) + 1;
        Model model;  // An element whose face 0 has this shape, and the load on it.
        CellShape element = d == 2 ? CellShape::quadrilateral : CellShape::hexahedron;
        if (is_simplex(shape)) element = CellShape::tetrahedron;
        if (!is_first_order(shape)) element = second_order(element, has_centres(shape));
        model.mesh.dimensions = d;
        model.mesh.elements = {{element, {}}};
        for (int node = 0; node < node_count(element); ++node) {
            const Vector at = node_point(element, node);
            model.mesh.points.insert(model.mesh.points.end(), at.begin(), at.begin() + d);
            model.mesh.elements[0].nodes.push_back(node);
        }
        MeshGroup face{"face", d - 1, {{shape, {}}}};
        for (int k = 0; k < node_count(shape); ++k) {
            face.cells[0].nodes.push_back(face_node(element, 0, k));
        }
        model.mesh.groups = {face};
        model.forces = {{"face", {0, 2, 0}}};
        const auto system = elasticity::assemble(test::host(), model);
        EXPECT_NEAR(system.load_shares.at(0).total[1], 2, 2 * rounding);
        std::vector<double> found;
        for (const Index node : face.cells[0].nodes) {
            found.push_back(system.load[std::size_t(node) * d + 1] / 2);
        }
        return found;
    };
    const std::vector<std::vector<double>> expected = {
        {1. / 2, 1. / 2},
        {1. / 6, 1. / 6, 4. / 6},
        {1. / 3, 1. / 3, 1. / 3},
        {0, 0, 0, 1. / 3, 1. / 3, 1. / 3},
        {1. / 4, 1. / 4, 1. / 4, 1. / 4},
        {-1. / 12, -1. / 12, -1. / 12, -1. / 12, 1. / 3, 1. / 3, 1. / 3, 1. / 3},
        {1. / 36, 1. / 36, 1. / 36, 1. / 36, 1. / 9, 1. / 9, 1. / 9, 1. / 9, 4. / 9}};
    for (std::size_t s = 0; s < std::size(loaded_shapes); ++s) {
        SCOPED_TRACE(to_string(loaded_shapes[s]));
        const std::vector<double> found = shares(loaded_shapes[s]);
        ASSERT_EQ(found.size(), expected[s].size());
        for (std::size_t k = 0; k < found.size(); ++k) {
            EXPECT_NEAR(found[k], expected[s][k], rounding) << k;
        }
    }
}

}  // namespace
}  // namespace tessera
