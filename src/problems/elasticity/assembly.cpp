#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "problems/elasticity/axes_of_nodes.hpp"
#include "problems/elasticity/elements/element_stiffness.hpp"
#include "problems/elasticity/equations/element_reduction.hpp"
#include "problems/elasticity/loads/springs.hpp"
#include "problems/elasticity/node_order.hpp"
#include "problems/memory.hpp"

namespace tessera::elasticity {

namespace {

/// The nodes whose unknowns share an element with those of each node, the node itself among them,
/// by their places in an order: ascending places, of nodes in ranges of equal length one after the
/// other.
class Neighbours {
  public:
    static constexpr Index range = 1024;

    /// `node_elements` are those of the active nodes.
    Neighbours(const Context& cpu, const ActiveNodes& active, const NodeElements& node_elements,
               NodeOrder order)
        : order_(std::move(order)),
          ranges_(order_.nodes.size() / range + 1),
          ends_(order_.nodes.size()) {
        parallel_tasks(cpu.threads(), Offset(ranges_.size()), [&](Offset k) {
            std::vector<Index> near;
            for (Index place = Index(k) * range; place < end_of(k); ++place) {
                near.clear();
                for (const Index element : node_elements[order_.nodes[std::size_t(place)]]) {
                    for (const Index node : active(element)) near.push_back(place_of(node));
                }
                std::sort(near.begin(), near.end());
                near.erase(std::unique(near.begin(), near.end()), near.end());
                ranges_[k].insert(ranges_[k].end(), near.begin(), near.end());
                ends_[place] = ranges_[k].size();
            }
        });
    }

    Index place_of(Index node) const { return order_.places[std::size_t(node)]; }
    Index node_at(Index place) const { return order_.nodes[std::size_t(place)]; }

    /// The places of the neighbours of the node at a place.
    std::span<const Index> operator[](Index place) const {
        const std::size_t first = place % range == 0 ? 0 : ends_[std::size_t(place) - 1];
        return std::span(ranges_[std::size_t(place / range)]).subspan(first, ends_[place] - first);
    }

    /// visit(place, places of its neighbours) for all nodes, by all threads.
    template <class Visit>
    void each(const Context& cpu, Visit&& visit) const {
        parallel_tasks(cpu.threads(), Offset(ranges_.size()), [&](Offset k) {
            for (Index place = Index(k) * range; place < end_of(k); ++place) {
                visit(place, (*this)[place]);
            }
        });
    }

  private:
    Index end_of(Offset k) const {
        return Index(std::min<Offset>((k + 1) * range, Offset(ends_.size())));
    }

    NodeOrder order_;
    std::vector<std::vector<Index>> ranges_;
    std::vector<std::size_t> ends_;  ///< The end of each node's neighbours in its range.
};

/// A matrix of zeros whose rows have the unknowns of the neighbours.
CsrMatrix<double> make_matrix(const Context& cpu, const Neighbours& neighbours, int d,
                              const System& system, Index rows) {
    std::vector<Offset> row_offsets(std::size_t(rows) + 1, 0);
    /// visit(row) for the unknowns of the node at a place.
    const auto each_row = [&](Index place, auto&& visit) {
        const std::size_t node = std::size_t(neighbours.node_at(place));
        for (int i = 0; i < d; ++i) {
            const Index row = system.unknowns[node * d + i];
            if (row >= 0) visit(row);
        }
    };
    neighbours.each(cpu, [&](Index place, std::span<const Index> near) {
        Offset length = 0;
        for (const Index other : near) each_row(other, [&](Index) { ++length; });
        each_row(place, [&](Index row) { row_offsets[row + 1] = length; });
    });
    std::partial_sum(row_offsets.begin(), row_offsets.end(), row_offsets.begin());
    CsrMatrix<double> matrix(cpu, rows, rows, row_offsets.back());
    std::ranges::copy(row_offsets, matrix.row_offsets().data());
    Index* const columns = matrix.column_indices().data();
    double* const values = matrix.values().data();
    neighbours.each(cpu, [&](Index place, std::span<const Index> near) {
        each_row(place, [&](Index row) {
            Offset position = row_offsets[row];
            for (const Index other : near) {
                each_row(other, [&](Index column) { columns[position++] = column; });
            }
            std::fill(values + row_offsets[row], values + position, 0.);
        });
    });
    return matrix;
}

/// The position of a number in an ascending list that has it, by bisection without branches.
Offset position_of(const Index* list, std::size_t count, Index number) {
    const Index* first = list;
    while (count > 1) {
        const std::size_t half = count / 2;
        first += half * std::size_t(first[half - 1] < number);
        count -= half;
    }
    return first - list;
}

/// Assembles elements in batches: first their stiffnesses and body forces, each element by one
/// thread; then their sums, each row by one thread in the order of the elements, so that the result
/// does not depend on the number of threads. Without neighbours the load alone.
class Assembly {
  public:
    Assembly(const Context& cpu, const Elements& elements, const Model& model,
             const Stiffness& stiffness, const Thickness& thickness, const ActiveNodes& active,
             const Neighbours* neighbours, System& system)
        : cpu_(cpu),
          elements_(elements),
          active_(active),
          model_(model),
          stiffness_(stiffness),
          thickness_(thickness),
          neighbours_(neighbours),
          axes_of_nodes_(system, model.mesh.node_count()),
          system_(system) {
        for (const Cells& cells : model.mesh.elements) {
            if (cells.nodes.empty()) continue;
            max_unknowns_ = std::max(max_unknowns_, std::size_t(node_count(cells.shape)) * d_());
        }
    }

    void run() {
        constexpr std::size_t bytes_of_thread = std::size_t(1) << 18;  // Stay in the cache.
        const std::size_t size = max_unknowns_ * (max_unknowns_ + 1);
        const Offset batch =
            Offset(cpu_.threads()) *
            Offset(std::max<std::size_t>(16, bytes_of_thread / sizeof(double) / size));
        std::vector<std::size_t> starts;  // The first number of each result of a batch.
        for (Offset first = 0; first < elements_.count(); first += batch) {
            const Offset last = std::min<Offset>(first + batch, elements_.count());
            starts.assign(1, 0);
            for (Offset k = first; k < last; ++k) {
                const std::size_t n = active_(Index(k)).size() * d_();
                starts.push_back(starts.back() +
                                 (active_.is_reduced(Index(k)) ? n * (n + 1) : size));
            }
            if (starts.back() > results_.size()) results_.resize(starts.back());
            const auto compute = [&](Offset begin, Offset end) {
                for (Offset k = begin; k < end; ++k) {
                    compute_element(Index(first + k), &results_[starts[std::size_t(k)]]);
                }
            };
            parallel_ranges(cpu_.threads(), last - first, compute, 16);
            const Offset parts = std::clamp<Offset>((last - first) / 16, 1, cpu_.threads());
            parallel_parts(cpu_.threads(), parts, parts, [&](Offset part, Offset, Offset) {
                for (Offset k = first; k < last; ++k) {
                    add_rows(Index(k), &results_[starts[std::size_t(k - first)]], part, parts);
                }
            });
        }
    }

  private:
    std::size_t d_() const { return std::size_t(elements_.mesh().dimensions); }

    void compute_element(Index element, double* result) const {
        find_element_system(elements_, model_, stiffness_, thickness_, element, result);
        if (!axes_of_nodes_.empty()) {
            turn_element(axes_of_nodes_, elements_.nodes(element), d_(), result);
        }
        if (!active_.is_reduced(element)) return;
        active_.reduce(elements_.nodes(element), active_(element), result);
    }

    /// Adds the rows of an element's nodes in one of `parts` interleaved sets of nodes.
    void add_rows(Index element, const double* result, Offset part, Offset parts) {
        constexpr Index nodes_together = 64;
        const std::span<const Index> nodes = active_(element);
        for (std::size_t a = 0; a < nodes.size(); ++a) {
            if (parts == 1 || nodes[a] / nodes_together % parts == part) {
                d_() == 2 ? add_rows_of_node<2>(nodes, a, result)
                          : add_rows_of_node<3>(nodes, a, result);
            }
        }
    }

    template <int d>
    void add_rows_of_node(std::span<const Index> nodes, std::size_t a, const double* result) {
        const std::size_t n = nodes.size() * d;
        const Index* const rows = &system_.unknowns[std::size_t(nodes[a]) * d];
        const Index* const some_row = std::find_if(rows, rows + d, [](Index r) { return r >= 0; });
        if (some_row == rows + d) return;
        for (int i = 0; i < d; ++i) {
            if (rows[i] >= 0) system_.load[rows[i]] += result[n * n + a * d + i];
        }
        if (neighbours_ == nullptr) return add_prescribed<d>(nodes, a, result);
        const Offset* const offsets = std::as_const(system_.matrix).row_offsets().data();
        double* const values = system_.matrix.values().data();
        const std::span<const Index> near = (*neighbours_)[neighbours_->place_of(nodes[a])];
        // All rows of a node have the same columns.
        const Offset length = offsets[*some_row + 1] - offsets[*some_row];
        const Index* const columns =
            std::as_const(system_.matrix).column_indices().data() + offsets[*some_row];
        const bool all_free = length == Offset(near.size()) * d;
        for (std::size_t b = 0; b < nodes.size(); ++b) {
            const double* const entries = result + a * d * n + b * d;
            const std::size_t other = std::size_t(nodes[b]) * d;
            if (all_free) {
                const Index place = neighbours_->place_of(nodes[b]);
                const Offset at = position_of(near.data(), near.size(), place) * d;
                for (int i = 0; i < d; ++i) {
                    if (rows[i] < 0) continue;
                    double* const value = values + offsets[rows[i]] + at;
                    for (int j = 0; j < d; ++j) value[j] += entries[i * n + j];
                }
                continue;
            }
            const Index* const unknowns = &system_.unknowns[other];
            for (int j = 0; j < d; ++j) {
                const Offset at =
                    unknowns[j] < 0 ? 0 : position_of(columns, std::size_t(length), unknowns[j]);
                for (int i = 0; i < d; ++i) {
                    if (rows[i] < 0) continue;
                    if (unknowns[j] >= 0) {
                        values[offsets[rows[i]] + at] += entries[i * n + j];
                    } else {
                        system_.load[rows[i]] -= entries[i * n + j] * system_.prescribed[other + j];
                    }
                }
            }
        }
    }

    /// Adds what prescribed displacements of the element add to the load of a node.
    template <int d>
    void add_prescribed(std::span<const Index> nodes, std::size_t a, const double* result) {
        const std::size_t n = nodes.size() * d;
        for (std::size_t j = 0; j < n; ++j) {
            const std::size_t other = std::size_t(nodes[j / d]) * d + j % d;
            if (system_.unknowns[other] >= 0) continue;
            for (std::size_t i = 0; i < d; ++i) {
                const Index row = system_.unknowns[std::size_t(nodes[a]) * d + i];
                if (row < 0) continue;
                system_.load[row] -= result[(a * d + i) * n + j] * system_.prescribed[other];
            }
        }
    }

    const Context& cpu_;
    const Elements& elements_;
    const ActiveNodes& active_;
    const Model& model_;
    const Stiffness& stiffness_;
    const Thickness& thickness_;
    const Neighbours* neighbours_;
    AxesOfNodes axes_of_nodes_;
    System& system_;
    std::size_t max_unknowns_ = 1;
    std::vector<double> results_;  ///< Systems of the elements of a batch.
};

/// Adds springs to a matrix, unless it is empty, and to the load.
void add_springs(const Model& model, const std::vector<SpringCell>& springs,
                 const ActiveNodes& active_nodes, System& system) {
    const auto d = std::size_t(model.mesh.dimensions);
    const AxesOfNodes axes_of_nodes(system, model.mesh.node_count());
    const Axes usual{{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
    const auto axes_of = [&](Index node) -> const Axes& {
        const Axes* const axes = axes_of_nodes.find(node);
        return axes == nullptr ? usual : *axes;
    };
    const auto add = [&](Index row, std::size_t other, double value) {
        if (row < 0 || value == 0) return;
        if (system.unknowns[other] < 0) {
            system.load[row] -= value * system.prescribed[other];
        } else if (system.matrix.rows() > 0) {
            const Offset* const offsets = std::as_const(system.matrix).row_offsets().data();
            const Index* const columns = std::as_const(system.matrix).column_indices().data();
            const Offset at =
                position_of(columns + offsets[row], std::size_t(offsets[row + 1] - offsets[row]),
                            system.unknowns[other]);
            system.matrix.values().data()[offsets[row] + at] += value;
        }
    };
    std::vector<double> result;
    for (const SpringCell& cell : springs) {
        const Vector& stiffness = model.springs[cell.spring].second;
        const std::vector<Index> active = active_nodes.active_nodes(cell.nodes);
        const std::size_t count = cell.nodes.size(), m = active.size() * d;
        result.assign(m * (m + 1), 0);
        for (std::size_t k = 0; k < count * d * count * d; ++k) {
            const std::size_t row = k / (count * d), column = k % (count * d);
            const Vector& of_row = axes_of(cell.nodes[row / d])[row % d];
            const Vector& of_column = axes_of(cell.nodes[column / d])[column % d];
            double value = 0;
            for (std::size_t c = 0; c < d; ++c) value += stiffness[c] * (of_row[c] * of_column[c]);
            result[k] = value * cell.products[row / d * count + column / d];
        }
        if (!active_nodes.empty()) active_nodes.reduce(cell.nodes, active, result.data());
        for (std::size_t k = 0; k < m * m; ++k) {
            const std::size_t row = k / m, column = k % m;
            add(system.unknowns[std::size_t(active[row / d]) * d + row % d],
                std::size_t(active[column / d]) * d + column % d, result[k]);
        }
        for (std::size_t row = 0; row < m; ++row) {
            const Index at = system.unknowns[std::size_t(active[row / d]) * d + row % d];
            if (at >= 0) system.load[at] += result[m * m + row];
        }
    }
}

/// Adds the forces on dependent displacements to those on the displacements from which they follow.
void move_forces(const System& system, std::span<double> forces) {
    for (const auto& [displacement, terms] : system.dependents) {
        for (const auto& [k, factor] : terms) {
            forces[std::size_t(k)] += factor * forces[std::size_t(displacement)];
        }
    }
}

System assemble(const Context& cpu, const Model& model, const Elements& elements,
                bool with_matrix) {
    elements.check_geometry(cpu);
    const Stiffness stiffness(model);
    const Thickness thickness = checked_thickness(model, elements);
    const NodeElements node_elements(elements);
    const std::vector<SpringCell> springs = find_springs(model, node_elements);
    System system;
    const Index rows = number_unknowns(model, elements, node_elements, thickness, system).rows;
    const std::vector<HeldDirection> held = find_held_directions(model, springs, system);
    find_rigid_motions(elements, node_elements, thickness.axisymmetric, held, model.equations,
                       system);
    if (thickness.axisymmetric && model.equations.empty()) {
        check_turning_triangles(elements, node_elements, held);
    }
    std::vector<double> tractions(system.prescribed.size(), 0);
    add_surface_loads(model, elements, node_elements, thickness, tractions, system);
    for (const auto& [node, axes] : system.node_axes) {
        const auto d = std::size_t(model.mesh.dimensions);
        to_axes(axes, d, &tractions[std::size_t(node) * d]);
    }
    move_forces(system, tractions);
    system.load.resize(std::size_t(rows));
    for (std::size_t k = 0; k < tractions.size(); ++k) {
        if (system.unknowns[k] >= 0) system.load[system.unknowns[k]] = tractions[k];
    }
    const ActiveNodes active(elements, system);
    std::optional<Neighbours> neighbours;
    if (with_matrix) {
        NodeOrder order(system, model.mesh.dimensions);
        if (active.empty()) {
            neighbours.emplace(cpu, active, node_elements, std::move(order));
        } else {
            neighbours.emplace(cpu, active, NodeElements(elements, active), std::move(order));
        }
        system.matrix = make_matrix(cpu, *neighbours, model.mesh.dimensions, system, rows);
    }
    Assembly(cpu, elements, model, stiffness, thickness, active,
             neighbours ? &*neighbours : nullptr, system)
        .run();
    add_springs(model, springs, active, system);
    require((!with_matrix || first_non_finite_row(cpu, std::as_const(system.matrix).view()) < 0) &&
                std::ranges::all_of(system.load, [](double value) { return std::isfinite(value); }),
            "the stiffness matrix or the load is not finite: Young's modulus, the thickness, the "
            "lengths of the mesh, the loads, temperatures or springs are too large or too small");
    return system;
}

}  // namespace

System assemble(const Context& cpu, const Model& model) {
    require(
        !cpu.on_gpu(),
        "elasticity::assemble works in host memory: give it a CPU context, then copy_to the GPU");
    const Elements elements(model.mesh);
    double element_nodes = 0, neighbour_count = 0;
    for (const Cells& cells : model.mesh.elements) {
        const double count = double(cells.nodes.size());
        element_nodes += count;
        neighbour_count += count * problems::neighbours_per_place(cells.shape);
    }
    require_host_memory(concat("a model of ", model.mesh.node_count(), " nodes"),
                        problems::assembly_bytes(model.mesh.dimensions, model.mesh.node_count(),
                                                 element_nodes, neighbour_count));
    return assemble(cpu, model, elements, true);
}

System assemble_load(const Context& cpu, const Model& model) {
    require(!cpu.on_gpu(), "elasticity::assemble_load works in host memory: give it a CPU context");
    return assemble(cpu, model, Elements(model.mesh), false);
}

}  // namespace tessera::elasticity
