#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <numeric>
#include <span>
#include <type_traits>
#include <vector>

#include "base/concat.hpp"
#include "base/parallel.hpp"
#include "problems/elasticity/elements/elastic_law.hpp"
#include "problems/elasticity/elements/reference.hpp"
#include "tessera/elasticity.hpp"

/// Derivatives of shape functions on a mesh, and the elements at a node.
namespace tessera::elasticity {

/// An element of shape S in space at P points: dN_c / dx, and weight times Jacobian.
template <CellShape S, int P>
struct Geometry {
    static constexpr int axes = dimensions(S);
    static constexpr int nodes = node_count(S);
    double gradients[P][nodes][axes];
    double volumes[P];
    double determinants[P];
    double inverses[P][axes][axes];  ///< d reference_k / dx_i at [i][k].
    /// Smallest Jacobian over the product of the lengths of its rows: at most 1, 0 where flat, NaN
    /// where an edge has no length.
    double quality = 1;

    /// `points` are the nodes' coordinates.
    Geometry(const Reference<S, P>& reference, const double (&points)[nodes][axes]) {
        for (int p = 0; p < P; ++p) {
            const double ratio = set_point(p, reference, p, points);
            if (!(ratio >= quality) && !std::isnan(quality)) quality = ratio;
        }
    }
    Geometry() = default;

    /// Sets point p to point q of a reference; returns its Jacobian over the product of the lengths
    /// of its rows.
    template <int Q>
    constexpr double set_point(int p, const Reference<S, Q>& reference, int q,
                               const double (&points)[nodes][axes]) {
        double jacobian[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};  // dx_j / d reference_i
        double lengths = 1;
        for (int i = 0; i < axes; ++i) {
            double squares = 0;
            for (int j = 0; j < axes; ++j) {
                double sum = 0;
                for (int c = 0; c < nodes; ++c) {
                    sum += reference.derivatives[q][c][i] * points[c][j];
                }
                jacobian[i][j] = sum;
                squares += sum * sum;
            }
            lengths *= std::sqrt(squares);
        }
        double adjugate[3][3];
        for (int i = 0; i < 3; ++i) {
            const int i1 = (i + 1) % 3, i2 = (i + 2) % 3;
            for (int j = 0; j < 3; ++j) {
                const int j1 = (j + 1) % 3, j2 = (j + 2) % 3;
                adjugate[j][i] =
                    jacobian[i1][j1] * jacobian[i2][j2] - jacobian[i1][j2] * jacobian[i2][j1];
            }
        }
        double determinant = 0;
        for (int j = 0; j < 3; ++j) determinant += jacobian[0][j] * adjugate[j][0];
        determinants[p] = determinant;
        volumes[p] = reference.weights[q] * determinant;
        for (int i = 0; i < axes; ++i) {
            for (int k = 0; k < axes; ++k) inverses[p][i][k] = adjugate[i][k] / determinant;
        }
        for (int c = 0; c < nodes; ++c) {
            for (int i = 0; i < axes; ++i) {
                double sum = 0;
                for (int k = 0; k < axes; ++k) {
                    sum += adjugate[i][k] * reference.derivatives[q][c][k];
                }
                gradients[p][c][i] = sum / determinant;
            }
        }
        return determinant / lengths;
    }
};

/// Coordinates of the nodes of a cell of shape S in D dimensions.
template <CellShape S, int D>
void gather(const Mesh& mesh, std::span<const Index> nodes, double (&points)[node_count(S)][D]) {
    for (int c = 0; c < node_count(S); ++c) {
        for (int i = 0; i < D; ++i) points[c][i] = mesh.points[std::size_t(nodes[c]) * D + i];
    }
}

/// x = sum over the nodes of N_c x_c at point p.
template <CellShape S, int P, int D>
constexpr Vector position(const Reference<S, P>& reference, int p,
                          const double (&points)[node_count(S)][D]) {
    Vector x{};
    for (int i = 0; i < D; ++i) {
        for (int c = 0; c < node_count(S); ++c) x[i] += reference.values[p][c] * points[c][i];
    }
    return x;
}

/// f(ShapeTag<S>()) for the one of these shapes that `shape` is; the last one where it is no other.
template <CellShape S, CellShape... Others, class F>
auto select_shape(CellShape shape, F&& f) {
    if constexpr (sizeof...(Others) > 0) {
        if (shape != S) return select_shape<Others...>(shape, f);
    }
    return f(ShapeTag<S>());
}

/// The elements of all shapes, numbered consecutively. Validates the mesh and refers to it.
class Elements {
  public:
    explicit Elements(const Mesh& mesh);

    const Mesh& mesh() const { return mesh_; }
    Index count() const { return starts_.back(); }
    CellShape shape(Index element) const { return mesh_.elements[part(element)].shape; }
    std::span<const Index> nodes(Index element) const {
        const std::size_t k = part(element);
        const std::size_t n = std::size_t(node_count(mesh_.elements[k].shape));
        return {mesh_.elements[k].nodes.data() + std::size_t(element - starts_[k]) * n, n};
    }
    std::span<const Index> corner_nodes(Index element) const {
        return nodes(element).first(std::size_t(corners(shape(element))));
    }
    /// f(ShapeTag<S>()) for the shape of the element.
    template <class F>
    auto with_shape(Index element, F&& f) const {
        return select_shape<CellShape::triangle, CellShape::quadrilateral, CellShape::tetrahedron,
                            CellShape::hexahedron, CellShape::prism, CellShape::pyramid,
                            CellShape::triangle6, CellShape::quadrilateral8,
                            CellShape::quadrilateral9, CellShape::tetrahedron10, CellShape::prism15,
                            CellShape::hexahedron20, CellShape::hexahedron27>(shape(element), f);
    }
    /// visit(element, geometry at the points of the rule) by all threads.
    template <Rule rule, class Visit>
    void each(const Context& cpu, Visit&& visit) const {
        const auto visit_range = [&](Offset first, Offset last) {
            for (Index element = Index(first); element < last; ++element) {
                with_shape(element, [&](auto shape) {
                    constexpr CellShape s = decltype(shape)::value;
                    double points[node_count(s)][dimensions(s)];
                    gather<s>(mesh_, nodes(element), points);
                    visit(element, Geometry(reference_points<s, rule>(), points));
                });
            }
        };
        parallel_ranges(cpu.threads(), count(), visit_range, 1024);
    }
    /// Throws InvalidArgument that names the first element that is inverted or flat.
    void check_geometry(const Context& cpu) const;
    /// Its number, shape, nodes and their coordinates.
    std::string description(Index element) const;

  private:
    std::size_t part(Index element) const {
        return std::size_t(std::upper_bound(starts_.begin(), starts_.end(), element) -
                           starts_.begin()) -
               1;
    }

    const Mesh& mesh_;
    std::vector<Index> starts_;  ///< First element of each shape, and the number of elements.
};

/// The elements at each node, ascending.
class NodeElements {
  public:
    explicit NodeElements(const Elements& elements)
        : NodeElements(elements, [&](Index element) { return elements.nodes(element); }) {}
    /// `nodes_of(element)`: a span of nodes in the place of the element's own.
    template <class NodesOf>
    NodeElements(const Elements& elements, const NodesOf& nodes_of)
        : starts_(std::size_t(elements.mesh().node_count()) + 1, 0) {
        for (Index element = 0; element < elements.count(); ++element) {
            for (const Index node : nodes_of(element)) ++starts_[node + 1];
        }
        std::partial_sum(starts_.begin(), starts_.end(), starts_.begin());
        elements_.resize(std::size_t(starts_.back()));
        std::vector<Offset> next(starts_.begin(), starts_.end() - 1);
        for (Index element = 0; element < elements.count(); ++element) {
            for (const Index node : nodes_of(element)) elements_[next[node]++] = element;
        }
    }
    std::span<const Index> operator[](Index node) const {
        return {elements_.data() + starts_[node], std::size_t(starts_[node + 1] - starts_[node])};
    }
    /// The elements of all nodes one after the other, and where those of each node begin.
    std::span<const Index> all() const { return elements_; }
    std::span<const Offset> starts() const { return starts_; }

  private:
    std::vector<Offset> starts_;
    std::vector<Index> elements_;
};

/// A bit for each face of each element: on the surface, no other element has all its corners.
std::vector<unsigned char> find_surface(const Context& cpu, const Elements& elements);

/// The elastic law of each element of a model.
class Stiffness {
  public:
    /// Throws InvalidArgument for wrong materials, temperatures, unknown regions, and elements
    /// whose groups have different materials or temperatures.
    explicit Stiffness(const Model& model);
    const ElasticLaw& operator[](Index element) const { return laws_[number(element)]; }
    std::span<const ElasticLaw> laws() const { return laws_; }
    /// Which of the laws is that of an element.
    std::size_t number(Index element) const {
        if (!by_element_.empty()) return std::size_t(by_element_[std::size_t(element)]);
        return regions_.empty() ? laws_.size() - 1 : std::size_t(regions_[std::size_t(element)]);
    }

  private:
    void add_groups(const Model& model);
    void add_temperatures(const Model& model);

    std::span<const int> regions_;
    std::vector<ElasticLaw> laws_;  ///< By region, then by group; the last one is the default.
    std::vector<int> by_element_;   ///< Index of laws_; empty: by regions.
};

/// The length of a plane mesh across its plane: a thickness, or the circumference 2 pi r; in space
/// 1.
struct Thickness {
    double length = 1;
    bool axisymmetric = false;
    double axis_radius = 0;  ///< Nodes of at most this radius are on the axis.
    constexpr double at(double radius) const {
        return axisymmetric ? 2 * std::numbers::pi * radius : length;
    }
    /// Whether a node's coordinate along `axis` is the radius of a node on the axis.
    bool on_axis(std::size_t axis, double coordinate) const {
        return axisymmetric && axis == 0 && coordinate <= axis_radius;
    }
};

/// Throws InvalidArgument for a thickness, a gravity or radii that do not fit the model.
Thickness checked_thickness(const Model& model, const Elements& elements);

/// An equation of a model after the elimination: the displacement `dependent` plus the sum of
/// coefficients times others, unknown or prescribed ones, is `value`, along the axes of the nodes.
struct ReducedEquation {
    using Terms = std::vector<std::pair<Offset, double>>;
    Offset dependent = 0;
    Terms terms;  ///< By ascending displacements.
    double value = 0;
    Terms origins;  ///< It is the sum of factors times equations of the model, by their numbers.
};

/// Sets `unknowns`, `prescribed`, `dependents`, `natural_block` and `node_axes` of a system with
/// `rows` rows, and for each displacement the last support that prescribes it, by its number, after
/// them node_displacements; -1: none. Throws InvalidArgument for groups that do not exist, have
/// unknown nodes or no normals, for radial displacements other than 0 on the axis, and as
/// eliminate_equations.
struct NumberedUnknowns {
    Index rows = 0;
    std::vector<int> owners;
    std::vector<ReducedEquation> equations;
};
NumberedUnknowns number_unknowns(const Model& model, const Elements& elements,
                                 const NodeElements& node_elements, const Thickness& thickness,
                                 System& system);

/// Gives nodes of inclined supports axes, in a system whose unknowns are marked but not numbered.
void add_inclined_supports(const Model& model, const Elements& elements,
                           const NodeElements& node_elements, System& system,
                           std::vector<int>& owners);

/// Eliminates displacements by the equations of a model, in a system whose unknowns are marked but
/// not numbered. Throws InvalidArgument for unknown nodes, nodes without elements, numbers that are
/// not finite, equations that contradict others or the supports, and such in which one displacement
/// follows from too many.
std::vector<ReducedEquation> eliminate_equations(const Model& model,
                                                 const NodeElements& node_elements, System& system);

/// A direction in which a support or a spring holds a node.
struct HeldDirection {
    Index node = 0;
    Vector direction{};
};

/// Sets `known_singular` and `hinge_nodes` of a system, where the equations hold, too.
void find_rigid_motions(const Elements& elements, const NodeElements& node_elements,
                        bool axisymmetric, const std::vector<HeldDirection>& held,
                        const std::vector<Equation>& equations, System& system);

/// Throws InvalidArgument for parts of an axisymmetric mesh, made of triangles of 3 nodes alone,
/// that turn in their plane without strain at the centres of these, which are at one height: a fan
/// on a straight line, or one triangle.
void check_turning_triangles(const Elements& elements, const NodeElements& node_elements,
                             const std::vector<HeldDirection>& held);

/// Adds the tractions, forces and pressures on groups of a model to the forces on its nodes,
/// `dimensions` per node, and sets `load_shares` of a system with numbered unknowns. Throws
/// InvalidArgument for groups that do not exist, have cells of other shapes, no area, or are not on
/// the elements.
void add_surface_loads(const Model& model, const Elements& elements,
                       const NodeElements& node_elements, const Thickness& thickness,
                       std::span<double> forces, System& system);

}  // namespace tessera::elasticity
