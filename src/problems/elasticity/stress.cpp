#include <numeric>

#include "problems/elasticity/elements.hpp"

namespace tessera::elasticity {

namespace {

/// Rows and columns of the stored components of a symmetric tensor.
constexpr int tensor_rows[2][6] = {{0, 1, 0}, {0, 1, 2, 0, 1, 0}};
constexpr int tensor_columns[2][6] = {{0, 1, 1}, {0, 1, 2, 1, 2, 2}};

/// (grad u + grad u^T) / 2 at point p, `tensor` of tensor_components(d) numbers.
template <CellShape S, int P>
void strain_at(const Geometry<S, P>& geometry, int p, std::span<const Index> nodes,
               std::span<const double> displacements, double* tensor) {
    constexpr int d = dimensions(S);
    double gradient[d][d]{};  // du_i / dx_j
    for (int c = 0; c < corners(S); ++c) {
        for (int i = 0; i < d; ++i) {
            const double u = displacements[std::size_t(nodes[c]) * d + i];
            for (int j = 0; j < d; ++j) gradient[i][j] += u * geometry.gradients[p][c][j];
        }
    }
    for (int k = 0; k < tensor_components(d); ++k) {
        const int i = tensor_rows[d - 2][k], j = tensor_columns[d - 2][k];
        tensor[k] = (gradient[i][j] + gradient[j][i]) / 2;
    }
}

/// lambda tr(strain) I + 2 mu strain, in place.
void strain_to_stress(int dimensions, const Stiffness::Lame& lame, double* tensor) {
    double trace = 0;
    for (int k = 0; k < dimensions; ++k) trace += tensor[k];
    for (int k = 0; k < tensor_components(dimensions); ++k) {
        tensor[k] = 2 * lame.mu * tensor[k] + (k < dimensions ? lame.lambda * trace : 0);
    }
}

void check_size(std::span<const double> displacements, const Mesh& mesh) {
    const std::size_t expected = std::size_t(mesh.node_count()) * mesh.dimensions;
    require(displacements.size() == expected, "the mesh has ", expected, " displacements, not ",
            displacements.size());
    require(displacements.data() != nullptr || expected == 0, "the array of displacements is null");
}

}  // namespace

std::vector<double> element_stresses(const Context& cpu, const Model& model,
                                     std::span<const double> displacements) {
    const Elements elements(model.mesh);
    const Stiffness stiffness(model);
    const int d = model.mesh.dimensions;
    check_size(displacements, model.mesh);
    elements.check_geometry(cpu);
    const std::size_t components = std::size_t(tensor_components(d));
    std::vector<double> tensors(std::size_t(elements.count()) * components);
    elements.each<Rule::centre>(cpu, [&](Index element, const auto& geometry) {
        double* tensor = tensors.data() + std::size_t(element) * components;
        strain_at(geometry, 0, elements.nodes(element), displacements, tensor);
        strain_to_stress(d, stiffness[element], tensor);
    });
    return tensors;
}

double strain_energy(const Context& cpu, const Model& model,
                     std::span<const double> displacements) {
    const Elements elements(model.mesh);
    const Stiffness stiffness(model);
    check_size(displacements, model.mesh);
    elements.check_geometry(cpu);
    const int d = model.mesh.dimensions;
    std::vector<double> energies(std::size_t(elements.count()), 0);
    elements.each<Rule::gauss>(cpu, [&](Index element, const auto& geometry) {
        for (int p = 0; p < int(std::size(geometry.volumes)); ++p) {
            double strain[6], stress[6];
            strain_at(geometry, p, elements.nodes(element), displacements, strain);
            std::copy_n(strain, 6, stress);
            strain_to_stress(d, stiffness[element], stress);
            double product = 0;  // Each shear counts as two entries of the tensor.
            for (int k = 0; k < tensor_components(d); ++k) {
                product += (k < d ? 1 : 2) * strain[k] * stress[k];
            }
            energies[element] += geometry.volumes[p] * product / 2;
        }
    });
    return checked_thickness(model) * std::accumulate(energies.begin(), energies.end(), 0.);
}

std::vector<double> node_means(const Context& cpu, const Mesh& mesh,
                               std::span<const double> element_values, int components) {
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
    elements.each<Rule::gauss>(cpu, [&](Index element, const auto& geometry) {
        for (const double volume : geometry.volumes) volumes[element] += volume;
    });
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

std::vector<double> von_mises(int dimensions, std::span<const double> stresses) {
    require(dimensions == 2 || dimensions == 3, "von_mises: 2 or 3 dimensions");
    const std::size_t components = std::size_t(tensor_components(dimensions));
    require(stresses.size() % components == 0,
            "von_mises: the number of stresses must be a multiple of ", components);
    require(stresses.data() != nullptr || stresses.empty(),
            "von_mises: the array of stresses is null");
    std::vector<double> equivalent(stresses.size() / components);
    for (std::size_t k = 0; k < equivalent.size(); ++k) {
        // Scaled by a power of two, which is exact: the squares stay in range.
        double s[6];
        double largest = 0;
        for (std::size_t j = 0; j < components; ++j) {
            largest = std::max(largest, std::abs(stresses[k * components + j]));
        }
        const int exponent = largest > 0 && std::isfinite(largest) ? std::ilogb(largest) : 0;
        for (std::size_t j = 0; j < components; ++j) {
            s[j] = std::scalbn(stresses[k * components + j], -exponent);
        }
        const double zz = dimensions == 2 ? 0 : s[2];
        const double* shears = s + dimensions;
        double squares = 0;
        for (int j = 0; j < (dimensions == 2 ? 1 : 3); ++j) squares += shears[j] * shears[j];
        const double xy = s[0] - s[1], yz = s[1] - zz, zx = zz - s[0];
        equivalent[k] =
            std::scalbn(std::sqrt((xy * xy + yz * yz + zx * zx) / 2 + 3 * squares), exponent);
    }
    return equivalent;
}

}  // namespace tessera::elasticity
