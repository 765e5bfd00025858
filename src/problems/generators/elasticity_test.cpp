#include <algorithm>
#include <array>
#include <cmath>

#include "support/test.hpp"
#include "tessera/problems.hpp"

namespace tessera {
namespace {

constexpr double young_modulus = 1;
constexpr double poisson_ratio = 0.3;

using Vector = std::array<double, 3>;
using Gradient = std::array<Vector, 3>;  // [i][j] = d u_i / d x_j

/// A generated problem with the properties of its grid.
template <class T>
struct Elasticity {
    int dimensions;
    Index size;
    bool free;
    problems::Problem<T> problem;
    CsrView<T> matrix;

    Elasticity(int dimensions_, Index size_, bool free_)
        : dimensions(dimensions_),
          size(size_),
          free(free_),
          problem(problems::generate<T>(test::host(),
                                        Spec("elasticity" + std::to_string(dimensions) +
                                             "d:" + std::to_string(size) + (free ? ",free" : "")))),
          matrix(problem.matrix.view()) {}

    Index nodes() const { return matrix.rows / dimensions; }

    /// Grid indices of a node, x slowest.
    std::array<Index, 3> index_of(Index node) const {
        std::array<Index, 3> at{};
        for (int axis = dimensions - 1; axis >= 0; --axis, node /= size + 1) {
            at[axis] = axis == 0 ? node + (free ? 0 : 1) : node % (size + 1);
        }
        return at;
    }

    double largest_diagonal() const {
        double largest = 0;
        for (Index i = 0; i < matrix.rows; ++i) {
            for (Offset k = matrix.row_offsets[i]; k < matrix.row_offsets[i + 1]; ++k) {
                if (matrix.column_indices[k] == i) {
                    largest = std::max(largest, double(matrix.values[k]));
                }
            }
        }
        return largest;
    }

    /// A bound on the error of every entry. By Cauchy-Schwarz each integral of a product of
    /// derivatives is at most that of one square, so the absolute terms of an entry sum to at most
    /// the diagonal; about 40 operations make an entry, in double, and one rounding to T.
    double entry_bound() const {
        return (test::gamma<double>(40) + test::gamma<T>(1)) * largest_diagonal();
    }
};

double first_lame(int dimensions) {
    return young_modulus * poisson_ratio /
           (dimensions == 2 ? 1 - poisson_ratio * poisson_ratio
                            : (1 + poisson_ratio) * (1 - 2 * poisson_ratio));
}
double shear_modulus() { return young_modulus / (2 * (1 + poisson_ratio)); }
/// sigma = lambda tr(eps) I + 2 mu eps, eps the symmetric part of the gradient.
Gradient stress(int dimensions, const Gradient& gradient) {
    Gradient sigma{};
    double trace = 0;
    for (int i = 0; i < dimensions; ++i) trace += gradient[i][i];
    for (int i = 0; i < dimensions; ++i) {
        for (int j = 0; j < dimensions; ++j) {
            sigma[i][j] = shear_modulus() * (gradient[i][j] + gradient[j][i]) +
                          (i == j ? first_lame(dimensions) * trace : 0);
        }
    }
    return sigma;
}

Gradient random_gradient(int dimensions) {
    auto random = test::generator();
    const std::vector<double> entries = test::random_vector<double>(random, 9);
    Gradient gradient{};
    for (int i = 0; i < dimensions; ++i) {
        for (int j = 0; j < dimensions; ++j) gradient[i][j] = entries[3 * i + j];
    }
    return gradient;
}

/// u(x) = G x at the nodes.
template <class T>
std::vector<double> linear_field(const Elasticity<T>& system, const Gradient& gradient) {
    std::vector<double> u;
    for (Index node = 0; node < system.nodes(); ++node) {
        const auto at = system.index_of(node);
        for (int i = 0; i < system.dimensions; ++i) {
            double sum = 0;
            for (int j = 0; j < system.dimensions; ++j) {
                sum += gradient[i][j] * (double(at[j]) / system.size);
            }
            u.push_back(sum);
        }
    }
    return u;
}

/// (A u)_i and sum over the row of |u_j|.
template <class T>
std::pair<double, double> row_product(const CsrView<T>& matrix, const std::vector<double>& u,
                                      Index i) {
    double product = 0;
    double magnitude = 0;
    for (Offset k = matrix.row_offsets[i]; k < matrix.row_offsets[i + 1]; ++k) {
        product += double(matrix.values[k]) * u[matrix.column_indices[k]];
        magnitude += std::abs(u[matrix.column_indices[k]]);
    }
    return {product, magnitude};
}

/// The load of the constant stress at a node, component i: sum over the axes k of sigma_ik times
/// the outward sign times the integral of the shape function over that side; 0 inside.
template <class T>
double boundary_force(const Elasticity<T>& system, const Gradient& sigma, Index node, int i) {
    const auto at = system.index_of(node);
    const double side = 1. / system.size;
    double force = 0;
    for (int k = 0; k < system.dimensions; ++k) {
        double share = at[k] == 0 ? -1 : at[k] == system.size ? 1 : 0;
        for (int m = 0; m < system.dimensions; ++m) {
            if (m != k) share *= at[m] == 0 || at[m] == system.size ? side / 2 : side;
        }
        force += sigma[i][k] * share;
    }
    return force;
}

/// A u = the boundary forces of the stress of G, and u^T A u = eps : sigma (the volume is 1).
template <class T>
void expect_linear_field_is_exact(int dimensions, Index size, const Gradient& gradient) {
    SCOPED_TRACE(std::to_string(dimensions) + "d, N = " + std::to_string(size));
    const Elasticity<T> system(dimensions, size, true);
    const std::vector<double> u = linear_field(system, gradient);
    const Gradient sigma = stress(dimensions, gradient);
    // Beyond the entries: the products and sums of the longest row, and 4 roundings in u.
    const double length = std::pow(3, dimensions) * dimensions;
    const double unit =
        system.entry_bound() + test::gamma<double>(length + 8) * system.largest_diagonal();
    double energy = 0;
    double energy_bound = 0;
    for (Index row = 0; row < system.matrix.rows; ++row) {
        const auto [product, magnitude] = row_product(system.matrix, u, row);
        const double expected = boundary_force(system, sigma, row / dimensions, row % dimensions);
        ASSERT_NEAR(product, expected, unit * magnitude) << "row " << row;
        energy += u[row] * product;
        energy_bound +=
            std::abs(u[row]) * unit * magnitude +
            test::gamma<double>(double(system.matrix.rows)) * std::abs(u[row] * product);
    }
    double expected = 0;
    for (int i = 0; i < dimensions; ++i) {
        for (int j = 0; j < dimensions; ++j) expected += sigma[i][j] * gradient[i][j];
    }
    EXPECT_NEAR(energy, expected, energy_bound);
}

TEST(elasticity, sizes) {
    const auto expect_size = [](int dimensions, Index size, bool free, Index rows,
                                Offset nonzeros) {
        const Elasticity<double> system(dimensions, size, free);
        EXPECT_EQ(system.matrix.rows, rows);
        EXPECT_EQ(system.matrix.nonzeros, nonzeros);
        EXPECT_EQ(system.problem.natural_block, dimensions);
        EXPECT_EQ(system.problem.known_singular, free);
        EXPECT_EQ(system.problem.load.size(), free ? 0u : std::size_t(rows));
    };
    expect_size(2, 400, true, 321602, 5769604);
    expect_size(3, 54, true, 499125, 38976723);
    // n points on an axis have 3 n - 2 couplings; the clamped axis has N points, the others N + 1.
    for (const Index n : {1, 2, 3, 8}) {
        const Index open = 3 * n + 1;
        const Index clamped = 3 * n - 2;
        expect_size(2, n, false, 2 * n * (n + 1), 4 * Offset(clamped) * open);
        expect_size(2, n, true, 2 * (n + 1) * (n + 1), 4 * Offset(open) * open);
        expect_size(3, n, false, 3 * n * (n + 1) * (n + 1), 9 * Offset(clamped) * open * open);
        expect_size(3, n, true, 3 * (n + 1) * (n + 1) * (n + 1), 9 * Offset(open) * open * open);
    }
}

TEST(elasticity, symmetric_in_every_bit) {
    for (const int dimensions : {2, 3}) {
        for (const bool free : {false, true}) {
            const Elasticity<double> system(dimensions, dimensions == 2 ? 9 : 5, free);
            const auto& a = system.matrix;
            for (Index i = 0; i < a.rows; ++i) {
                for (Offset k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) {
                    const Index j = a.column_indices[k];
                    const Index* begin = a.column_indices + a.row_offsets[j];
                    const Index* end = a.column_indices + a.row_offsets[j + 1];
                    const Index* mirrored = std::lower_bound(begin, end, i);
                    ASSERT_TRUE(mirrored != end && *mirrored == i) << i << ", " << j;
                    ASSERT_EQ(a.values[mirrored - a.column_indices], a.values[k]) << i << ", " << j;
                }
            }
        }
    }
}

/// The derivatives of the shape function of `corner` (bits, the last axis lowest) at a point of
/// the unit element.
Vector shape_gradient(int dimensions, int corner, const Vector& point) {
    Vector gradient{};
    for (int k = 0; k < dimensions; ++k) {
        gradient[k] = 1;
        for (int m = 0; m < dimensions; ++m) {
            const bool upper = (corner >> (dimensions - 1 - m)) & 1;
            const double value = upper ? point[m] : 1 - point[m];
            gradient[k] *= m == k ? (upper ? 1 : -1) : value;
        }
    }
    return gradient;
}

/// Assembly element by element with two Gauss points per axis: independent of that of the library.
template <class T>
std::vector<double> assemble_by_quadrature(const Elasticity<T>& system) {
    const int d = system.dimensions;
    const int corners = 1 << d;
    const double side = 1. / system.size;
    std::vector<double> full(std::size_t(system.matrix.rows) * system.matrix.rows, 0);
    const auto unknown = [&](int element, int corner, int i) -> Index {
        Index node = 0;
        for (int axis = 0; axis < d; ++axis) {
            int cell = element;
            for (int skip = d - 1; skip > axis; --skip) cell /= system.size;
            const Index at = cell % system.size + ((corner >> (d - 1 - axis)) & 1);
            if (axis == 0 && at == 0 && !system.free) return -1;
            node = node * (system.size + 1) + at - (axis == 0 && !system.free ? 1 : 0);
        }
        return node * d + i;
    };
    const int elements = int(std::lround(std::pow(system.size, d)));
    for (int element = 0; element < elements; ++element) {
        for (int gauss = 0; gauss < corners; ++gauss) {
            Vector point{};
            for (int m = 0; m < d; ++m) {
                point[m] = 0.5 + ((gauss >> m) & 1 ? 0.5 : -0.5) / std::sqrt(3.);
            }
            for (int b = 0; b < corners; ++b) {
                const Vector slope = shape_gradient(d, b, point);
                for (int j = 0; j < d; ++j) {
                    Gradient gradient{};
                    for (int k = 0; k < d; ++k) gradient[j][k] = slope[k] / side;
                    const Gradient sigma = stress(d, gradient);
                    for (int a = 0; a < corners; ++a) {
                        const Vector test_slope = shape_gradient(d, a, point);
                        for (int i = 0; i < d; ++i) {
                            const Index row = unknown(element, a, i);
                            const Index column = unknown(element, b, j);
                            if (row < 0 || column < 0) continue;
                            double work = 0;
                            for (int k = 0; k < d; ++k) work += sigma[i][k] * test_slope[k] / side;
                            full[std::size_t(row) * system.matrix.rows + column] +=
                                work * std::pow(side, d) / corners;
                        }
                    }
                }
            }
        }
    }
    return full;
}

template <class T>
void expect_same_as_quadrature(int dimensions, Index size, bool free) {
    SCOPED_TRACE(std::to_string(dimensions) + "d, N = " + std::to_string(size));
    const Elasticity<T> system(dimensions, size, free);
    std::vector<double> rest = assemble_by_quadrature(system);
    // The quadrature sums at most 8 elements of 8 points, with about 20 operations per term; the
    // shape functions lose another 20 units by cancellation.
    const double bound =
        system.entry_bound() + test::gamma<double>(64 + 40) * system.largest_diagonal();
    const auto& a = system.matrix;
    for (Index i = 0; i < a.rows; ++i) {
        for (Offset k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) {
            rest[std::size_t(i) * a.rows + a.column_indices[k]] -= double(a.values[k]);
        }
        for (Index j = 0; j < a.rows; ++j) {
            ASSERT_LE(std::abs(rest[std::size_t(i) * a.rows + j]), bound) << i << ", " << j;
        }
    }
}

TEST(elasticity, equals_quadrature_element_by_element) {
    for (const bool free : {false, true}) {
        for (const Index size : {1, 2, 3}) {
            expect_same_as_quadrature<double>(2, size, free);
            expect_same_as_quadrature<double>(3, size, free);
            expect_same_as_quadrature<float>(2, size, free);
            expect_same_as_quadrature<float>(3, size, free);
        }
    }
}

TEST(elasticity, constant_strain) {
    expect_linear_field_is_exact<double>(2, 7, random_gradient(2));
    expect_linear_field_is_exact<double>(3, 4, random_gradient(3));
    expect_linear_field_is_exact<float>(2, 7, random_gradient(2));
    expect_linear_field_is_exact<float>(3, 4, random_gradient(3));
}

TEST(elasticity, rotations_store_no_energy) {
    for (const int dimensions : {2, 3}) {
        for (int i = 0; i < dimensions; ++i) {
            for (int j = 0; j < i; ++j) {
                Gradient rotation{};
                rotation[i][j] = 1;
                rotation[j][i] = -1;
                expect_linear_field_is_exact<double>(dimensions, 5, rotation);
            }
        }
    }
}

TEST(elasticity, translations_need_no_force) {
    for (const int dimensions : {2, 3}) {
        const Elasticity<double> system(dimensions, 5, true);
        const double length = std::pow(3, dimensions) * dimensions;
        const double unit =
            system.entry_bound() + test::gamma<double>(length) * system.largest_diagonal();
        for (int direction = 0; direction < dimensions; ++direction) {
            std::vector<double> u(std::size_t(system.matrix.rows), 0);
            for (std::size_t k = direction; k < u.size(); k += dimensions) u[k] = 1;
            for (Index row = 0; row < system.matrix.rows; ++row) {
                const auto [product, magnitude] = row_product(system.matrix, u, row);
                ASSERT_LE(std::abs(product), unit * magnitude);
            }
        }
    }
}

/// True if the Cholesky factorisation of a (n x n, row-major) meets positive pivots only.
bool positive_definite(std::vector<double> a, std::size_t n) {
    for (std::size_t k = 0; k < n; ++k) {
        if (!(a[k * n + k] > 0)) return false;
        for (std::size_t i = k + 1; i < n; ++i) {
            const double factor = a[i * n + k] / a[k * n + k];
            for (std::size_t j = k + 1; j < n; ++j) a[i * n + j] -= factor * a[k * n + j];
        }
    }
    return true;
}

TEST(elasticity, clamped_is_positive_definite) {
    for (const int dimensions : {2, 3}) {
        for (const Index size : {1, 2, 4}) {
            const Elasticity<double> system(dimensions, size, false);
            const std::size_t n = std::size_t(system.matrix.rows);
            std::vector<double> full(n * n, 0);
            for (Index i = 0; i < system.matrix.rows; ++i) {
                for (Offset k = system.matrix.row_offsets[i]; k < system.matrix.row_offsets[i + 1];
                     ++k) {
                    full[std::size_t(i) * n + system.matrix.column_indices[k]] =
                        system.matrix.values[k];
                }
            }
            EXPECT_TRUE(positive_definite(full, n)) << dimensions << "d, N = " << size;
        }
    }
}

/// The load acts on x = 1 in -y only, with the shares of a constant traction.
TEST(elasticity, load_is_the_traction_on_the_far_side) {
    for (const int dimensions : {2, 3}) {
        for (const Index size : {1, 4, 10}) {
            const Elasticity<double> system(dimensions, size, false);
            Gradient traction{};
            traction[1][0] = -1;  // sigma_yx = -1 is the traction (0, -1, 0) on x = 1
            double total = 0;
            for (Index row = 0; row < system.matrix.rows; ++row) {
                const Index node = row / dimensions;
                const double expected =
                    system.index_of(node)[0] == size
                        ? boundary_force(system, traction, node, row % dimensions)
                        : 0;
                EXPECT_DOUBLE_EQ(system.problem.load[row], expected);
                total += system.problem.load[row];
            }
            EXPECT_NEAR(total, -1, test::gamma<double>(double(system.nodes()) + 4));
        }
    }
}

}  // namespace
}  // namespace tessera
