#include "krylov/choice/facts.hpp"

#include <algorithm>

#include "base/checks.hpp"
#include "base/scratch/scratch.hpp"
#include "tessera/choice.hpp"
#include "tessera/detail/blocks.hpp"
#include "tessera/vector_ops.hpp"

namespace tessera {

namespace {

template <class T>
bool has_positive_diagonal(const Context& context, const CsrView<T>& matrix) {
    const Scratch<T> memory(context, Offset(matrix.rows) + 1);
    const std::span<T> flags = memory.view().first(std::size_t(matrix.rows));
    const std::span<T> count = memory.view().last(1);
    for_each_index(context, matrix.rows, FlagDiagonal<T>{matrix, flags.data()});
    dot<T>(context, flags, flags, count.data());
    T faults = 0;
    copy_to_host(context, std::span<const T>(count), std::span<T>(&faults, 1));
    return faults == T(0);
}

/// The unknowns of a node where coordinates or natural blocks tell, else 1.
Index rows_per_node(const BlockPartition& natural, const NodeCoordinates& coordinates) {
    if (coordinates.values.empty()) return are_nodes(natural) ? natural.largest : 1;
    if (!coordinates.unknowns.empty()) return coordinates.dimensions;  // Some have no row.
    const Offset nodes = Offset(coordinates.values.size()) / std::max(coordinates.dimensions, 1);
    if (nodes > 0 && natural.rows % nodes == 0) return Index(natural.rows / nodes);
    // Some unknowns of nodes may have no row; multigrid finds which. Shells have more of them.
    const Index unknowns = std::max(Index(coordinates.dimensions), natural.largest);
    require_argument("coordinates", natural.rows < nodes * unknowns, "coordinates of ", nodes,
                     " nodes do not fit a matrix of ", natural.rows,
                     " rows: give those of all nodes, each once");
    return unknowns;
}

}  // namespace

template <class T>
MatrixFacts find_facts(const Context& context, const CsrView<T>& matrix,
                       const NodeCoordinates& coordinates) {
    check_matrix("find_facts", matrix);
    check_memory(context, "find_facts", matrix);
    check_square("find_facts", matrix.rows, matrix.columns);
    MatrixFacts facts;
    facts.rows = matrix.rows;
    facts.nonzeros = matrix.nonzeros;
    facts.on_gpu = context.on_gpu();
    facts.has_coordinates = !coordinates.values.empty();
    if (matrix.rows == 0) {
        facts.symmetric = facts.positive_diagonal = true;
        return facts;
    }
    facts.positive_diagonal = has_positive_diagonal(context, matrix);
    facts.symmetric = is_symmetric(context, matrix);
    facts.natural_blocks =
        std::make_shared<const BlockPartition>(find_blocks(context, matrix, 8, Blocking::natural));
    const BlockPartition& natural = *facts.natural_blocks;
    facts.blocks = natural.count;
    facts.largest_block = natural.largest;
    facts.rows_per_node = rows_per_node(natural, coordinates);
    // Smaller matrices: bcsstk11, bcsstk14 and bcsstk24, where others than multigrid win.
    if (facts.rows_per_node == 1 && !facts.has_coordinates && facts.rows >= 10'000) {
        facts.rows_per_node = node_rows(context, matrix, natural);
        facts.nodes_without_zeros = facts.rows_per_node > 1;
    }
    return facts;
}

template MatrixFacts find_facts(const Context&, const CsrView<float>&, const NodeCoordinates&);
template MatrixFacts find_facts(const Context&, const CsrView<double>&, const NodeCoordinates&);

}  // namespace tessera
