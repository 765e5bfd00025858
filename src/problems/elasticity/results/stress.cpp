#include <numeric>

#include "base/host_memory/host_memory.hpp"
#include "problems/elasticity/elements/strain.hpp"

namespace tessera::elasticity {

std::vector<double> element_stresses(const Context& cpu, const Model& model,
                                     std::span<const double> displacements) {
    const Elements elements(model.mesh);
    const Stiffness stiffness(model);
    check_size(displacements, model.mesh);
    elements.check_geometry(cpu);
    const Thickness thickness = checked_thickness(model, elements);
    std::vector<double> tensors(std::size_t(elements.count()) * tensor_components);
    const auto visit_range = [&](Offset first, Offset last) {
        for (Index element = Index(first); element < last; ++element) {
            elements.with_shape(element, [&](auto shape) {
                // The strains of incompatible modes vanish at the centre.
                constexpr CellShape s = decltype(shape)::value;
                using Form = ElementForm<s, 0, Rule::centre>;
                double points[Form::nodes][Form::d], coefficients[Form::nodes][Form::d];
                gather<s>(model.mesh, elements.nodes(element), points);
                Form form(points, thickness);
                form.heat(model, stiffness[element], elements.nodes(element));
                form.find_coefficients(stiffness[element], elements.nodes(element), displacements,
                                       coefficients);
                double strain[6];
                form.find_elastic_strain(0, stiffness[element], coefficients, strain);
                find_stress(stiffness[element], strain,
                            &tensors[std::size_t(element) * tensor_components]);
            });
        }
    };
    parallel_ranges(cpu.threads(), elements.count(), visit_range, 1024);
    return tensors;
}

namespace {

/// Stresses at the nodes of an element, tensor_components numbers each.
template <CellShape S, int M>
void stresses_at_nodes(const ElementForm<S, M>& form,
                       const double (&coefficients)[node_count(S) + M][dimensions(S)],
                       const ElasticLaw& law, double* result) {
    constexpr int count = point_count(S), components = tensor_components;
    static const Extrapolation<S> extrapolation;
    double stresses[count][components];
    for (int p = 0; p < count; ++p) {
        double strain[6];
        form.find_elastic_strain(p, law, coefficients, strain);
        find_stress(law, strain, stresses[p]);
    }
    for (int n = 0; n < node_count(S); ++n) {
        for (int k = 0; k < components; ++k) {
            double sum = 0;
            for (int p = 0; p < count; ++p) sum += extrapolation.weights[n][p] * stresses[p][k];
            result[n * components + k] = sum;
        }
    }
}

}  // namespace

std::vector<double> node_stresses(const Context& cpu, const Model& model,
                                  std::span<const double> displacements) {
    const Mesh& mesh = model.mesh;
    const Elements elements(mesh);
    const Stiffness stiffness(model);
    check_size(displacements, mesh);
    elements.check_geometry(cpu);
    const Thickness thickness = checked_thickness(model, elements);
    constexpr auto components = std::size_t(tensor_components);
    std::vector<Offset> starts{0};  // First node of each element among those of all.
    for (Index element = 0; element < elements.count(); ++element) {
        starts.push_back(starts.back() + Offset(elements.nodes(element).size()));
    }
    require_host_memory("the stresses at nodes", double(starts.back() + mesh.node_count()) *
                                                     double(components * sizeof(double)));
    std::vector<double> by_element(std::size_t(starts.back()) * components);
    each_solved_element(cpu, model, elements, stiffness, displacements, thickness,
                        [&](Index element, const auto& form, const auto& coefficients) {
                            stresses_at_nodes(
                                form, coefficients, stiffness[element],
                                &by_element[std::size_t(starts[element]) * components]);
                        });
    const NodeElements node_elements(elements);
    std::vector<double> means(std::size_t(mesh.node_count()) * components, 0);
    const auto average = [&](Offset first, Offset last) {
        for (Index node = Index(first); node < last; ++node) {
            double* const mean = &means[std::size_t(node) * components];
            const double share = 1. / double(node_elements[node].size());
            for (const Index element : node_elements[node]) {
                const auto nodes = elements.nodes(element);
                const auto k = std::size_t(std::ranges::find(nodes, node) - nodes.begin());
                const double* const values =
                    &by_element[(std::size_t(starts[element]) + k) * components];
                for (std::size_t c = 0; c < components; ++c) mean[c] += share * values[c];
            }
        }
    };
    parallel_ranges(cpu.threads(), mesh.node_count(), average, 1024);
    return means;
}

double strain_energy(const Context& cpu, const Model& model,
                     std::span<const double> displacements) {
    const Elements elements(model.mesh);
    const Stiffness stiffness(model);
    check_size(displacements, model.mesh);
    elements.check_geometry(cpu);
    const Thickness thickness = checked_thickness(model, elements);
    std::vector<double> energies(std::size_t(elements.count()), 0);
    each_solved_element(
        cpu, model, elements, stiffness, displacements, thickness,
        [&](Index element, const auto& form, const auto& coefficients) {
            for (int p = 0; p < int(std::size(form.volumes)); ++p) {
                double strain[6];
                form.find_elastic_strain(p, stiffness[element], coefficients, strain);
                energies[element] +=
                    form.volumes[p] / 2 * energy_density(stiffness[element], strain);
            }
        });
    return std::accumulate(energies.begin(), energies.end(), 0.);
}

std::vector<double> node_means(const Context& cpu, const Mesh& mesh,
                               std::span<const double> element_values, int components,
                               PlaneKind plane) {
    const Elements elements(mesh);
    require(components >= 1, "node_means needs at least one component");
    require(element_values.size() == std::size_t(elements.count()) * components,
            "node_means: ", element_values.size(), " values for ", elements.count(),
            " elements of ", components, " components");
    require(element_values.data() != nullptr || element_values.empty(),
            "node_means: the array of values is null");
    elements.check_geometry(cpu);
    const NodeElements node_elements(elements);
    std::vector<double> volumes(std::size_t(elements.count()), 0);
    const bool axisymmetric = mesh.dimensions == 2 && plane == PlaneKind::axisymmetric;
    const auto add_volumes = [&](Offset first, Offset last) {
        for (Index element = Index(first); element < last; ++element) {
            elements.with_shape(element, [&](auto shape) {
                constexpr CellShape s = decltype(shape)::value;
                double points[node_count(s)][dimensions(s)];
                gather<s>(mesh, elements.nodes(element), points);
                const ElementForm<s> form(points, {1, axisymmetric});
                for (const double volume : form.volumes) volumes[element] += volume;
            });
        }
    };
    parallel_ranges(cpu.threads(), elements.count(), add_volumes, 1024);
    std::vector<double> means(std::size_t(mesh.node_count()) * components, 0);
    const auto average = [&](Offset first, Offset last) {
        for (Index node = Index(first); node < last; ++node) {
            double* mean = means.data() + std::size_t(node) * components;
            double total = 0;
            for (const Index element : node_elements[node]) total += volumes[element];
            for (const Index element : node_elements[node]) {
                // At most 1: volume times value may be out of range.
                const double share = volumes[element] / total;
                const double* values = element_values.data() + std::size_t(element) * components;
                for (int k = 0; k < components; ++k) mean[k] += share * values[k];
            }
        }
    };
    parallel_ranges(cpu.threads(), mesh.node_count(), average, 1024);
    return means;
}

std::vector<double> von_mises(std::span<const double> stresses) {
    constexpr auto components = std::size_t(tensor_components);
    require(stresses.size() % components == 0,
            "von_mises: the number of stresses must be a multiple of ", components);
    require(stresses.data() != nullptr || stresses.empty(),
            "von_mises: the array of stresses is null");
    std::vector<double> equivalent(stresses.size() / components);
    for (std::size_t k = 0; k < equivalent.size(); ++k) {
        // Scaled by a power of two, which is exact: the squares stay in range.
        double s[components];
        double largest = 0;
        for (std::size_t j = 0; j < components; ++j) {
            largest = std::max(largest, std::abs(stresses[k * components + j]));
        }
        const int exponent = largest > 0 && std::isfinite(largest) ? std::ilogb(largest) : 0;
        for (std::size_t j = 0; j < components; ++j) {
            s[j] = std::scalbn(stresses[k * components + j], -exponent);
        }
        const double xy = s[0] - s[1], yz = s[1] - s[2], zx = s[2] - s[0];
        const double shears = s[3] * s[3] + s[4] * s[4] + s[5] * s[5];
        equivalent[k] =
            std::scalbn(std::sqrt((xy * xy + yz * yz + zx * zx) / 2 + 3 * shears), exponent);
    }
    return equivalent;
}

}  // namespace tessera::elasticity
