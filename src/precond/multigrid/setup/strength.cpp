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
    Buffer<double> norms(context, by_norm ? matrix.blocks : 0), diagonal(context, nodes),
        nearness(context, nodes);
    Buffer<Index> counts(context, nodes);
    if (by_norm) for_each_index(context, matrix.blocks, BlockNorms{matrix, norms.data()});
    const Couplings couplings{matrix,
                              by_norm ? norms.data() : nullptr,
                              by_distance ? coordinates.values.data() : nullptr,
                              coordinates.dimensions,
                              theta,
                              diagonal.data(),
                              nearness.data()};
    for_each_index(context, nodes, SumCouplings{couplings});
    for_each_index(context, nodes, CountStrong{couplings, counts.data()});
    NodeGraph graph;
    graph.alone = copy_to_buffer(context, std::vector<Index>(std::size_t(nodes), 0));
    graph.row_offsets = Buffer<Offset>(context, Offset(nodes) + 1);
    exclusive_scan(context, nodes, CountAt{counts.data()}, graph.row_offsets.data());
    Offset couplings_count = 0;
    copy_to_host(context, std::span<const Offset>(graph.row_offsets.view()).last(1),
                 std::span<Offset>(&couplings_count, 1));
    graph.neighbours = Buffer<Index>(context, couplings_count);
    graph.weights = Buffer<float>(context, couplings_count);
    for_each_index(context, nodes,
                   FillStrong{couplings, graph.row_offsets.data(), graph.neighbours.data(),
                              graph.weights.data()});
    return graph;
}

}  // namespace tessera::multigrid
