#include <suitesparse/amd.h>

#include <numeric>

#include "sparse/ordering/pair_graph.hpp"

namespace tessera::ordering {

std::vector<Index> minimum_degree(const PairGraph& graph) {
    const std::vector<SuiteSparse_long> offsets(graph.offsets.begin(), graph.offsets.end());
    const std::vector<SuiteSparse_long> neighbours(graph.neighbours.begin(),
                                                   graph.neighbours.end());
    std::vector<SuiteSparse_long> order(std::size_t(graph.vertices()));
    if (graph.neighbours.empty()) {  // AMD takes no null pointer for an empty list.
        std::iota(order.begin(), order.end(), 0);
        return {order.begin(), order.end()};
    }
    const SuiteSparse_long status = amd_l_order(graph.vertices(), offsets.data(), neighbours.data(),
                                                order.data(), nullptr, nullptr);
    if (status == AMD_OUT_OF_MEMORY) {
        throw OutOfMemory("minimum degree ordering: no memory for a graph with " +
                          std::to_string(graph.neighbours.size()) + " entries");
    }
    return {order.begin(), order.end()};
}

}  // namespace tessera::ordering
