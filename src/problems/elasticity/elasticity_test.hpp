#pragma once

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>
#include <vector>

#include "problems/elasticity/elements/elements.hpp"
#include "support/test.hpp"
#include "tessera/elasticity.hpp"

namespace tessera::test {

inline constexpr CellShape element_shapes[] = {CellShape::triangle, CellShape::quadrilateral,
                                               CellShape::tetrahedron, CellShape::hexahedron};

inline constexpr CellShape all_element_shapes[] = {
    CellShape::triangle,      CellShape::quadrilateral,  CellShape::tetrahedron,
    CellShape::hexahedron,    CellShape::prism,          CellShape::pyramid,
    CellShape::triangle6,     CellShape::quadrilateral8, CellShape::quadrilateral9,
    CellShape::tetrahedron10, CellShape::prism15,        CellShape::hexahedron20,
    CellShape::hexahedron27};

/// The faces of a mesh's hexahedra on its groups, cut like the elements.
inline void cut_groups(Mesh& mesh, bool prisms) {
    for (MeshGroup& group : mesh.groups) {
        // Prisms have triangles at the top and bottom of each hexahedron (axis z).
        if (!prisms || (group.name != "back" && group.name != "front")) continue;
        const std::vector<Index> old = std::move(group.cells[0].nodes);
        group.cells = {{CellShape::triangle, {}}};
        for (std::size_t at = 0; at < old.size(); at += 4) {
            // Cut from the corner of the least x and y to that of the largest.
            const auto place = [&](std::size_t k) {
                const double* const x = &mesh.points[std::size_t(old[at + k % 4]) * 3];
                return x[0] + x[1];
            };
            std::size_t first = 0;
            for (std::size_t k = 1; k < 4; ++k) first = place(k) < place(first) ? k : first;
            const auto node = [&](std::size_t k) { return old[at + (first + k) % 4]; };
            std::vector<Index>& nodes = group.cells[0].nodes;
            nodes.insert(nodes.end(), {node(0), node(1), node(2), node(0), node(2), node(3)});
        }
    }
}

/// Each hexahedron as two prisms, or six pyramids around a new node.
inline void cut_hexahedra(Mesh& mesh, bool prisms) {
    const std::vector<Index> old = std::move(mesh.elements[0].nodes);
    mesh.elements = {{prisms ? CellShape::prism : CellShape::pyramid, {}}};
    std::vector<Index>& nodes = mesh.elements[0].nodes;
    for (std::size_t at = 0; at < old.size(); at += 8) {
        const Index* const k = &old[at];
        if (prisms) {
            for (const int c : {0, 1, 2, 4, 5, 6, 0, 2, 3, 4, 6, 7}) nodes.push_back(k[c]);
            continue;
        }
        const Index middle = mesh.node_count();
        for (std::size_t i = 0; i < 3; ++i) {
            double sum = 0;
            for (int c = 0; c < 8; ++c) sum += mesh.points[std::size_t(k[c]) * 3 + i] / 8;
            mesh.points.push_back(sum);
        }
        for (int face = 0; face < 6; ++face) {  // From inside counterclockwise.
            for (int c = 3; c >= 0; --c) nodes.push_back(k[hexahedron_faces[face][c]]);
            nodes.push_back(middle);
        }
    }
    cut_groups(mesh, prisms);
}

/// `x` x `y` x `z` cells of a box or rectangle, in elements of any shape with straight edges.
inline Mesh grid_mesh(CellShape shape, std::array<Index, 3> cells,
                      const meshes::GridOptions& options = {}) {
    const CellShape corner_shape = first_order(shape);
    const bool cut = corner_shape == CellShape::prism || corner_shape == CellShape::pyramid;
    const CellShape grid = cut ? CellShape::hexahedron : corner_shape;
    Mesh mesh = dimensions(shape) == 2 ? meshes::rectangle(grid, cells[0], cells[1], options)
                                       : meshes::box(grid, cells[0], cells[1], cells[2], options);
    if (cut) cut_hexahedra(mesh, corner_shape == CellShape::prism);
    return is_first_order(shape) ? mesh : meshes::second_order(mesh, has_centres(shape));
}

/// `cells` cells on each axis of the unit square or cube.
inline Mesh unit_mesh(CellShape shape, Index cells, double jitter) {
    meshes::GridOptions options;
    options.jitter = jitter;
    return grid_mesh(shape, {cells, cells, cells}, options);
}

/// Rows and columns of the components of a stress.
inline constexpr int tensor_rows[] = {0, 1, 2, 0, 1, 0};
inline constexpr int tensor_columns[] = {0, 1, 2, 1, 2, 2};

inline std::vector<std::string> side_names(int dimensions) {
    std::vector<std::string> names{"left", "right", "bottom", "top"};
    if (dimensions == 3) names.insert(names.end(), {"back", "front"});
    return names;
}

inline elasticity::Vector point(const Mesh& mesh, Index node) {
    elasticity::Vector at{};
    for (int i = 0; i < mesh.dimensions; ++i) {
        at[i] = mesh.points[std::size_t(node) * mesh.dimensions + i];
    }
    return at;
}

/// Volumes of all elements by the quadrature, exact for these shapes.
inline std::vector<double> element_volumes(const Mesh& mesh) {
    const elasticity::Elements elements(mesh);
    std::vector<double> volumes;
    for (Index element = 0; element < elements.count(); ++element) {
        elements.with_shape(element, [&](auto shape) {
            constexpr CellShape s = decltype(shape)::value;
            double points[node_count(s)][dimensions(s)];
            elasticity::gather<s>(mesh, elements.nodes(element), points);
            double sum = 0;
            for (const double volume :
                 elasticity::Geometry(elasticity::reference_points<s>(), points).volumes) {
                sum += volume;
            }
            volumes.push_back(sum);
        });
    }
    return volumes;
}

inline double largest_value(const CsrView<double>& a) {
    double largest = 0;
    for (const double value : a.values_span()) largest = std::max(largest, std::abs(value));
    return largest;
}

/// A bound on the error of each entry of a matrix assembled on a unit_mesh. With the moves of the
/// jitter, edges in units of the cells are I + F with row sums of |F| at most `jitter`, so that
/// gradients are at most cells / (1 - jitter); coordinates up to 1, rounded, lose that many units
/// in them. About 60 operations make a term; 64 terms (8 elements of 8 points) make an entry, each
/// at most the largest diagonal.
inline double entry_bound(const CsrView<double>& a, Index cells, double jitter) {
    return gamma<double>(60 * 2 * double(cells) / (1 - jitter) + 64) * largest_value(a);
}

/// (A x)_i and the sum of |x_j| over the row.
inline std::pair<double, double> row_product(const CsrView<double>& a, std::span<const double> x,
                                             Index i) {
    double product = 0;
    double magnitude = 0;
    for (Offset k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) {
        product += a.values[k] * x[a.column_indices[k]];
        magnitude += std::abs(x[a.column_indices[k]]);
    }
    return {product, magnitude};
}

/// A bound on |A u - b| for displacements u up to `largest` that solve the system exactly but for
/// 5 roundings: a node has at most 27 neighbours.
inline double residual_bound(const CsrView<double>& a, Index cells, double jitter, int dimensions,
                             double largest) {
    const double row = 27. * dimensions;
    return row * largest *
           (entry_bound(a, cells, jitter) + gamma<double>(row + 5) * largest_value(a));
}

/// The inverse of a matrix, dense and by rows: Gauss-Jordan without pivots, for positive definite
/// ones.
inline std::vector<double> inverse(const CsrView<double>& a) {
    const std::size_t n = std::size_t(a.rows);
    std::vector<double> m(n * n, 0);
    for (Index i = 0; i < a.rows; ++i) {
        for (Offset k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) {
            m[std::size_t(i) * n + a.column_indices[k]] = a.values[k];
        }
    }
    for (std::size_t k = 0; k < n; ++k) {
        const double pivot = m[k * n + k];
        m[k * n + k] = 1;
        for (std::size_t j = 0; j < n; ++j) m[k * n + j] /= pivot;
        for (std::size_t i = 0; i < n; ++i) {
            if (i == k) continue;
            const double factor = m[i * n + k];
            m[i * n + k] = 0;
            for (std::size_t j = 0; j < n; ++j) m[i * n + j] -= factor * m[k * n + j];
        }
    }
    return m;
}

struct BoundedSolution {
    std::vector<double> unknowns;
    double error;  ///< Largest distance of an unknown from a vector with the residual given.
};

/// |x - y| <= |A^-1| (|b - A x| + |b - A y|), the last below `residual`; twice that for the error
/// of the inverse.
inline BoundedSolution solve_by_inverse(const elasticity::System& system, double residual) {
    const auto a = system.matrix.view();
    const std::size_t n = std::size_t(a.rows);
    const std::vector<double> inverted = inverse(a);
    BoundedSolution solution{std::vector<double>(n, 0), 0};
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j < n; ++j) {
            solution.unknowns[i] += inverted[i * n + j] * system.load[j];
        }
    }
    std::vector<double> residuals(n);
    for (std::size_t j = 0; j < n; ++j) {
        residuals[j] =
            residual + std::abs(system.load[j] - row_product(a, solution.unknowns, Index(j)).first);
    }
    for (std::size_t i = 0; i < n; ++i) {
        double bound = 0;
        for (std::size_t j = 0; j < n; ++j) {
            bound += 2 * std::abs(inverted[i * n + j]) * residuals[j];
        }
        solution.error = std::max(solution.error, bound);
    }
    return solution;
}

/// The displacements of a system to the given relative residual.
inline std::vector<double> solve(const elasticity::System& system, double rtol) {
    const Context cpu = host(1);
    const CsrOperator<double> matrix(cpu, system.matrix.view());
    const auto preconditioner = make_preconditioner<double>(cpu, "jacobi", system.matrix.view());
    std::vector<double> x(system.load.size(), 0);
    SolveOptions options;
    options.rtol = rtol;
    const SolveReport report =
        cg<double>(cpu, matrix, preconditioner.get(), std::span<const double>(system.load),
                   std::span<double>(x), options);
    EXPECT_EQ(report.status, Status::converged) << report.message;
    return system.displacements(x);
}

}  // namespace tessera::test
