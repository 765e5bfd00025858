#pragma once

#include "problems/elasticity/element_stiffness.hpp"

/// Strains and stresses in elements.
namespace tessera::elasticity {

/// Rows and columns of the stored components of a symmetric tensor.
inline constexpr int tensor_rows[2][6] = {{0, 1, 0}, {0, 1, 2, 0, 1, 0}};
inline constexpr int tensor_columns[2][6] = {{0, 1, 1}, {0, 1, 2, 1, 2, 2}};

/// (grad u + grad u^T) / 2, `tensor` of tensor_components(d) numbers, for u = sum of c_a N_a with
/// the gradients of N functions.
template <int N, int D>
void strain_of(const double (&gradients)[N][D], const double (&coefficients)[N][D],
               double* tensor) {
    double gradient[D][D]{};  // du_i / dx_j
    for (int c = 0; c < N; ++c) {
        for (int i = 0; i < D; ++i) {
            for (int j = 0; j < D; ++j) gradient[i][j] += coefficients[c][i] * gradients[c][j];
        }
    }
    for (int k = 0; k < tensor_components(D); ++k) {
        const int i = tensor_rows[D - 2][k], j = tensor_columns[D - 2][k];
        tensor[k] = (gradient[i][j] + gradient[j][i]) / 2;
    }
}

/// visit(element, form at the points of the rule, coefficients of its functions) for all elements,
/// by all threads.
template <Rule rule = Rule::stiffness, class Visit>
void each_solved_element(const Context& cpu, const Model& model, const Elements& elements,
                         const Stiffness& stiffness, std::span<const double> displacements,
                         double thickness, Visit&& visit) {
    const auto visit_range = [&](Offset first, Offset last) {
        for (Index element = Index(first); element < last; ++element) {
            with_form(elements, element, model.formulation, [&](auto shape, auto modes) {
                constexpr CellShape s = decltype(shape)::value;
                using Form = ElementForm<s, decltype(modes)::value, rule>;
                double points[Form::nodes][Form::d];
                double coefficients[Form::functions][Form::d];
                gather<s>(model.mesh, elements.nodes(element), points);
                const Form form(points, thickness);
                form.find_coefficients(stiffness[element], elements.nodes(element), displacements,
                                       coefficients);
                visit(element, form, coefficients);
            });
        }
    };
    parallel_ranges(cpu.threads(), elements.count(), visit_range, 256);
}

/// lambda tr(strain) I + 2 mu strain, in place.
inline void strain_to_stress(int dimensions, const Stiffness::Lame& lame, double* tensor) {
    double trace = 0;
    for (int k = 0; k < dimensions; ++k) trace += tensor[k];
    for (int k = 0; k < tensor_components(dimensions); ++k) {
        tensor[k] = 2 * lame.mu * tensor[k] + (k < dimensions ? lame.lambda * trace : 0);
    }
}

/// strain : stress.
inline double energy_density(int d, const Stiffness::Lame& material, const double* strain) {
    double stress[6];
    std::copy_n(strain, tensor_components(d), stress);
    strain_to_stress(d, material, stress);
    double product = 0;  // Each shear counts as two entries of the tensor.
    for (int k = 0; k < tensor_components(d); ++k) {
        product += (k < d ? 1 : 2) * strain[k] * stress[k];
    }
    return product;
}

/// Throws InvalidArgument unless there are `dimensions` displacements for each node.
inline void check_size(std::span<const double> displacements, const Mesh& mesh) {
    const std::size_t expected = std::size_t(mesh.node_count()) * mesh.dimensions;
    require(displacements.size() == expected, "the mesh has ", expected, " displacements, not ",
            displacements.size());
    require(displacements.data() != nullptr || expected == 0, "the array of displacements is null");
}

}  // namespace tessera::elasticity
