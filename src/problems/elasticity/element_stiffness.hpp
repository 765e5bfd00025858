#pragma once

#include "problems/elasticity/elements.hpp"

/// The stiffness of one element, with or without incompatible modes.
namespace tessera::elasticity {

/// The largest number of displacements of an element.
inline constexpr int max_element_unknowns = 3 * max_cell_nodes;

constexpr bool has_modes(CellShape shape, Formulation formulation) {
    return formulation == Formulation::incompatible_modes && is_first_order(shape) &&
           family(shape) == CellFamily::cube;
}

/// K += the integral of lambda G_ai G_bj + mu G_aj G_bi + delta_ij mu G_a . G_b with the gradients
/// G[p][a] at P points, n of them each: n D x n D numbers, row by row. Entry (a, i; b, j) sums
/// equal products in the order of (b, j; a, i): bitwise symmetric.
template <int P, int N, int D>
void add_stiffness(const double (&gradients)[P][N][D], const double (&volumes)[P],
                   const Stiffness::Lame& lame, double (&stiffness)[N * D][N * D]) {
    for (int a = 0; a < N; ++a) {
        for (int b = a; b < N; ++b) {
            double integrals[D][D]{};  // Integrals of (dN_a / dx_i) (dN_b / dx_j).
            for (int p = 0; p < P; ++p) {
                for (int i = 0; i < D; ++i) {
                    for (int j = 0; j < D; ++j) {
                        integrals[i][j] += volumes[p] * (gradients[p][a][i] * gradients[p][b][j]);
                    }
                }
            }
            double laplacian = 0;
            for (int k = 0; k < D; ++k) laplacian += integrals[k][k];
            for (int i = 0; i < D; ++i) {
                for (int j = 0; j < D; ++j) {
                    const double entry = lame.lambda * integrals[i][j] + lame.mu * integrals[j][i] +
                                         (i == j ? lame.mu * laplacian : 0);
                    stiffness[a * D + i][b * D + j] = entry;
                    stiffness[b * D + j][a * D + i] = entry;
                }
            }
        }
    }
}

/// The stiffness of an element whose displacements have N D coefficients, the last M D of which,
/// those of incompatible modes, are free and therefore minimise the energy.
template <int N, int M, int D>
class CondensedStiffness {
  public:
    static constexpr int nodes = N - M;
    double full[N * D][N * D];

    /// Subtracts K_um K_mm^-1 K_mu from the part of the nodes: by K_mm = L L^T, with L^-1 K_mu in
    /// the rows of the modes.
    void condense() {
        constexpr int first = nodes * D, last = N * D;
        for (int k = first; k < last; ++k) {
            const double pivot = std::sqrt(full[k][k]);
            for (int j = 0; j < last; ++j) full[k][j] /= pivot;
            for (int i = k + 1; i < last; ++i) {
                const double factor = full[k][i];
                for (int j = 0; j < last; ++j) full[i][j] -= factor * full[k][j];
            }
        }
        for (int i = 0; i < first; ++i) {
            for (int j = i; j < first; ++j) {
                double sum = full[i][j];
                for (int k = first; k < last; ++k) sum -= full[k][i] * full[k][j];
                full[i][j] = full[j][i] = sum;
            }
        }
    }

    /// The coefficients of the modes after condense(), from those of the nodes: -K_mm^-1 K_mu u.
    void find_modes(double (&coefficients)[N][D]) const {
        constexpr int first = nodes * D, last = N * D;
        double modes[M * D];
        for (int k = first; k < last; ++k) {
            double sum = 0;
            for (int j = 0; j < first; ++j) sum -= full[k][j] * coefficients[j / D][j % D];
            modes[k - first] = sum;
        }
        for (int k = last - 1; k >= first; --k) {
            double sum = modes[k - first];
            for (int j = k + 1; j < last; ++j) sum -= full[k][j] * modes[j - first];
            modes[k - first] = sum / full[k][k];
            coefficients[k / D][k % D] = modes[k - first];
        }
    }
};

/// An element of shape S in space: the gradients of its shape functions at the points of a rule
/// and, with M = dimensions(S), of its incompatible modes 1 - x_k^2. The gradients of modes are
/// j(0) / j(x) J(0)^-T dP / dx with the Jacobian J and its determinant j, so that their integrals
/// vanish as on a parallelogram.
template <CellShape S, int M = 0, Rule rule = Rule::stiffness>
struct ElementForm {
    static constexpr CellShape shape = S;
    static constexpr int d = dimensions(S);
    static constexpr int nodes = node_count(S);
    static constexpr int functions = nodes + M;
    static constexpr int points = point_count(S, rule);

    double gradients[points][functions][d];
    double volumes[points];

    ElementForm(const double (&at)[nodes][d], double thickness) {
        const auto& reference = reference_points<S, rule>();
        const Geometry geometry(reference, at);
        for (int p = 0; p < points; ++p) {
            volumes[p] = geometry.volumes[p] * thickness;
            std::copy_n(&geometry.gradients[p][0][0], nodes * d, &gradients[p][0][0]);
        }
        if constexpr (M > 0) {
            const Geometry centre(reference_points<S, Rule::centre>(), at);
            for (int p = 0; p < points; ++p) {
                const double ratio = centre.determinants[0] / geometry.determinants[p];
                for (int k = 0; k < M; ++k) {
                    const double slope = -2 * reference.points[p][k] * ratio;
                    for (int i = 0; i < d; ++i) {
                        gradients[p][nodes + k][i] = slope * centre.inverses[0][i][k];
                    }
                }
            }
        }
    }

    /// The stiffness, condensed.
    void find_stiffness(const Stiffness::Lame& lame,
                        CondensedStiffness<functions, M, d>& stiffness) const {
        add_stiffness(gradients, volumes, lame, stiffness.full);
        if constexpr (M > 0) stiffness.condense();
    }

    /// The displacements of the nodes, then the coefficients of the modes.
    void find_coefficients(const Stiffness::Lame& lame, std::span<const Index> node_numbers,
                           std::span<const double> displacements,
                           double (&coefficients)[functions][d]) const {
        for (int c = 0; c < nodes; ++c) {
            for (int i = 0; i < d; ++i) {
                coefficients[c][i] = displacements[std::size_t(node_numbers[c]) * d + i];
            }
        }
        if constexpr (M > 0) {
            CondensedStiffness<functions, M, d> stiffness;
            find_stiffness(lame, stiffness);
            stiffness.find_modes(coefficients);
        }
    }
};

/// f(ShapeTag<S>(), std::integral_constant<int, M>()) for the shape S of an element and its number
/// M of incompatible modes.
template <class F>
void with_form(const Elements& elements, Index element, Formulation formulation, F&& f) {
    elements.with_shape(element, [&](auto shape) {
        constexpr CellShape s = decltype(shape)::value;
        if constexpr (has_modes(s, Formulation::incompatible_modes)) {
            if (has_modes(s, formulation)) {
                return f(shape, std::integral_constant<int, dimensions(s)>());
            }
        }
        f(shape, std::integral_constant<int, 0>());
    });
}

/// visit(p, volume, force per volume, of the body force and weight) at each point of an element.
template <CellShape S, class Form, class Visit>
void each_body_force(const Model& model, const Stiffness::Lame& material, const Form& form,
                     const double (&points)[node_count(S)][dimensions(S)], Visit&& visit) {
    if (!model.body_force && material.density == 0) return;
    for (int p = 0; p < point_count(S); ++p) {
        Vector value{};
        if (model.body_force) {
            value = model.body_force(position<S>(reference_points<S>(), p, points));
        }
        for (int i = 0; i < 3; ++i) {
            value[i] = i < dimensions(S) ? value[i] + material.density * model.gravity[i] : 0;
        }
        visit(p, form.volumes[p], value);
    }
}

/// The stiffness of an element, n x n numbers by rows, then its n body forces.
inline void find_element_system(const Elements& elements, const Model& model,
                                const Stiffness& stiffness, double thickness, Index element,
                                double* result) {
    with_form(elements, element, model.formulation, [&](auto shape, auto modes) {
        constexpr CellShape s = decltype(shape)::value;
        constexpr int d = dimensions(s), n = node_count(s) * d;
        double points[node_count(s)][d];
        gather<s>(model.mesh, elements.nodes(element), points);
        const ElementForm<s, decltype(modes)::value> form(points, thickness);
        CondensedStiffness<form.functions, decltype(modes)::value, d> condensed;
        form.find_stiffness(stiffness[element], condensed);
        for (int k = 0; k < n; ++k) std::copy_n(condensed.full[k], n, result + k * n);
        double* const forces = result + n * n;
        std::fill_n(forces, n, 0.);
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
