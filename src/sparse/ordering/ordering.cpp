#include <algorithm>
#include <limits>
#include <numeric>

#include "base/dispatch.hpp"
#include "base/parallel.hpp"
#include "base/phases.hpp"
#include "sparse/ordering/pair_graph.hpp"

namespace tessera {

namespace {

void check_partners(std::span<const Index> partner, Index rows) {
    require(partner.empty() || partner.size() == std::size_t(rows),
            "order_blocks: the partners are of another matrix");
    for (std::size_t i = 0; i < partner.size(); ++i) {
        if (partner[i] < 0 || partner[i] >= rows || partner[partner[i]] != Index(i)) {
            throw InvalidArgument("order_blocks: row " + std::to_string(i) +
                                  " is not its partner's partner");
        }
    }
}

std::vector<Index> vertex_order(const ordering::PairGraph& graph, OrderingMethod method) {
    switch (method) {
        case OrderingMethod::rcm:
            return ordering::reverse_cuthill_mckee(graph);
        case OrderingMethod::amd:
            return ordering::minimum_degree(graph);
        case OrderingMethod::metis:
            return ordering::nested_dissection(graph);
        case OrderingMethod::natural:
            break;
    }
    std::vector<Index> order(std::size_t(graph.vertices()));
    std::iota(order.begin(), order.end(), 0);
    return order;
}

/// The slots of the vertices in their order, none of two rows across the end of a block.
std::vector<Index> pack(const ordering::PairGraph& graph, const std::vector<Index>& order,
                        Index block) {
    std::vector<Index> slots;
    slots.reserve(order.size());
    std::vector<char> taken(order.size(), 0);
    const auto put = [&](std::size_t x) {
        taken[x] = 1;
        slots.push_back(graph.first_row[order[x]]);
        if (graph.second_row[order[x]] >= 0) slots.push_back(graph.second_row[order[x]]);
    };
    const auto put_next_single = [&](std::size_t x) {
        int window = 64;
        for (; x < order.size() && window > 0; ++x) {
            if (taken[x]) continue;
            if (graph.rows(order[x]) == 1) {
                put(x);
                return true;
            }
            --window;
        }
        return false;
    };
    for (std::size_t x = 0; x < order.size(); ++x) {
        if (taken[x]) continue;
        const bool one_left = block > 1 && Index(slots.size() % std::size_t(block)) == block - 1;
        if (one_left && graph.rows(order[x]) == 2 && !put_next_single(x + 1)) slots.push_back(-1);
        put(x);
    }
    while (slots.size() % std::size_t(block) != 0) slots.push_back(-1);
    return slots;
}

}  // namespace

const char* to_string(OrderingMethod method) {
    switch (method) {
        case OrderingMethod::natural:
            return "natural";
        case OrderingMethod::rcm:
            return "rcm";
        case OrderingMethod::amd:
            return "amd";
        case OrderingMethod::metis:
            return "metis";
    }
    return "";
}

template <class T>
BlockOrdering order_blocks(const Context& cpu, const CsrView<T>& matrix,
                           std::span<const Index> partner, const OrderingOptions& options) {
    require(!cpu.on_gpu(), "order_blocks works in host memory: give it a CPU context");
    require(matrix.rows == matrix.columns, "order_blocks: the matrix must be square");
    require(options.block >= 1, "order_blocks: blocks have at least one row");
    check_partners(partner, matrix.rows);
    const Phase phase(cpu, "ordering", 0);
    const ordering::PairGraph graph = ordering::make_pair_graph(cpu, matrix, partner);
    BlockOrdering result;
    result.block = options.block;
    result.row_of_slot = pack(graph, vertex_order(graph, options.method), options.block);
    if (result.row_of_slot.size() > std::size_t(std::numeric_limits<Index>::max())) {
        throw InvalidArgument("order_blocks: blocks of " + std::to_string(options.block) +
                              " rows need more than 2^31 - 1 slots");
    }
    result.padding = Index(result.row_of_slot.size()) - matrix.rows;
    result.slot_of_row.resize(std::size_t(matrix.rows));
    for (std::size_t slot = 0; slot < result.row_of_slot.size(); ++slot) {
        if (result.row_of_slot[slot] >= 0) {
            result.slot_of_row[result.row_of_slot[slot]] = Index(slot);
        }
    }
    return result;
}

template <class T>
ReorderedMatrix<T> reorder(const Context& cpu, const CsrView<T>& matrix,
                           std::span<const double> scaling, const BlockOrdering& ordering) {
    require(!cpu.on_gpu(), "reorder works in host memory: give it a CPU context");
    require(matrix.rows == matrix.columns &&
                ordering.slot_of_row.size() == std::size_t(matrix.rows) &&
                (scaling.empty() || scaling.size() == std::size_t(matrix.rows)),
            "reorder: the matrix, its scaling and its ordering differ in size");
    const Phase phase(cpu, "ordering", 0);
    const Index slots = Index(ordering.row_of_slot.size());
    std::vector<Offset> offsets(std::size_t(slots) + 1, 0);
    for (Index slot = 0; slot < slots; ++slot) {
        const Index row = ordering.row_of_slot[slot];
        const Offset length = row < 0 ? 1 : matrix.row_offsets[row + 1] - matrix.row_offsets[row];
        offsets[slot + 1] = offsets[slot] + length;
    }
    ReorderedMatrix<T> result;
    result.matrix = CsrMatrix<T>(cpu, slots, slots, offsets[slots]);
    std::ranges::copy(offsets, result.matrix.row_offsets().data());
    result.source.resize(std::size_t(offsets[slots]));
    Index* const columns = result.matrix.column_indices().data();
    T* const values = result.matrix.values().data();

    const auto fill_row = [&](Index slot, std::vector<std::pair<Index, Offset>>& entries) {
        const Index row = ordering.row_of_slot[slot];
        Offset at = offsets[slot];
        if (row < 0) {
            columns[at] = slot;
            values[at] = T(1);
            result.source[at] = -1;
            return;
        }
        entries.clear();
        for (Offset k = matrix.row_offsets[row]; k < matrix.row_offsets[row + 1]; ++k) {
            entries.emplace_back(ordering.slot_of_row[matrix.column_indices[k]], k);
        }
        std::ranges::sort(entries);
        for (const auto& [column, k] : entries) {
            double value = double(matrix.values[k]);
            if (!scaling.empty()) {
                const auto [low, high] = std::minmax(row, matrix.column_indices[k]);
                value = scaling[low] * value * scaling[high];
            }
            columns[at] = column;
            values[at] = T(value);
            result.source[at++] = k;
        }
    };
    const auto fill = [&](Offset first, Offset last) {
        std::vector<std::pair<Index, Offset>> entries;
        for (Offset slot = first; slot < last; ++slot) fill_row(Index(slot), entries);
    };
    parallel_ranges(cpu.threads(), slots, fill, 1024);
    return result;
}

#define TESSERA_INSTANTIATE(T)                                                              \
    template BlockOrdering order_blocks<T>(const Context&, const CsrView<T>&,               \
                                           std::span<const Index>, const OrderingOptions&); \
    template ReorderedMatrix<T> reorder<T>(const Context&, const CsrView<T>&,               \
                                           std::span<const double>, const BlockOrdering&);
TESSERA_INSTANTIATE(float)
TESSERA_INSTANTIATE(double)

}  // namespace tessera
