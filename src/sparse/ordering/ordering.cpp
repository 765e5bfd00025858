#include <algorithm>
#include <limits>
#include <numeric>

#include "base/checks.hpp"
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
            return minimum_degree(graph.vertices(), graph.offsets.data(), graph.neighbours.data());
        case OrderingMethod::natural:
            break;
    }
    std::vector<Index> order(std::size_t(graph.vertices()));
    std::iota(order.begin(), order.end(), 0);
    return order;
}

/// The slots of the vertices in their order; no pair straddles the end of a block.
std::vector<Index> pack(const ordering::PairGraph& graph, const std::vector<Index>& order,
                        Index block) {
    std::vector<Index> slots;
    slots.reserve(order.size());
    std::vector<char> packed(order.size(), 0);
    const auto put = [&](std::size_t x) {
        packed[x] = 1;
        slots.push_back(graph.first_row[order[x]]);
        if (graph.second_row[order[x]] >= 0) slots.push_back(graph.second_row[order[x]]);
    };
    const auto put_next_single = [&](std::size_t x) {
        int window = 64;
        for (; x < order.size() && window > 0; ++x) {
            if (packed[x]) continue;
            if (graph.rows(order[x]) == 1) {
                put(x);
                return true;
            }
            --window;
        }
        return false;
    };
    for (std::size_t x = 0; x < order.size(); ++x) {
        if (packed[x]) continue;
        const bool one_left = block > 1 && Index(slots.size() % std::size_t(block)) == block - 1;
        if (one_left && graph.rows(order[x]) == 2 && !put_next_single(x + 1)) slots.push_back(-1);
        put(x);
    }
    while (slots.size() % std::size_t(block) != 0) slots.push_back(-1);
    return slots;
}

}  // namespace

const char* to_string(OrderingMethod method) {
    static constexpr const char* names[] = {"natural", "rcm", "amd"};
    return names[int(method)];
}

template <class T>
std::vector<Index> order_blocks(const Context& cpu, const CsrView<T>& matrix,
                                std::span<const Index> partner, Index block,
                                OrderingMethod method) {
    require(!cpu.on_gpu(), "order_blocks works in host memory: give it a CPU context");
    check_matrix("order_blocks", matrix);
    check_square("order_blocks", matrix.rows, matrix.columns);
    require(block >= 1, "order_blocks: blocks have at least one row");
    check_partners(partner, matrix.rows);
    const Phase phase(cpu, "ordering", 0);
    const ordering::PairGraph graph = ordering::make_pair_graph(cpu, matrix, partner);
    std::vector<Index> row_of_slot = pack(graph, vertex_order(graph, method), block);
    if (row_of_slot.size() > std::size_t(std::numeric_limits<Index>::max())) {
        throw InvalidArgument("order_blocks: blocks of " + std::to_string(block) +
                              " rows need more than 2^31 - 1 slots");
    }
    return row_of_slot;
}

template decltype(order_blocks<float>) order_blocks<float>;
template decltype(order_blocks<double>) order_blocks<double>;

}  // namespace tessera
