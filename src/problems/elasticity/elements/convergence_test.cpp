#include "problems/elasticity/elasticity_test.hpp"

namespace tessera {
namespace {

using elasticity::Field;
using elasticity::Model;
using elasticity::Vector;
using Matrix = std::array<Vector, 3>;

constexpr double young_modulus = 3;
constexpr double poisson_ratio = 0.3;

struct Norms {
    double displacement;  ///< L2 norm of the error.
    double energy;        ///< Square root of half the integral of strain : stress of the error.
    double estimate = 0;  ///< What estimate_error makes of `energy`.
};

/// u_i = c_i sin(a_i . x + f_i), with known derivatives.
struct Waves {
    int dimensions;
    Vector scale{1, -0.5, 0.8};
    Vector phase{0.3, 1, -0.4};
    Matrix wave{{{1.5, 1, 0.5}, {-1, 2, 1}, {0.7, -1.2, 1.6}}};

    double angle(int i, const Vector& x) const {
        double sum = phase[i];
        for (int k = 0; k < dimensions; ++k) sum += wave[i][k] * x[k];
        return sum;
    }
    Vector displacement(const Vector& x) const {
        Vector u{};
        for (int i = 0; i < dimensions; ++i) u[i] = scale[i] * std::sin(angle(i, x));
        return u;
    }
    double slope(int i, int j, const Vector& x) const {
        return scale[i] * wave[i][j] * std::cos(angle(i, x));
    }
    double curvature(int i, int j, int k, const Vector& x) const {
        return -scale[i] * wave[i][j] * wave[i][k] * std::sin(angle(i, x));
    }
    double lambda() const {
        return young_modulus * poisson_ratio /
               (dimensions == 2 ? 1 - poisson_ratio * poisson_ratio
                                : (1 + poisson_ratio) * (1 - 2 * poisson_ratio));
    }
    double mu() const { return young_modulus / (2 * (1 + poisson_ratio)); }
    /// The stress times the unit vector of `axis`.
    Vector traction(int axis, const Vector& x) const {
        Vector t{};
        for (int i = 0; i < dimensions; ++i) {
            t[i] += mu() * (slope(i, axis, x) + slope(axis, i, x));
            t[axis] += lambda() * slope(i, i, x);
        }
        return t;
    }
    /// -div stress = -(mu Laplace(u) + (lambda + mu) grad div u).
    Vector body_force(const Vector& x) const {
        Vector f{};
        for (int i = 0; i < dimensions; ++i) {
            for (int k = 0; k < dimensions; ++k) {
                f[i] -= mu() * curvature(i, k, k, x) + (lambda() + mu()) * curvature(k, k, i, x);
            }
        }
        return f;
    }

    /// Adds the error of an element by a quadrature rule.
    template <CellShape S, int P>
    void add_error(const elasticity::Reference<S, P>& reference,
                   const double (&points)[node_count(S)][tessera::dimensions(S)],
                   std::span<const Index> nodes, const std::vector<double>& u,
                   Norms& squares) const {
        const int d = dimensions;
        const elasticity::Geometry geometry(reference, points);
        const auto& volumes = geometry.volumes;
        for (int p = 0; p < P; ++p) {
            const Vector at = elasticity::position<S>(reference, p, points);
            const Vector exact = displacement(at);
            double trace = 0;
            double strains = 0;
            Matrix difference{};
            for (int i = 0; i < d; ++i) {
                double value = exact[i];
                for (std::size_t c = 0; c < nodes.size(); ++c) {
                    value -= reference.values[p][c] * u[nodes[c] * d + i];
                }
                squares.displacement += volumes[p] * value * value;
                for (int j = 0; j < d; ++j) {
                    difference[i][j] = slope(i, j, at);
                    for (std::size_t c = 0; c < nodes.size(); ++c) {
                        difference[i][j] -= geometry.gradients[p][c][j] * u[nodes[c] * d + i];
                    }
                }
                trace += difference[i][i];
            }
            for (int i = 0; i < d; ++i) {
                for (int j = 0; j < d; ++j) {
                    const double strain = (difference[i][j] + difference[j][i]) / 2;
                    strains += strain * strain;
                }
            }
            squares.energy += volumes[p] * (lambda() * trace * trace / 2 + mu() * strains);
        }
    }
};

/// The Gauss rule of four points per axis on the cube, which collapses to the reference cell:
/// simplices and prisms along x towards x = 1, tetrahedra also along y.
template <CellShape S>
elasticity::Reference<S, elasticity::power(4, dimensions(S))> error_points() {
    constexpr int d = dimensions(S);
    const double inner = std::sqrt(3. / 7 - 2. / 7 * std::sqrt(6. / 5));
    const double outer = std::sqrt(3. / 7 + 2. / 7 * std::sqrt(6. / 5));
    const double near = (18 + std::sqrt(30.)) / 36, far = (18 - std::sqrt(30.)) / 36;
    const double places[] = {-outer, -inner, inner, outer}, weights[] = {far, near, near, far};
    elasticity::Reference<S, elasticity::power(4, d)> rule;
    for (int p = 0; p < elasticity::power(4, d); ++p) {
        elasticity::WeightedPoint point{{}, 1};
        const int digits[] = {p % 4, p / 4 % 4, p / 16};
        for (int i = 0; i < d; ++i) {
            point.at[i] = places[digits[i]];
            point.weight *= weights[digits[i]];
        }
        auto& [x, y, z] = point.at;
        const auto halve = [&](double& coordinate, double size) {  // To [0, size].
            coordinate = (coordinate + 1) / 2 * size;
            point.weight *= size / 2;
        };
        if (is_simplex(S) || family(S) == CellFamily::prism) {
            halve(x, 1);
            const double first = y = (y + 1) / 2;
            point.weight *= (1 - x) / 2;
            y *= 1 - x;
            if (is_simplex(S) && d == 3) halve(z, (1 - x) * (1 - first));
        } else if (family(S) == CellFamily::pyramid) {
            halve(z, 1);
        }
        rule.set(p, point);
    }
    return rule;
}

Norms error_norms(const Waves& waves, const Mesh& mesh, const std::vector<double>& u) {
    const elasticity::Elements elements(mesh);
    Norms squares{0, 0};
    for (Index element = 0; element < elements.count(); ++element) {
        elements.with_shape(element, [&](auto shape) {
            constexpr CellShape s = decltype(shape)::value;
            static const auto rule = error_points<s>();
            double points[node_count(s)][dimensions(s)];
            elasticity::gather<s>(mesh, elements.nodes(element), points);
            waves.add_error<s>(rule, points, elements.nodes(element), u, squares);
        });
    }
    return {std::sqrt(squares.displacement), std::sqrt(squares.energy)};
}

/// Displacements given on half of the sides, tractions on the others, body forces inside.
Norms solve_waves(CellShape shape, Index cells, double jitter) {
    const Waves waves{dimensions(shape)};
    Model model;
    model.mesh = test::unit_mesh(shape, cells, jitter);
    model.material = {young_modulus, poisson_ratio};
    model.body_force = [&](const Vector& x) { return waves.body_force(x); };
    const std::vector<std::string> sides = test::side_names(waves.dimensions);
    for (int axis = 0; axis < waves.dimensions; ++axis) {
        model.fixed_supports.push_back(
            {sides[2 * axis], {1, 1, 1}, [&](const Vector& x) { return waves.displacement(x); }});
        model.tractions.push_back({sides[2 * axis + 1], [&waves, axis](const Vector& x) {
                                       return waves.traction(axis, x);
                                   }});
    }
    const elasticity::System system = elasticity::assemble(test::host(), model);
    const std::vector<double> u = test::solve(system, 1e-10);
    Norms norms = error_norms(waves, model.mesh, u);
    const double relative = elasticity::estimate_error(test::host(), model, u).relative;
    norms.estimate = relative * std::sqrt(elasticity::strain_energy(test::host(), model, u) /
                                          (1 - relative * relative));
    return norms;
}

/// The slope of log(error) over log(cells) of the line through three points by least squares.
double order(const std::array<double, 3>& errors, const std::array<Index, 3>& cells) {
    double mean_x = 0, mean_y = 0, xy = 0, xx = 0;
    for (int k = 0; k < 3; ++k) {
        mean_x += std::log(double(cells[k])) / 3;
        mean_y += std::log(errors[k]) / 3;
    }
    for (int k = 0; k < 3; ++k) {
        const double x = std::log(double(cells[k])) - mean_x;
        xy += x * (std::log(errors[k]) - mean_y);
        xx += x * x;
    }
    return -xy / xx;
}

/// Elements of order k have displacements of order k + 1 and energies of order k. Serendipity
/// elements only do so where their maps are affine: D. N. Arnold, D. Boffi and R. S. Falk, Math.
/// Comp. 71 (2002).
TEST(convergence, displacements_and_energies_have_the_order_of_theory) {
    for (const CellShape shape : test::all_element_shapes) {
        SCOPED_TRACE(to_string(shape));
        const bool first = is_first_order(shape);
        const bool serendipity =
            !first && family(shape) != CellFamily::simplex && !has_centres(shape);
        const bool plane = dimensions(shape) == 2;
        const Index coarse = plane ? (first ? 8 : 4) : first ? 4 : 2;
        const std::array<Index, 3> cells{coarse, 2 * coarse, plane || first ? 4 * coarse : 6};
        std::array<double, 3> displacements{};
        std::array<double, 3> energies{};
        Norms finest{};
        for (int k = 0; k < 3; ++k) {
            const Norms norms = finest = solve_waves(shape, cells[k], serendipity ? 0 : 0.4);
            displacements[k] = norms.displacement;
            energies[k] = norms.energy;
        }
        const int degree = first ? 1 : 2;
        EXPECT_GT(order(displacements, cells), degree + 0.8);
        EXPECT_LT(order(displacements, cells), degree + 1.4);
        EXPECT_GT(order(energies, cells), degree - 0.1);
        EXPECT_LT(order(energies, cells), degree + 0.4);
        // On smooth solutions the estimate is close; hexahedra of second order have 1.11 on 12^3
        // cells.
        const double ratio = finest.estimate / finest.energy;
        EXPECT_GT(ratio, 0.8);
        EXPECT_LT(ratio, 1.7);
    }
}

/// Half the work of the loads is the strain energy of the solution.
TEST(convergence, energy_is_half_the_work) {
    for (const CellShape shape : test::all_element_shapes) {
        SCOPED_TRACE(to_string(shape));
        const Index cells = is_first_order(shape) ? 6 : 2;
        Model model;
        model.mesh = test::unit_mesh(shape, cells, 0.5);
        model.fixed_supports.push_back({"left"});
        model.tractions.push_back({"right", elasticity::constant({0.3, -1, 0.2})});
        const elasticity::System system = elasticity::assemble(test::host(), model);
        const double rtol = 1e-12;
        const std::vector<double> u = test::solve(system, rtol);
        double work = 0;
        double norm_u = 0;
        double norm_load = 0;
        for (std::size_t k = 0; k < u.size(); ++k) {
            if (system.unknowns[k] < 0) continue;
            const double load = system.load[system.unknowns[k]];
            work += u[k] * load / 2;
            norm_u += u[k] * u[k];
            norm_load += load * load;
        }
        // u' A u / 2 = u' (b - r) / 2 with |r| <= rtol |b|; then the entries' errors.
        double magnitude = 0;
        for (const double x : u) magnitude += std::abs(x);
        const double bound = rtol * std::sqrt(norm_u * norm_load) / 2 +
                             test::entry_bound(system.matrix.view(), 6, 0.5) * 125 * 3 * magnitude *
                                 *std::max_element(u.begin(), u.end(), [](double a, double b) {
                                     return std::abs(a) < std::abs(b);
                                 });
        EXPECT_NEAR(elasticity::strain_energy(test::host(), model, u), work, std::abs(bound));
    }
}

}  // namespace
}  // namespace tessera
