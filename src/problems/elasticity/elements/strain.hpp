#pragma once

#include "problems/elasticity/elements/element_stiffness.hpp"

/// Strains and stresses in elements.
namespace tessera::elasticity {

/// visit(element, form at the points of the rule, coefficients of its functions) for all elements,
/// by all threads.
template <Rule rule = Rule::stiffness, class Visit>
void each_solved_element(const Context& cpu, const Model& model, const Elements& elements,
                         const Stiffness& stiffness, std::span<const double> displacements,
                         const Thickness& thickness, Visit&& visit) {
    const auto visit_range = [&](Offset first, Offset last) {
        for (Index element = Index(first); element < last; ++element) {
            const bool axisymmetric = thickness.axisymmetric;
            with_form(elements, element, model.formulation, axisymmetric,
                      [&](auto shape, auto modes) {
                          constexpr CellShape s = decltype(shape)::value;
                          using Form = ElementForm<s, decltype(modes)::value, rule>;
                          double points[Form::nodes][Form::d];
                          double coefficients[Form::functions][Form::d];
                          gather<s>(model.mesh, elements.nodes(element), points);
                          Form form(points, thickness);
                          form.heat(model, stiffness[element], elements.nodes(element));
                          form.find_coefficients(stiffness[element], elements.nodes(element),
                                                 displacements, coefficients);
                          visit(element, form, coefficients);
                      });
        }
    };
    parallel_ranges(cpu.threads(), elements.count(), visit_range, 256);
}

inline void find_stress(const ElasticLaw& law, const double (&strain)[6], double* stress) {
    for (int i = 0; i < tensor_components; ++i) {
        double sum = 0;
        for (int j = 0; j < tensor_components; ++j) sum += law.matrix[i][j] * strain[j];
        stress[i] = sum;
    }
}

/// Elastic strain : stress.
inline double energy_density(const ElasticLaw& law, const double (&strain)[6]) {
    double stress[6], product = 0;
    find_stress(law, strain, stress);
    for (int k = 0; k < tensor_components; ++k) product += strain[k] * stress[k];
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
