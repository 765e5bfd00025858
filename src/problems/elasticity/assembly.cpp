#include <algorithm>
#include <cmath>
#include <numeric>

#include "problems/elasticity/elements.hpp"
#include "problems/memory.hpp"

namespace tessera::elasticity {

namespace {

/// Number of nodes that a thread assembles at a time.
constexpr Offset nodes_per_range = 256;

/// The rows of one node before displacements are prescribed: a block of d x d, row by row, for each
/// node of its elements; and its body force.
struct NodeRows {
    std::vector<Index> neighbours;  ///< Ascending, the node itself among them.
    std::vector<double> blocks;
    Vector force{};

    void find_neighbours(const Elements& elements, std::span<const Index> at_node) {
        neighbours.clear();
        for (const Index element : at_node) {
            const std::span<const Index> nodes = elements.nodes(element);
            neighbours.insert(neighbours.end(), nodes.begin(), nodes.end());
        }
        std::sort(neighbours.begin(), neighbours.end());
        neighbours.erase(std::unique(neighbours.begin(), neighbours.end()), neighbours.end());
    }

    /// Adds the rows of corner `a` of an element of shape S. Entry (a, i; b, j) sums equal products
    /// in the order of (b, j; a, i): bitwise symmetry.
    template <CellShape S>
    void add(const Mesh& mesh, std::span<const Index> nodes, int a, const Stiffness::Lame& lame,
             const Field& body_force, double thickness) {
        constexpr int d = dimensions(S);
        constexpr int corners = tessera::corners(S);
        constexpr int count = point_count(S);
        double points[corners][d];
        gather<S>(mesh, nodes, points);
        const auto& reference = reference_points<S>();
        Geometry geometry(reference, points);
        for (double& volume : geometry.volumes) volume *= thickness;
        for (int b = 0; b < corners; ++b) {
            double integrals[d][d]{};  // Integrals of (dN_a / dx_i) (dN_b / dx_j).
            for (int p = 0; p < count; ++p) {
                for (int i = 0; i < d; ++i) {
                    for (int j = 0; j < d; ++j) {
                        integrals[i][j] += geometry.volumes[p] * (geometry.gradients[p][a][i] *
                                                                  geometry.gradients[p][b][j]);
                    }
                }
            }
            double laplacian = 0;
            for (int k = 0; k < d; ++k) laplacian += integrals[k][k];
            const auto neighbour = std::lower_bound(neighbours.begin(), neighbours.end(), nodes[b]);
            double* block = blocks.data() + (neighbour - neighbours.begin()) * d * d;
            for (int i = 0; i < d; ++i) {
                for (int j = 0; j < d; ++j) {
                    block[i * d + j] += lame.lambda * integrals[i][j] + lame.mu * integrals[j][i] +
                                        (i == j ? lame.mu * laplacian : 0);
                }
            }
        }
        if (!body_force) return;
        for (int p = 0; p < count; ++p) {
            const Vector value = body_force(position<S>(reference, p, points));
            const double weight = geometry.volumes[p] * reference.values[p][a];
            for (int i = 0; i < d; ++i) force[i] += weight * value[i];
        }
    }

    /// Sums over the elements of the node, in ascending order.
    void gather_elements(const Elements& elements, Index node, std::span<const Index> at_node,
                         const Stiffness& stiffness, const Field& body_force, double thickness) {
        find_neighbours(elements, at_node);
        const int d = elements.mesh().dimensions;
        blocks.assign(neighbours.size() * d * d, 0);
        force = {};
        for (const Index element : at_node) {
            const std::span<const Index> nodes = elements.nodes(element);
            const int a = int(std::find(nodes.begin(), nodes.end(), node) - nodes.begin());
            elements.with_shape(element, [&](auto shape) {
                add<decltype(shape)::value>(elements.mesh(), nodes, a, stiffness[element],
                                            body_force, thickness);
            });
        }
    }
};

/// Row offsets: each row has the unknowns of the neighbours.
std::vector<Offset> count_entries(const Context& cpu, const Elements& elements,
                                  const NodeElements& node_elements, const System& system,
                                  Index rows) {
    const int d = elements.mesh().dimensions;
    std::vector<Offset> row_offsets(std::size_t(rows) + 1, 0);
    const auto count = [&](Offset first, Offset last) {
        NodeRows scratch;
        for (Index node = Index(first); node < last; ++node) {
            scratch.find_neighbours(elements, node_elements[node]);
            Offset length = 0;
            for (const Index neighbour : scratch.neighbours) {
                for (int j = 0; j < d; ++j) {
                    length += system.unknowns[std::size_t(neighbour) * d + j] >= 0;
                }
            }
            for (int i = 0; i < d; ++i) {
                const Index row = system.unknowns[std::size_t(node) * d + i];
                if (row >= 0) row_offsets[row + 1] = length;
            }
        }
    };
    parallel_ranges(cpu.threads(), elements.mesh().node_count(), count, nodes_per_range);
    std::partial_sum(row_offsets.begin(), row_offsets.end(), row_offsets.begin());
    return row_offsets;
}

/// Writes the rows of one node; `tractions` are the loads on all nodes.
void write_rows(const NodeRows& gathered, Index node, int d, std::span<const double> tractions,
                System& system) {
    for (int i = 0; i < d; ++i) {
        const std::size_t displacement = std::size_t(node) * d + i;
        const Index row = system.unknowns[displacement];
        if (row < 0) continue;
        Offset position = system.matrix.row_offsets().data()[row];
        double load = gathered.force[i] + tractions[displacement];
        for (std::size_t k = 0; k < gathered.neighbours.size(); ++k) {
            const double* values = gathered.blocks.data() + (k * d + i) * d;
            for (int j = 0; j < d; ++j) {
                const std::size_t other = std::size_t(gathered.neighbours[k]) * d + j;
                const Index column = system.unknowns[other];
                if (column < 0) {
                    load -= values[j] * system.prescribed[other];
                    continue;
                }
                system.matrix.column_indices().data()[position] = column;
                system.matrix.values().data()[position++] = values[j];
            }
        }
        system.load[row] = load;
    }
}

}  // namespace

System assemble(const Context& cpu, const Model& model) {
    require(
        !cpu.on_gpu(),
        "elasticity::assemble works in host memory: give it a CPU context, then copy_to the GPU");
    const Elements elements(model.mesh);
    double element_corners = 0;
    for (const Cells& cells : model.mesh.elements) element_corners += double(cells.nodes.size());
    require_host_memory(
        concat("a model of ", model.mesh.node_count(), " nodes"),
        problems::assembly_bytes(model.mesh.dimensions, model.mesh.node_count(), element_corners));
    elements.check_geometry(cpu);
    const Stiffness stiffness(model);
    const double thickness = checked_thickness(model);
    const NodeElements node_elements(elements);
    System system;
    const Index rows = number_unknowns(model, elements, system);
    find_rigid_motions(elements, node_elements, system);
    std::vector<double> tractions(system.prescribed.size(), 0);
    add_surface_loads(model, node_elements, tractions, system);

    const std::vector<Offset> row_offsets =
        count_entries(cpu, elements, node_elements, system, rows);
    system.matrix = CsrMatrix<double>(cpu, rows, rows, row_offsets.back());
    std::ranges::copy(row_offsets, system.matrix.row_offsets().data());
    system.load.resize(std::size_t(rows));
    const int d = model.mesh.dimensions;
    const auto fill = [&](Offset first, Offset last) {
        NodeRows gathered;
        for (Index node = Index(first); node < last; ++node) {
            gathered.gather_elements(elements, node, node_elements[node], stiffness,
                                     model.body_force, thickness);
            write_rows(gathered, node, d, tractions, system);
        }
    };
    parallel_ranges(cpu.threads(), model.mesh.node_count(), fill, nodes_per_range);
    require(first_non_finite_row(cpu, std::as_const(system.matrix).view()) < 0 &&
                std::ranges::all_of(system.load, [](double value) { return std::isfinite(value); }),
            "the stiffness matrix or the load is not finite: Young's modulus, the thickness, the "
            "lengths of the mesh or the loads are too large or too small");
    return system;
}

NodeCoordinates System::coordinates(const Mesh& mesh) const {
    const auto d = std::size_t(mesh.dimensions);
    require(mesh.points.size() == unknowns.size(), "the mesh is not that of the system");
    NodeCoordinates found{mesh.dimensions};
    std::vector<double> values;
    Index nodes = 0;
    for (std::size_t first = 0; first < unknowns.size(); first += d) {
        const auto rows = std::span(unknowns).subspan(first, d);
        if (std::ranges::all_of(rows, [](Index row) { return row < 0; })) continue;
        const double* const point = &mesh.points[first];
        values.insert(values.end(), point, point + d);
        for (std::size_t axis = 0; axis < d; ++axis) {
            if (rows[axis] >= 0) found.unknowns.push_back(nodes * mesh.dimensions + Index(axis));
        }
        ++nodes;
    }
    if (found.unknowns.size() == values.size()) found.unknowns.clear();
    found.values = std::move(values);
    return found;
}

std::vector<double> System::displacements(std::span<const double> solution) const {
    require(solution.size() == load.size(), "the solution has ", solution.size(),
            " entries and the system ", load.size());
    require(solution.data() != nullptr || solution.empty(), "the solution is null");
    std::vector<double> all = prescribed;
    for (std::size_t k = 0; k < all.size(); ++k) {
        if (unknowns[k] >= 0) all[k] = solution[unknowns[k]];
    }
    return all;
}

}  // namespace tessera::elasticity
