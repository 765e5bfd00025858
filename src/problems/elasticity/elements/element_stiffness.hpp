#pragma once

#include "problems/elasticity/elements/elements.hpp"

/// The stiffness of one element, with or without incompatible modes.
namespace tessera::elasticity {

/// The largest number of displacements of an element.
inline constexpr int max_element_unknowns = 3 * max_cell_nodes;

constexpr bool has_modes(CellShape shape, Formulation formulation) {
    return formulation == Formulation::incompatible_modes && is_first_order(shape) &&
           family(shape) == CellFamily::cube;
}

/// The stiffness between two functions, the integral of their strains times the elastic matrix, by
/// ElasticLaw, with the slopes at P points, of N functions each, of which the first K are not 0.
template <int K, int P, int N, int D>
constexpr void find_stiffness_block(const Slopes (&slopes)[P][N], const double (&volumes)[P],
                                    const ElasticLaw& law, int a, int b, double (&block)[D][D]) {
    double integrals[K][K]{};  // Integrals of products of slopes.
    for (int p = 0; p < P; ++p) {
        for (int k = 0; k < K; ++k) {
            for (int l = 0; l < K; ++l) {
                integrals[k][l] += volumes[p] * (slopes[p][a][k] * slopes[p][b][l]);
            }
        }
    }
    for (int i = 0; i < D; ++i) {
        for (int j = 0; j < D; ++j) {
            double entry = 0;
            for (int k = 0; k < K; ++k) {
                for (int l = 0; l < K; ++l) {
                    entry += law.couplings[i][j][k][l] * integrals[k][l];
                }
            }
            block[i][j] = entry;
        }
    }
}

/// The lanes that share the work of one element: one, on the CPU.
struct OneLane {
    static constexpr int first = 0, count = 1;
    constexpr void wait() const {}
};

/// The stiffness of an element whose displacements have N D coefficients, the last M D of which,
/// those of incompatible modes, are free and therefore minimise the energy; and its thermal forces.
template <int N, int M, int D>
class CondensedStiffness {
  public:
    static constexpr int nodes = N - M;
    double full[N * D][N * D];
    double forces[N * D];

    /// Subtracts K_um K_mm^-1 K_mu from the part of the nodes, K_um K_mm^-1 f_m from their forces:
    /// by K_mm = L L^T, with L^-1 K_mu and L^-1 f_m in the rows of the modes.
    template <class Lanes = OneLane>
    constexpr void condense(const Lanes& lanes = {}) {
        constexpr int first = nodes * D, last = N * D;
        for (int k = first; k < last; ++k) {
            if (full[k][k] == 0) continue;  // Axial coefficients of the hoop strain.
            const double pivot = std::sqrt(full[k][k]);
            lanes.wait();
            for (int j = lanes.first; j < last; j += lanes.count) full[k][j] /= pivot;
            if (lanes.first == 0) forces[k] /= pivot;
            lanes.wait();
            for (int i = k + 1; i < last; ++i) {
                const double factor = full[k][i];
                for (int j = lanes.first; j < last; j += lanes.count) {
                    full[i][j] -= factor * full[k][j];
                }
                if (lanes.first == 0) forces[i] -= factor * forces[k];
            }
            lanes.wait();
        }
        for (int i = lanes.first; i < first; i += lanes.count) {
            for (int j = i; j < first; ++j) {
                double sum = full[i][j];
                for (int k = first; k < last; ++k) sum -= full[k][i] * full[k][j];
                full[i][j] = full[j][i] = sum;
            }
            for (int k = first; k < last; ++k) forces[i] -= full[k][i] * forces[k];
        }
        lanes.wait();
    }

    /// The coefficients of the modes after condense(), from those of the nodes:
    /// K_mm^-1 (f_m - K_mu u).
    void find_modes(double (&coefficients)[N][D]) const {
        constexpr int first = nodes * D, last = N * D;
        double modes[M * D];
        for (int k = first; k < last; ++k) {
            double sum = forces[k];
            for (int j = 0; j < first; ++j) sum -= full[k][j] * coefficients[j / D][j % D];
            modes[k - first] = sum;
        }
        for (int k = last - 1; k >= first; --k) {
            double sum = modes[k - first];
            for (int j = k + 1; j < last; ++j) sum -= full[k][j] * modes[j - first];
            modes[k - first] = full[k][k] == 0 ? 0 : sum / full[k][k];
            coefficients[k / D][k % D] = modes[k - first];
        }
    }
};

/// An element of shape S in space: the slopes of its shape functions at the points of a rule and of
/// its M incompatible modes. Those of modes 1 - x_k^2 along each axis k are
/// v(0) / v(x) J(0)^-T d(1 - x_k^2) / dx with the Jacobian J and the volume v per reference volume,
/// its determinant times the thickness, so that their integrals vanish as on a parallelogram. In
/// axisymmetry they have no hoop strain; that of a third mode is v(0) / v(x) x_0 x_1.
template <CellShape S, int M = 0, Rule rule = Rule::stiffness>
struct ElementForm {
    static constexpr CellShape shape = S;
    static constexpr int d = dimensions(S);
    static constexpr int nodes = node_count(S);
    static constexpr int functions = nodes + M;
    static constexpr int points = point_count(S, rule);

    Slopes slopes[points][functions];
    double volumes[points];
    double temperatures[points]{};  ///< Changes of temperature at the points.
    bool axisymmetric;

    ElementForm(const double (&at)[nodes][d], const Thickness& thickness)
        : axisymmetric(thickness.axisymmetric) {
        const Centre centre(reference_points<S, Rule::centre>(), at, thickness);
        for (int p = 0; p < points; ++p) {
            set_point(p, reference_points<S, rule>(), centre, at, thickness);
        }
    }

    /// The centre of an element, where it has modes.
    struct Centre {
        Geometry<S, 1> geometry;
        double length = 1;

        constexpr Centre(const Reference<S, 1>& reference, const double (&at)[nodes][d],
                         const Thickness& thickness) {
            if constexpr (M > 0) {
                geometry.set_point(0, reference, 0, at);
                length = thickness.at(position<S>(reference, 0, at)[0]);
            }
        }
    };

    /// Sets the slopes and the volume of point p.
    constexpr void set_point(int p, const Reference<S, points>& reference, const Centre& centre,
                             const double (&at)[nodes][d], const Thickness& thickness) {
        Geometry<S, 1> geometry;
        geometry.set_point(0, reference, p, at);
        const double radius = d == 2 ? position<S>(reference, p, at)[0] : 0;
        const double length = thickness.at(radius);
        volumes[p] = geometry.volumes[0] * length;
        for (int c = 0; c < nodes; ++c) {
            for (int i = 0; i < d; ++i) slopes[p][c][i] = geometry.gradients[0][c][i];
            if (d == 2) {
                slopes[p][c][2] = thickness.axisymmetric ? reference.values[p][c] / radius : 0;
            }
        }
        if constexpr (M > 0) {
            const double ratio = centre.geometry.determinants[0] / geometry.determinants[0] *
                                 (centre.length / length);
            if constexpr (M > d) {
                const double* const x = reference.points[p];
                slopes[p][nodes + d][0] = slopes[p][nodes + d][1] = 0;
                slopes[p][nodes + d][2] = x[0] * x[1] * ratio;
            }
            for (int k = 0; k < d; ++k) {
                const double slope = -2 * reference.points[p][k] * ratio;
                slopes[p][nodes + k][2] = 0;
                for (int i = 0; i < d; ++i) {
                    slopes[p][nodes + k][i] = slope * centre.geometry.inverses[0][i][k];
                }
            }
        }
    }

    /// Sets the changes of temperature.
    void heat(const Model& model, const ElasticLaw& law, std::span<const Index> node_numbers) {
        const std::vector<double>& at_nodes = model.node_temperatures;
        for (int p = 0; p < points; ++p) {
            temperatures[p] = at_nodes.empty() ? law.temperature : 0;
            for (int c = 0; c < nodes && !at_nodes.empty(); ++c) {
                temperatures[p] += reference_points<S, rule>().values[p][c] *
                                   at_nodes[std::size_t(node_numbers[c])];
            }
        }
    }

    /// The forces of the thermal stresses on all functions.
    void find_thermal_forces(const ElasticLaw& law, double (&forces)[functions * d]) const {
        std::fill_n(forces, functions * d, 0.);
        for (int p = 0; p < points; ++p) {
            if (temperatures[p] == 0) continue;
            for (int k = 0; k < functions * d; ++k) {
                double sum = 0;
                for (int l = 0; l < 3; ++l) {
                    const int component = strain_component(d, k % d, l);
                    if (component >= 0) sum += law.thermal_stress[component] * slopes[p][k / d][l];
                }
                forces[k] += volumes[p] * temperatures[p] * sum;
            }
        }
    }

    /// The stiffness, N d x N d numbers by rows, bitwise symmetric, before modes are condensed.
    template <class Lanes = OneLane>
    constexpr void find_stiffness_matrix(const ElasticLaw& law,
                                         double (&stiffness)[functions * d][functions * d],
                                         const Lanes& lanes = {}) const {
        constexpr int n = functions;
        for (int pair = lanes.first; pair < n * (n + 1) / 2; pair += lanes.count) {
            // Rows k and n - 1 - k of the upper triangle have n + 1 pairs together.
            const int k = pair / (n + 1), at = pair % (n + 1);
            const int a = at < n - k ? k : n - 1 - k;
            const int b = at < n - k ? k + at : at - 1;
            double block[d][d];
            d == 3 || axisymmetric ? find_stiffness_block<3>(slopes, volumes, law, a, b, block)
                                   : find_stiffness_block<2>(slopes, volumes, law, a, b, block);
            for (int i = 0; i < d; ++i) {
                for (int j = 0; j < d; ++j) {
                    stiffness[a * d + i][b * d + j] = block[i][j];
                    stiffness[b * d + j][a * d + i] = block[i][j];
                }
            }
        }
    }

    /// The stiffness and thermal forces, condensed.
    void find_stiffness(const ElasticLaw& law,
                        CondensedStiffness<functions, M, d>& stiffness) const {
        find_stiffness_matrix(law, stiffness.full);
        find_thermal_forces(law, stiffness.forces);
        if constexpr (M > 0) stiffness.condense();
    }

    /// The displacements of the nodes, then the coefficients of the modes.
    void find_coefficients(const ElasticLaw& law, std::span<const Index> node_numbers,
                           std::span<const double> displacements,
                           double (&coefficients)[functions][d]) const {
        for (int c = 0; c < nodes; ++c) {
            for (int i = 0; i < d; ++i) {
                coefficients[c][i] = displacements[std::size_t(node_numbers[c]) * d + i];
            }
        }
        if constexpr (M > 0) {
            CondensedStiffness<functions, M, d> stiffness;
            find_stiffness(law, stiffness);
            stiffness.find_modes(coefficients);
        }
    }

    /// The strain at point p less the thermal one: xx, yy, zz, xy, yz, xz, engineering strains of
    /// shear.
    void find_elastic_strain(int p, const ElasticLaw& law,
                             const double (&coefficients)[functions][d],
                             double (&strain)[6]) const {
        for (int k = 0; k < 6; ++k) strain[k] = -temperatures[p] * law.expansion[k];
        for (int c = 0; c < functions; ++c) {
            for (int i = 0; i < d; ++i) {
                for (int k = 0; k < 3; ++k) {
                    const int component = strain_component(d, i, k);
                    if (component < 0) continue;
                    strain[component] += coefficients[c][i] * slopes[p][c][k];
                }
            }
        }
    }
};

/// f(ShapeTag<S>(), std::integral_constant<int, M>()) for the shape S of an element and its number
/// M of incompatible modes.
template <class F>
void with_form(const Elements& elements, Index element, Formulation formulation, bool axisymmetric,
               F&& f) {
    elements.with_shape(element, [&](auto shape) {
        constexpr CellShape s = decltype(shape)::value;
        if constexpr (has_modes(s, Formulation::incompatible_modes)) {
            if (has_modes(s, formulation)) {
                if (dimensions(s) == 2 && axisymmetric) {
                    return f(shape, std::integral_constant<int, 3>());
                }
                return f(shape, std::integral_constant<int, dimensions(s)>());
            }
        }
        f(shape, std::integral_constant<int, 0>());
    });
}

/// The acceleration away from the axis of a spin.
inline Vector centrifugal_acceleration(const Model& model, const Vector& point) {
    const Vector& w = model.spin;
    Vector r{}, acceleration{};
    for (std::size_t i = 0; i < 3; ++i) r[i] = point[i] - model.spin_point[i];
    const double squares = w[0] * w[0] + w[1] * w[1] + w[2] * w[2];
    const double along = w[0] * r[0] + w[1] * r[1] + w[2] * r[2];
    for (std::size_t i = 0; i < 3; ++i) acceleration[i] = squares * r[i] - along * w[i];
    return acceleration;
}

/// visit(p, volume, force per volume, of the body force, weight and spin) at each point of an
/// element.
template <CellShape S, class Form, class Visit>
void each_body_force(const Model& model, const ElasticLaw& material, const Form& form,
                     const double (&points)[node_count(S)][dimensions(S)], Visit&& visit) {
    if (!model.body_force && material.density == 0) return;
    for (int p = 0; p < point_count(S); ++p) {
        const Vector point = position<S>(reference_points<S>(), p, points);
        const Vector away = centrifugal_acceleration(model, point);
        Vector value{};
        if (model.body_force) value = model.body_force(point);
        for (int i = 0; i < 3; ++i) {
            value[i] =
                i < dimensions(S) ? value[i] + material.density * (model.gravity[i] + away[i]) : 0;
        }
        visit(p, form.volumes[p], value);
    }
}

/// The stiffness of an element, n x n numbers by rows, then its n body and thermal forces; without
/// its stiffness, on which the thermal forces of modes depend, the forces alone.
inline void find_element_system(const Elements& elements, const Model& model,
                                const Stiffness& stiffness, const Thickness& thickness,
                                Index element, bool with_stiffness, double* result) {
    const bool axisymmetric = thickness.axisymmetric;
    with_form(elements, element, model.formulation, axisymmetric, [&](auto shape, auto modes) {
        constexpr CellShape s = decltype(shape)::value;
        constexpr int d = dimensions(s), n = node_count(s) * d;
        double points[node_count(s)][d];
        gather<s>(model.mesh, elements.nodes(element), points);
        ElementForm<s, decltype(modes)::value> form(points, thickness);
        form.heat(model, stiffness[element], elements.nodes(element));
        CondensedStiffness<form.functions, decltype(modes)::value, d> condensed;
        if (with_stiffness) {
            form.find_stiffness(stiffness[element], condensed);
            for (int k = 0; k < n; ++k) std::copy_n(condensed.full[k], n, result + k * n);
        } else {
            form.find_thermal_forces(stiffness[element], condensed.forces);
        }
        double* const forces = result + n * n;
        std::copy_n(condensed.forces, n, forces);
        const auto& reference = reference_points<s>();
        each_body_force<s>(model, stiffness[element], form, points,
                           [&](int p, double volume, const Vector& value) {
                               for (int k = 0; k < n; ++k) {
                                   forces[k] += volume * reference.values[p][k / d] * value[k % d];
                               }
                           });
    });
}

}  // namespace tessera::elasticity
