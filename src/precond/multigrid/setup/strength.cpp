#include "base/checks.hpp"
#include "precond/multigrid/setup/node_graph.hpp"
#include "precond/multigrid/setup/strength_rows.hpp"

namespace tessera::multigrid {

NodeGraph strong_couplings(const Context& context, const BsrView<double>& matrix,
                           AmgStrength strength, double theta,
                           const DeviceCoordinates& coordinates) {
    const Index nodes = matrix.block_rows;
    const bool by_norm = strength != AmgStrength::distance;
    const bool by_distance = strength != AmgStrength::frobenius;
    require(matrix.block_columns == nodes && matrix.height == matrix.width,
            "strong_couplings: the matrix and its blocks must be square");
    const Offset numbers = Offset(nodes) * coordinates.dimensions;
    require(!by_distance || coordinates.values.size() == numbers, "strong_couplings: ", nodes,
            " nodes in ", coordinates.dimensions, " dimensions need ", numbers,
            " coordinates, not ", coordinates.values.size());
    Buffer<double> norms(context, matrix.blocks), diagonal_roots(context, nodes),
        nearness_roots(context, by_distance ? nodes : 0);
    Buffer<float> weights(context, matrix.blocks);
    Buffer<Index> counts(context, nodes);
    NodeGraph graph;
    graph.alone = Buffer<Index>(context, nodes);
    const int lanes = context.on_gpu() ? 8 : 1;
    const Couplings couplings{matrix,
                              norms.data(),
                              by_norm,
                              by_distance ? coordinates.values.data() : nullptr,
                              coordinates.dimensions,
                              theta,
                              diagonal_roots.data(),
                              nearness_roots.data()};
    for_each_index(context, matrix.blocks, BlockNorms{matrix, norms.data()});
    for_each_index(context, nodes, SumCouplings{couplings, graph.alone.data()});
    for_each_index(context, Offset(nodes) * lanes,
                   WeighCouplings{lanes, couplings, weights.data(), graph.alone.data()});
    for_each_index(context, nodes, CountStrong{matrix, weights.data(), counts.data()});
    graph.row_offsets = Buffer<Offset>(context, Offset(nodes) + 1);
    exclusive_scan(context, nodes, CountAt{counts.data()}, graph.row_offsets.data());
    Offset couplings_count = 0;
    copy_to_host(context, std::span<const Offset>(graph.row_offsets.view()).last(1),
                 std::span<Offset>(&couplings_count, 1));
    graph.neighbours = Buffer<Index>(context, couplings_count);
    graph.weights = Buffer<float>(context, couplings_count);
    for_each_index(context, nodes,
                   FillStrong{matrix, weights.data(), graph.row_offsets.data(),
                              graph.neighbours.data(), graph.weights.data()});
    return graph;
}

}  // namespace tessera::multigrid
