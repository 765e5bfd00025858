#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <type_traits>
#include <vector>

#include "base/concat.hpp"
#include "base/parallel.hpp"
#include "tessera/elasticity.hpp"

/// Shape functions of the elements, their derivatives on a mesh, and the elements at a node.
namespace tessera::elasticity {

template <CellShape S>
using ShapeTag = std::integral_constant<CellShape, S>;

constexpr bool is_simplex(CellShape shape) {
    return shape == CellShape::triangle || shape == CellShape::tetrahedron;
}

/// Points of an element: two Gauss points per axis (the centre of a simplex), with weights; the
/// centre; the corners, where a bilinear map is inverted first.
enum class Rule { gauss, centre, corners };

constexpr int point_count(CellShape shape, Rule rule = Rule::gauss) {
    return rule == Rule::corners                       ? corners(shape)
           : rule == Rule::centre || is_simplex(shape) ? 1
                                                       : 1 << dimensions(shape);
}

/// Corners of the reference segment, square and cube [-1, 1]^d in the order of CellShape.
inline constexpr int corner_signs[8][3] = {{-1, -1, -1}, {1, -1, -1}, {1, 1, -1}, {-1, 1, -1},
                                           {-1, -1, 1},  {1, -1, 1},  {1, 1, 1},  {-1, 1, 1}};

/// Shape functions of shape S at P points of its reference element, and the weights of the points.
template <CellShape S, int P>
struct Reference {
    static constexpr int axes = dimensions(S);
    static constexpr int corners = tessera::corners(S);
    double values[P][corners];
    double derivatives[P][corners][axes];
    double weights[P];

    /// The reference simplex has the corners 0 and the unit vectors.
    void set(int p, const double* point, double weight) {
        weights[p] = weight;
        for (int c = 0; c < corners; ++c) {
            if constexpr (is_simplex(S)) {
                values[p][c] = 1. / corners;  // The points of simplices are their centres.
                for (int i = 0; i < axes; ++i) {
                    derivatives[p][c][i] = c == 0 ? -1 : c == i + 1 ? 1 : 0;
                }
            } else {
                values[p][c] = 1;
                for (int i = 0; i < axes; ++i) derivatives[p][c][i] = 1;
                for (int m = 0; m < axes; ++m) {
                    const double value = (1 + corner_signs[c][m] * point[m]) / 2;
                    values[p][c] *= value;
                    for (int i = 0; i < axes; ++i) {
                        derivatives[p][c][i] *= i == m ? corner_signs[c][m] / 2. : value;
                    }
                }
            }
        }
    }
};

template <CellShape S, Rule rule>
Reference<S, point_count(S, rule)> make_reference() {
    Reference<S, point_count(S, rule)> made;
    const double scale = rule == Rule::gauss ? std::sqrt(1. / 3) : rule == Rule::corners ? 1. : 0.;
    constexpr double volume = !is_simplex(S) ? 1 : dimensions(S) == 2 ? 1. / 2 : 1. / 6;
    for (int p = 0; p < point_count(S, rule); ++p) {
        double point[3];
        for (int m = 0; m < 3; ++m) point[m] = corner_signs[p][m] * scale;
        made.set(p, point, rule == Rule::gauss ? volume : rule == Rule::centre ? 1 : 0);
    }
    return made;
}

template <CellShape S, Rule rule = Rule::gauss>
inline const Reference<S, point_count(S, rule)>& reference_points() {
    static const auto reference = make_reference<S, rule>();
    return reference;
}

/// An element of shape S in space at P points: dN_c / dx, and weight times Jacobian.
template <CellShape S, int P>
struct Geometry {
    static constexpr int axes = dimensions(S);
    static constexpr int corners = tessera::corners(S);
    double gradients[P][corners][axes];
    double volumes[P];
    /// Smallest Jacobian over the product of the lengths of its rows: at most 1, 0 where flat, NaN
    /// where an edge has no length.
    double quality = 1;

    /// `points` are the corners' coordinates.
    Geometry(const Reference<S, P>& reference, const double (&points)[corners][axes]) {
        for (int p = 0; p < P; ++p) {
            double jacobian[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};  // dx_j / d reference_i
            double lengths = 1;
            for (int i = 0; i < axes; ++i) {
                double squares = 0;
                for (int j = 0; j < axes; ++j) {
                    double sum = 0;
                    for (int c = 0; c < corners; ++c) {
                        sum += reference.derivatives[p][c][i] * points[c][j];
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
            const double ratio = determinant / lengths;
            if (!(ratio >= quality) && !std::isnan(quality)) quality = ratio;
            volumes[p] = reference.weights[p] * determinant;
            for (int c = 0; c < corners; ++c) {
                for (int i = 0; i < axes; ++i) {
                    double sum = 0;
                    for (int k = 0; k < axes; ++k) {
                        sum += adjugate[i][k] * reference.derivatives[p][c][k];
                    }
                    gradients[p][c][i] = sum / determinant;
                }
            }
        }
    }
};

/// Coordinates of the corners of a cell of shape S in D dimensions.
template <CellShape S, int D>
void gather(const Mesh& mesh, std::span<const Index> nodes, double (&points)[corners(S)][D]) {
    for (int c = 0; c < corners(S); ++c) {
        for (int i = 0; i < D; ++i) points[c][i] = mesh.points[std::size_t(nodes[c]) * D + i];
    }
}

/// x = sum over the corners of N_c x_c at point p.
template <CellShape S, int P, int D>
Vector position(const Reference<S, P>& reference, int p, const double (&points)[corners(S)][D]) {
    Vector x{};
    for (int i = 0; i < D; ++i) {
        for (int c = 0; c < corners(S); ++c) x[i] += reference.values[p][c] * points[c][i];
    }
    return x;
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
        const std::size_t n = std::size_t(corners(mesh_.elements[k].shape));
        return {mesh_.elements[k].nodes.data() + std::size_t(element - starts_[k]) * n, n};
    }
    /// f(ShapeTag<S>()) for the shape of the element.
    template <class F>
    auto with_shape(Index element, F&& f) const {
        switch (shape(element)) {
            case CellShape::triangle:
                return f(ShapeTag<CellShape::triangle>());
            case CellShape::quadrilateral:
                return f(ShapeTag<CellShape::quadrilateral>());
            case CellShape::tetrahedron:
                return f(ShapeTag<CellShape::tetrahedron>());
            default:
                return f(ShapeTag<CellShape::hexahedron>());
        }
    }
    /// visit(element, geometry at the points of the rule) by all threads.
    template <Rule rule, class Visit>
    void each(const Context& cpu, Visit&& visit) const {
        const auto visit_range = [&](Offset first, Offset last) {
            for (Index element = Index(first); element < last; ++element) {
                with_shape(element, [&](auto shape) {
                    constexpr CellShape s = decltype(shape)::value;
                    double points[corners(s)][dimensions(s)];
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
    explicit NodeElements(const Elements& elements);
    std::span<const Index> operator[](Index node) const {
        return {elements_.data() + starts_[node], std::size_t(starts_[node + 1] - starts_[node])};
    }

  private:
    std::vector<Offset> starts_;
    std::vector<Index> elements_;
};

/// Lame's constants of each element of a model.
class Stiffness {
  public:
    struct Lame {
        double lambda;
        double mu;
        double poisson_ratio;
    };
    /// Throws InvalidArgument for wrong materials, unknown regions, and elements whose groups have
    /// different materials.
    explicit Stiffness(const Model& model);
    const Lame& operator[](Index element) const {
        if (!by_element_.empty()) return materials_[by_element_[element]];
        return regions_.empty() ? materials_.back() : materials_[regions_[element]];
    }

  private:
    void add_groups(const Model& model);

    std::span<const int> regions_;
    std::vector<Lame> materials_;  ///< By region, then by group; the last one is the default.
    std::vector<int> by_element_;  ///< Index of materials_; empty: by regions.
};

/// Sets `unknowns`, `prescribed` and `natural_block` of a system; returns its rows. Throws
/// InvalidArgument for groups that do not exist or have unknown nodes.
Index number_unknowns(const Model& model, const Elements& elements, System& system);

/// Sets `known_singular` and `hinge_nodes` of a system with numbered unknowns.
void find_rigid_motions(const Elements& elements, const NodeElements& node_elements,
                        System& system);

/// Adds the tractions and forces on groups of a model to the forces on its nodes, `dimensions` per
/// node, and sets `load_shares` of a system with numbered unknowns. Throws InvalidArgument for
/// groups that do not exist, have cells of other shapes, no area, or are not on the elements.
void add_surface_loads(const Model& model, const NodeElements& node_elements,
                       std::span<double> forces, System& system);

/// The thickness in two dimensions, else 1. Throws InvalidArgument unless it is positive and
/// finite.
double checked_thickness(const Model& model);

}  // namespace tessera::elasticity
