#include <algorithm>
#include <cmath>

#include "base/checks.hpp"
#include "base/zeros.hpp"
#include "precond/multigrid/aggregates/node_graph.hpp"
#include "precond/multigrid/aggregates/strength_rows.hpp"
#include "precond/multigrid/blocks/for_each_block.hpp"
#include "tessera/vector_ops.hpp"

namespace tessera::multigrid {

DenseNodes::DenseNodes(const BsrView<double>& matrix)
    : nodes(matrix.block_rows),
      row_offsets(matrix.row_offsets),
      max_blocks(Offset(std::max(std::sqrt(double(matrix.block_rows)),
                                 10 * double(matrix.blocks) / std::max(matrix.block_rows, 1)))) {}

Buffer<double> block_norms(const Context& context, const BsrView<double>& matrix) {
    Buffer<double> norms(context, matrix.blocks);
    for_each_block(context, matrix, matrix.values, MeasureBlock{matrix.height, norms.data()});
    return norms;
}

NodeGraph strong_couplings(const Context& context, const BsrView<double>& matrix,
                           const Buffer<double>& norms, AmgStrength strength, double theta,
                           const DeviceCoordinates& coordinates, const Halo* halo) {
    const Index nodes = matrix.block_rows, all_nodes = matrix.block_columns;
    const bool by_norm = strength != AmgStrength::distance;
    const bool by_distance = strength != AmgStrength::frobenius;
    require(all_nodes == (halo == nullptr ? nodes : halo->nodes()) &&
                matrix.height == matrix.width && norms.size() == matrix.blocks,
            "strong_couplings: the matrix and its blocks must be square, and have a norm each");
    const Offset numbers = Offset(all_nodes) * coordinates.dimensions;
    require(!by_distance || coordinates.values.size() == numbers, "strong_couplings: ", all_nodes,
            " nodes in ", coordinates.dimensions, " dimensions need ", numbers,
            " coordinates, not ", coordinates.values.size());
    Buffer<double> diagonal_roots(context, all_nodes),
        nearness_roots(context, by_distance ? nodes : 0);
    Buffer<float> weights(context, matrix.blocks);
    NodeGraph graph;
    graph.alone = Buffer<Index>(context, nodes);
    const int lanes = sharing_threads(context, nodes, 8);
    const DenseNodes dense(matrix);
    const Couplings couplings{matrix,
                              dense,
                              norms.data(),
                              by_norm,
                              by_distance ? coordinates.values.data() : nullptr,
                              coordinates.dimensions,
                              theta,
                              diagonal_roots.data(),
                              nearness_roots.data()};
    // How many strong blocks there are before each part, and whether any node is dense.
    const RowParts parts{matrix.row_offsets, lanes};
    const Offset part_count = Offset(nodes) * lanes;
    Buffer<Offset> positions(context, part_count + 2);
    Offset* const any_dense = positions.data() + part_count + 1;
    context.state().fill_bytes(any_dense, 0, sizeof(Offset));
    for_each_index(context, nodes,
                   MeasureDiagonal{matrix, dense, norms.data(), diagonal_roots.data(),
                                   graph.alone.data(), any_dense});
    if (halo != nullptr) halo->exchange(context, 1, diagonal_roots);
    if (by_distance) {
        Buffer<double> sums(context, SumNearness::parts * Offset(nodes));
        for_each_index(context, sums.size(), SumNearness{couplings, sums.data()});
        for_each_index(context, nodes, AddNearness{sums.data(), nearness_roots.data()});
    }
    for_each_index(context, part_count,
                   WeighCouplings{lanes, couplings, weights.data(), graph.alone.data()});
    exclusive_scan(context, part_count, CountStrong{parts, weights.data()}, positions.data());
    Offset totals[2];
    copy_to_host(context, std::as_const(positions).view().last(2), std::span<Offset>(totals));
    const Offset count = totals[0];
    graph.has_dense = totals[1] != 0;
    graph.row_offsets = Buffer<Offset>(context, Offset(nodes) + 1);
    copy(context, std::as_const(positions).view().subspan(std::size_t(part_count), 1),
         graph.row_offsets.view().last(1));
    graph.neighbours = Buffer<Index>(context, count);
    graph.weights = Buffer<float>(context, count);
    for_each_index(
        context, part_count,
        CopyStrong{parts, matrix.column_indices, weights.data(), positions.data(),
                   graph.row_offsets.data(), graph.neighbours.data(), graph.weights.data()});
    return graph;
}

}  // namespace tessera::multigrid
