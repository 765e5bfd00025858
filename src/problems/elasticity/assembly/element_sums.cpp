#include "problems/elasticity/assembly/element_sums.hpp"

#include <algorithm>

namespace tessera::elasticity {

namespace {

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

}  // namespace

std::vector<unsigned char> find_changed_elements(const ElementData& data, const System& system) {
    if (data.active.empty() && system.node_axes.empty()) return {};
    const AxesOfNodes axes(system, data.model.mesh.node_count());
    std::vector<unsigned char> flags(std::size_t(data.elements.count()), 0);
    for (Index element = 0; element < data.elements.count(); ++element) {
        const bool is_turned = std::ranges::any_of(
            data.elements.nodes(element), [&](Index node) { return axes.find(node) != nullptr; });
        flags[std::size_t(element)] = is_turned || data.active.is_reduced(element);
    }
    return flags;
}

ElementSums::ElementSums(const Context& cpu, const ElementData& data,
                         std::span<const unsigned char> changed, Stiffnesses stiffnesses,
                         const Neighbours* neighbours, System& system)
    : cpu_(cpu),
      data_(data),
      changed_(changed),
      stiffnesses_(stiffnesses),
      neighbours_(neighbours),
      system_(system),
      axes_of_nodes_(system, data.model.mesh.node_count()) {}

bool ElementSums::has_prescribed(Index element) const {
    return std::ranges::any_of(data_.elements.nodes(element), [&](Index node) {
        const std::size_t first = std::size_t(node) * d();
        for (std::size_t k = first; k < first + d(); ++k) {
            if (system_.unknowns[k] < 0 && system_.prescribed[k] != 0) return true;
        }
        return false;
    });
}

ElementSums::Part ElementSums::needed_part(Index element) const {
    const Model& model = data_.model;
    const ElasticLaw& law = data_.stiffness[element];
    const bool is_heated = !model.node_temperatures.empty() || law.temperature != 0;
    const bool has_heated_modes =
        is_heated && has_modes(data_.elements.shape(element), model.formulation);
    if (is_in_matrix(element) || is_changed(element) || has_prescribed(element) ||
        has_heated_modes) {
        return Part::stiffness_and_forces;
    }
    const bool is_accelerated = model.gravity != Vector{} || model.spin != Vector{};
    const bool has_body_force = model.body_force || (law.density != 0 && is_accelerated);
    return is_heated || has_body_force ? Part::forces : Part::nothing;
}

void ElementSums::add() {
    constexpr std::size_t bytes_of_thread = std::size_t(1) << 18;  // Stay in the cache.
    std::size_t unknowns = 1;
    for (const Cells& cells : data_.model.mesh.elements) {
        if (cells.nodes.empty()) continue;
        unknowns = std::max(unknowns, std::size_t(node_count(cells.shape)) * d());
    }
    const std::size_t size = unknowns * (unknowns + 1);
    const std::size_t length = std::size_t(cpu_.threads()) *
                               std::max<std::size_t>(16, bytes_of_thread / sizeof(double) / size);
    std::vector<Item> batch;
    for (Index element = 0; element < data_.elements.count(); ++element) {
        const Part part = needed_part(element);
        if (part == Part::nothing) continue;
        batch.push_back({element, part == Part::stiffness_and_forces});
        if (batch.size() < length) continue;
        add_batch(batch);
        batch.clear();
    }
    add_batch(batch);
}

void ElementSums::add_batch(std::span<const Item> batch) {
    std::vector<std::size_t> starts{0};  // The first number of each result.
    for (const Item& item : batch) {
        const std::size_t n = data_.active(item.element).size() * d();
        const std::size_t own = data_.elements.nodes(item.element).size() * d();
        starts.push_back(starts.back() + std::max(n * (n + 1), own * (own + 1)));
    }
    if (starts.back() > results_.size()) results_.resize(starts.back());
    const auto compute_range = [&](Offset begin, Offset end) {
        for (Offset k = begin; k < end; ++k) {
            compute(batch[std::size_t(k)], &results_[starts[std::size_t(k)]]);
        }
    };
    const auto count = Offset(batch.size());
    parallel_ranges(cpu_.threads(), count, compute_range, 16);
    const Offset parts = std::clamp<Offset>(count / 16, 1, cpu_.threads());
    parallel_parts(cpu_.threads(), parts, parts, [&](Offset part, Offset, Offset) {
        for (std::size_t k = 0; k < batch.size(); ++k) {
            add_rows(batch[k], &results_[starts[k]], part, parts);
        }
    });
}

/// The stiffness and the forces of an element, n x n and n numbers.
void ElementSums::compute(Item item, double* result) const {
    const auto& [elements, model, stiffness, thickness, active] = data_;
    const Index element = item.element;
    find_element_system(elements, model, stiffness, thickness, element, item.with_stiffness,
                        result);
    if (!is_changed(element)) return;
    turn_element(axes_of_nodes_, elements.nodes(element), d(), result);
    if (active.is_reduced(element)) {
        active.reduce(elements.nodes(element), active(element), result);
    }
}

/// Adds the rows of an element's nodes in one of `parts` interleaved sets of nodes.
void ElementSums::add_rows(Item item, const double* result, Offset part, Offset parts) {
    constexpr Index nodes_together = 64;
    const std::span<const Index> nodes = data_.active(item.element);
    for (std::size_t a = 0; a < nodes.size(); ++a) {
        if (parts == 1 || nodes[a] / nodes_together % parts == part) {
            d() == 2 ? add_rows_of_node<2>(item, a, result) : add_rows_of_node<3>(item, a, result);
        }
    }
}

template <int D>
void ElementSums::add_rows_of_node(Item item, std::size_t a, const double* result) {
    const std::span<const Index> nodes = data_.active(item.element);
    const std::size_t n = nodes.size() * D;
    const Index* const rows = &system_.unknowns[std::size_t(nodes[a]) * D];
    const Index* const some_row = std::find_if(rows, rows + D, [](Index r) { return r >= 0; });
    if (some_row == rows + D) return;
    for (int i = 0; i < D; ++i) {
        if (rows[i] >= 0) system_.load[rows[i]] += result[n * n + a * D + i];
    }
    if (!is_in_matrix(item.element)) {
        if (item.with_stiffness) add_prescribed<D>(nodes, a, result);
        return;
    }
    const Offset* const offsets = std::as_const(system_.matrix).row_offsets().data();
    double* const values = system_.matrix.values().data();
    const std::span<const Index> near = (*neighbours_)[neighbours_->place_of(nodes[a])];
    // All rows of a node have the same columns.
    const Offset length = offsets[*some_row + 1] - offsets[*some_row];
    const Index* const columns =
        std::as_const(system_.matrix).column_indices().data() + offsets[*some_row];
    const bool all_free = length == Offset(near.size()) * D;
    for (std::size_t b = 0; b < nodes.size(); ++b) {
        const double* const entries = result + a * D * n + b * D;
        const std::size_t other = std::size_t(nodes[b]) * D;
        if (all_free) {
            const Index place = neighbours_->place_of(nodes[b]);
            const Offset at = position_of(near.data(), near.size(), place) * D;
            for (int i = 0; i < D; ++i) {
                if (rows[i] < 0) continue;
                double* const value = values + offsets[rows[i]] + at;
                for (int j = 0; j < D; ++j) value[j] += entries[i * n + j];
            }
            continue;
        }
        const Index* const unknowns = &system_.unknowns[other];
        for (int j = 0; j < D; ++j) {
            const Offset at =
                unknowns[j] < 0 ? 0 : position_of(columns, std::size_t(length), unknowns[j]);
            for (int i = 0; i < D; ++i) {
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
template <int D>
void ElementSums::add_prescribed(std::span<const Index> nodes, std::size_t a,
                                 const double* result) {
    const std::size_t n = nodes.size() * D;
    for (std::size_t j = 0; j < n; ++j) {
        const std::size_t other = std::size_t(nodes[j / D]) * D + j % D;
        if (system_.unknowns[other] >= 0) continue;
        for (std::size_t i = 0; i < D; ++i) {
            const Index row = system_.unknowns[std::size_t(nodes[a]) * D + i];
            if (row < 0) continue;
            system_.load[row] -= result[(a * D + i) * n + j] * system_.prescribed[other];
        }
    }
}

}  // namespace tessera::elasticity
