#include <algorithm>
#include <limits>
#include <numeric>

#include "base/host_memory/host_memory.hpp"
#include "problems/elasticity/elements/strain.hpp"

namespace tessera::elasticity {

namespace {

/// The monomials of degree 1 or 2 in `axes` coordinates.
constexpr int term_count(int axes, int degree) {
    return degree == 1 ? axes + 1 : (axes + 1) * (axes + 2) / 2;
}
constexpr int max_terms = term_count(3, 2);

void set_terms(int axes, int degree, const Vector& x, double* terms) {
    *terms++ = 1;
    for (int i = 0; i < axes; ++i) *terms++ = x[std::size_t(i)];
    for (int i = 0; i < axes && degree == 2; ++i) {
        for (int j = i; j < axes; ++j) *terms++ = x[std::size_t(i)] * x[std::size_t(j)];
    }
}

/// For each element a number that those of equal materials share.
std::vector<int> material_numbers(const Elements& elements, const Stiffness& stiffness) {
    std::vector<int> numbers(std::size_t(elements.count()));
    std::vector<const ElasticLaw*> known;
    std::size_t latest = 0;
    for (Index element = 0; element < elements.count(); ++element) {
        const auto& material = stiffness[element];
        if (known.empty() || known[latest] != &material) {
            for (latest = 0; latest < known.size(); ++latest) {
                if (*known[latest] == material) break;
            }
            if (latest == known.size()) known.push_back(&material);
        }
        numbers[std::size_t(element)] = int(latest);
    }
    return numbers;
}

/// Elastic strains at the accurate points of elements.
class Samples {
  public:
    Samples(const Context& cpu, const Model& model, const Elements& elements,
            const Stiffness& stiffness, const Thickness& thickness,
            std::span<const double> displacements) {
        for (Index element = 0; element < elements.count(); ++element) {
            const int count = point_count(elements.shape(element), Rule::accurate);
            starts_.push_back(starts_.back() + std::size_t(count));
        }
        points_.resize(starts_.back());
        strains_.resize(starts_.back() * tensor_components);
        const auto sample = [&](Offset first, Offset last) {
            for (Index element = Index(first); element < last; ++element) {
                elements.with_shape(element, [&](auto shape) {
                    sample_element<decltype(shape)::value>(model, elements, stiffness[element],
                                                           thickness, element, displacements);
                });
            }
        };
        parallel_ranges(cpu.threads(), elements.count(), sample, 256);
    }

    std::size_t count(Index element) const {
        return starts_[std::size_t(element) + 1] - starts_[std::size_t(element)];
    }
    const Vector& point(Index element, std::size_t k) const {
        return points_[starts_[std::size_t(element)] + k];
    }
    const double* strain(Index element, std::size_t k) const {
        return &strains_[(starts_[std::size_t(element)] + k) * tensor_components];
    }

  private:
    template <CellShape S>
    void sample_element(const Model& model, const Elements& elements, const ElasticLaw& law,
                        const Thickness& thickness, Index element,
                        std::span<const double> displacements) {
        // The strains of incompatible modes vanish at the centre.
        using Form = ElementForm<S, 0, Rule::accurate>;
        const std::span<const Index> nodes = elements.nodes(element);
        double at[Form::nodes][Form::d], coefficients[Form::nodes][Form::d];
        gather<S>(elements.mesh(), nodes, at);
        Form form(at, thickness);
        form.heat(model, law, nodes);
        form.find_coefficients(law, nodes, displacements, coefficients);
        std::size_t sample = starts_[std::size_t(element)];
        for (int p = 0; p < Form::points; ++p, ++sample) {
            points_[sample] = position<S>(reference_points<S, Rule::accurate>(), p, at);
            double strain[6];
            form.find_elastic_strain(p, law, coefficients, strain);
            std::copy_n(strain, tensor_components, &strains_[sample * tensor_components]);
        }
    }

    std::vector<std::size_t> starts_{0};  ///< First sample of each element.
    std::vector<Vector> points_;
    std::vector<double> strains_;
};

/// The normal equations of a fit of `count` terms to strains at several points.
struct NormalEquations {
    int count;
    double matrix[max_terms][max_terms]{};
    double sums[max_terms][tensor_components]{};

    void add(const double* terms, const double* values) {
        for (int i = 0; i < count; ++i) {
            for (int j = 0; j <= i; ++j) matrix[i][j] += terms[i] * terms[j];
            for (int c = 0; c < tensor_components; ++c) sums[i][c] += terms[i] * values[c];
        }
    }

    /// Leaves the factors of the terms in `sums`: those of terms that the points do not tell apart
    /// from others are small. By Cholesky factors; returns their smallest squared pivot over
    /// the number of points.
    double solve() {
        constexpr double regularisation = 1e-9;
        const double points = matrix[0][0];
        double smallest = 1;
        for (int k = 1; k < count; ++k) matrix[k][k] += regularisation * points;
        for (int k = 0; k < count; ++k) {
            for (int j = 0; j < k; ++j) {
                for (int i = k; i < count; ++i) matrix[i][k] -= matrix[i][j] * matrix[k][j];
            }
            smallest = std::min(smallest, matrix[k][k] / points);
            const double pivot = std::sqrt(matrix[k][k]);
            for (int i = k; i < count; ++i) matrix[i][k] /= pivot;
        }
        for (int c = 0; c < tensor_components; ++c) {
            for (int k = 0; k < count; ++k) {
                for (int j = 0; j < k; ++j) sums[k][c] -= matrix[k][j] * sums[j][c];
                sums[k][c] /= matrix[k][k];
            }
            for (int k = count - 1; k >= 0; --k) {
                for (int j = k + 1; j < count; ++j) sums[k][c] -= matrix[j][k] * sums[j][c];
                sums[k][c] /= matrix[k][k];
            }
        }
        return smallest;
    }
};

/// A polynomial for each corner node and material of its elements.
class Patches {
  public:
    Patches(const Context& cpu, const Elements& elements, const Stiffness& stiffness,
            const Samples& samples)
        : elements_(elements),
          samples_(samples),
          node_elements_(elements),
          materials_(material_numbers(elements, stiffness)),
          axes_(elements.mesh().dimensions) {
        for (const Cells& cells : elements.mesh().elements) {
            if (!cells.nodes.empty() && !is_first_order(cells.shape)) degree_ = 2;
        }
        const Index nodes = elements.mesh().node_count();
        // Nodes of the surface, which have larger patches, often come first.
        const auto each_node = [&](auto&& visit) {
            constexpr Index piece = 256;
            parallel_tasks(cpu.threads(), (Offset(nodes) + piece - 1) / piece, [&](Offset k) {
                const Index end = Index(std::min<Offset>(nodes, (k + 1) * piece));
                for (Index node = Index(k * piece); node < end; ++node) visit(node);
            });
        };
        starts_.assign(std::size_t(nodes) + 1, 0);
        each_node([&](Index node) { starts_[node + 1] = Offset(materials_of(node).size()); });
        std::partial_sum(starts_.begin(), starts_.end(), starts_.begin());
        patch_materials_.resize(std::size_t(starts_.back()));
        const std::size_t numbers = std::size_t(starts_.back()) * size();
        require_host_memory("the estimate of the error", double(numbers) * sizeof(double));
        polynomials_.resize(numbers);
        each_node([&](Index node) {
            Offset patch = starts_[node];
            for (const int material : materials_of(node)) {
                patch_materials_[std::size_t(patch)] = material;
                fit(node, material, &polynomials_[std::size_t(patch++) * size()]);
            }
        });
    }

    /// Adds weight times the strain at x of the polynomial of a corner of an element.
    void add_strain(Index element, Index corner, const Vector& x, double weight,
                    double* strain) const {
        Offset patch = starts_[corner];
        while (patch_materials_[std::size_t(patch)] != materials_[std::size_t(element)]) ++patch;
        const double* const polynomial = &polynomials_[std::size_t(patch) * size()];
        double terms[max_terms];
        const int count = term_count(axes_, degree_);
        set_terms(axes_, degree_, relative(corner, x, polynomial), terms);
        for (int k = 0; k < tensor_components; ++k) {
            const double* const factors = polynomial + axes_ + k * count;
            for (int t = 0; t < count; ++t) strain[k] += weight * factors[t] * terms[t];
        }
    }

  private:
    /// The numbers of a polynomial: its unit of length along each axis, then the factors of each
    /// component.
    std::size_t size() const {
        return std::size_t(axes_ + tensor_components * term_count(axes_, degree_));
    }

    bool has_corner(Index element, Index node) const {
        const std::span<const Index> nodes = elements_.corner_nodes(element);
        return std::ranges::find(nodes, node) != nodes.end();
    }

    /// The materials of the elements with this corner, in their order.
    std::vector<int> materials_of(Index node) const {
        std::vector<int> found;
        for (const Index element : node_elements_[node]) {
            const int material = materials_[std::size_t(element)];
            if (std::ranges::find(found, material) != found.end()) continue;
            if (has_corner(element, node)) found.push_back(material);
        }
        return found;
    }

    Vector relative(Index node, const Vector& x, const double* units) const {
        Vector result{};
        for (int i = 0; i < axes_; ++i) {
            const double origin = elements_.mesh().points[std::size_t(node) * axes_ + i];
            result[std::size_t(i)] = (x[std::size_t(i)] - origin) / units[i];
        }
        return result;
    }

    /// The elements of this material at a node; with a `second_layer` also those at their corners.
    std::vector<Index> patch_of(Index node, int material, bool second_layer) const {
        std::vector<Index> patch;
        const auto add_elements_at = [&](Index corner) {
            for (const Index element : node_elements_[corner]) {
                if (materials_[std::size_t(element)] == material) patch.push_back(element);
            }
        };
        add_elements_at(node);
        if (!second_layer) return patch;
        std::vector<Index> corners;
        for (const Index element : patch) {
            for (const Index corner : elements_.corner_nodes(element)) corners.push_back(corner);
        }
        sort_distinct(corners);
        patch.clear();
        for (const Index corner : corners) add_elements_at(corner);
        sort_distinct(patch);
        return patch;
    }

    static void sort_distinct(std::vector<Index>& numbers) {
        std::ranges::sort(numbers);
        const auto repeated = std::ranges::unique(numbers);
        numbers.erase(repeated.begin(), repeated.end());
    }

    /// visit(element, k) for all samples of a patch.
    template <class Visit>
    void each_sample(const std::vector<Index>& patch, Visit&& visit) const {
        for (const Index element : patch) {
            for (std::size_t k = 0; k < samples_.count(element); ++k) visit(element, k);
        }
    }

    void fit(Index node, int material, double* polynomial) const {
        // On a surface the elements at a node are one layer, which has no second derivatives.
        if (fit_patch(node, patch_of(node, material, false), polynomial)) return;
        fit_patch(node, patch_of(node, material, true), polynomial);
    }

    /// Least squares; false if the samples do not determine all terms well.
    bool fit_patch(Index node, const std::vector<Index>& patch, double* polynomial) const {
        double* const units = polynomial;
        std::fill_n(units, axes_, 0.);
        const double ones[3] = {1, 1, 1};
        each_sample(patch, [&](Index element, std::size_t k) {
            const Vector x = relative(node, samples_.point(element, k), ones);
            for (int i = 0; i < axes_; ++i) units[i] = std::max(units[i], std::abs(x[i]));
        });
        for (int i = 0; i < axes_; ++i) {
            if (units[i] == 0) units[i] = 1;
        }
        NormalEquations equations{term_count(axes_, degree_)};
        each_sample(patch, [&](Index element, std::size_t k) {
            double terms[max_terms];
            set_terms(axes_, degree_, relative(node, samples_.point(element, k), units), terms);
            equations.add(terms, samples_.strain(element, k));
        });
        const double smallest_pivot = equations.solve();
        for (int c = 0; c < tensor_components; ++c) {
            for (int t = 0; t < equations.count; ++t) {
                polynomial[axes_ + c * equations.count + t] = equations.sums[t][c];
            }
        }
        return smallest_pivot > 1e-3;
    }

    const Elements& elements_;
    const Samples& samples_;
    NodeElements node_elements_;
    std::vector<int> materials_;  ///< The number of each element's material.
    int axes_;
    int degree_ = 1;
    std::vector<Offset> starts_;  ///< First patch of each node.
    std::vector<int> patch_materials_;
    std::vector<double> polynomials_;
};

/// Shape functions of the corners alone at the points of Rule::error.
template <CellShape S>
const auto& corner_weights() {
    constexpr int count = corners(S);
    using Weights = std::array<std::array<double, count>, point_count(S, Rule::error)>;
    static const Weights weights = [] {
        Weights made;
        for (int p = 0; p < point_count(S, Rule::error); ++p) {
            const double* const at = reference_points<S, Rule::error>().points[p];
            const Dual<1> x[3]{{at[0]}, {at[1]}, {at[2]}};
            for (int c = 0; c < count; ++c) {
                made[p][c] = shape_function<first_order(S)>(c, x).value;
            }
        }
        return made;
    }();
    return weights;
}

}  // namespace

ErrorEstimate estimate_error(const Context& cpu, const Model& model,
                             std::span<const double> displacements) {
    const Mesh& mesh = model.mesh;
    const Elements elements(mesh);
    const Stiffness stiffness(model);
    check_size(displacements, mesh);
    elements.check_geometry(cpu);
    const Thickness thickness = checked_thickness(model, elements);
    const Samples samples(cpu, model, elements, stiffness, thickness, displacements);
    const Patches patches(cpu, elements, stiffness, samples);
    ErrorEstimate estimate;
    estimate.elements.assign(std::size_t(elements.count()), 0);
    std::vector<double> energies(estimate.elements.size(), 0), noise(energies);
    double largest = 0;  // Displacement.
    for (const double u : displacements) largest = std::max(largest, std::abs(u));
    const auto estimate_element = [&](Index element, const auto& form, const auto& coefficients) {
        constexpr CellShape s = std::remove_cvref_t<decltype(form)>::shape;
        double at[node_count(s)][dimensions(s)];
        const std::span<const Index> nodes = elements.nodes(element);
        gather<s>(mesh, nodes, at);
        const ElasticLaw& law = stiffness[element];
        double error = 0, energy = 0, heating = 0;
        for (int p = 0; p < point_count(s, Rule::error); ++p) {
            double strain[6]{}, difference[6]{};
            form.find_elastic_strain(p, law, coefficients, strain);
            const Vector x = position<s>(reference_points<s, Rule::error>(), p, at);
            for (int c = 0; c < corners(s); ++c) {
                patches.add_strain(element, nodes[std::size_t(c)], x, corner_weights<s>()[p][c],
                                   difference);
            }
            for (int k = 0; k < 6; ++k) difference[k] -= strain[k];
            error += form.volumes[p] * energy_density(law, difference);
            energy += form.volumes[p] * energy_density(law, strain);
            heating += form.volumes[p] * form.temperatures[p] * form.temperatures[p] *
                       energy_density(law, law.expansion);
        }
        estimate.elements[std::size_t(element)] = error;
        energies[std::size_t(element)] = energy;
        // The energy of rounding errors of the displacements, and where a structure expands freely
        // of the errors of a solve.
        const double volume = std::accumulate(std::begin(form.volumes), std::end(form.volumes), 0.);
        const double length = std::pow(volume / thickness.length, 1. / mesh.dimensions);
        const double strain = 64 * std::numeric_limits<double>::epsilon() * largest / length;
        noise[std::size_t(element)] = volume * law.matrix[0][0] * strain * strain + 1e-10 * heating;
    };
    each_solved_element<Rule::error>(cpu, model, elements, stiffness, displacements, thickness,
                                     estimate_element);
    const double error = std::accumulate(estimate.elements.begin(), estimate.elements.end(), 0.);
    const double all = error + std::accumulate(energies.begin(), energies.end(), 0.);
    // Without deformation there is no error.
    if (all <= std::accumulate(noise.begin(), noise.end(), 0.)) {
        std::ranges::fill(estimate.elements, 0.);
        return estimate;
    }
    estimate.relative = std::sqrt(error / all);
    for (double& part : estimate.elements) part = std::sqrt(part / all);
    return estimate;
}

}  // namespace tessera::elasticity
