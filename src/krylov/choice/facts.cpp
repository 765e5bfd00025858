#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <utility>
#include <vector>

#include "base/checks.hpp"
#include "base/context_state.hpp"
#include "base/parallel.hpp"
#include "base/scratch/scratch.hpp"
#include "krylov/choice/graph_growth.hpp"
#include "krylov/row_scan.hpp"
#include "krylov/rules.hpp"
#include "tessera/choice.hpp"
#include "tessera/detail/blocks.hpp"

namespace tessera {

namespace {

double product(Offset one, Offset other) {
    return std::bit_cast<double>(one) * std::bit_cast<double>(other);
}

/// Fills the facts that the rows tell one by one.
template <class T>
void look_at_rows(const Context& context, const CsrView<T>& matrix, MatrixFacts& facts) {
    const RowScan scan = TESSERA_RUN(scan_rows<T>, context, matrix);
    facts.positive_diagonal = scan.has_negative == 0 && scan.has_zero == 0;
    facts.negative_diagonal = scan.has_positive == 0 && scan.has_zero == 0;
    facts.zeros_on_diagonal = scan.has_zero != 0;
    facts.has_empty_rows = scan.has_empty != 0;
    facts.row_sums_vanish = scan.has_row_sum == 0;
    const double mean = double(matrix.nonzeros) / matrix.rows;
    facts.has_dense_rows =
        double(scan.longest) > std::max(std::sqrt(double(matrix.rows)), 10 * mean);
    facts.off_diagonal_share = scan.has_zero != 0 ? std::numeric_limits<double>::infinity()
                                                  : std::bit_cast<double>(scan.largest_share);
    facts.row_span = product(scan.largest, scan.smallest_inverse);
    facts.has_fixed_rows = scan.largest_fixed != 0;
    facts.has_odd_rows =
        product(scan.largest_fixed, scan.smallest_inverse) > 1e6 * facts.row_span ||
        product(scan.largest, scan.smallest_fixed_inverse) > 1e6 * facts.row_span;
}

/// The smallest box around points of up to three dimensions.
struct Box {
    static constexpr double infinity = std::numeric_limits<double>::infinity();
    double low[3] = {infinity, infinity, infinity}, high[3] = {-infinity, -infinity, -infinity};

    void add(const double* lowest, const double* highest, int dimensions) {
        for (int c = 0; c < dimensions; ++c) {
            low[c] = std::min(low[c], lowest[c]);
            high[c] = std::max(high[c], highest[c]);
        }
    }
};

/// The longest side of the box around the nodes over the mean distance of nodes.
double nodes_along(const Context& context, const NodeCoordinates& points) {
    const int dimensions = std::clamp(points.dimensions, 1, 3);
    const Offset nodes = Offset(points.values.size()) / dimensions;
    const double* const x = points.values.data();
    Box box;
    std::mutex joining;
    parallel_ranges(context.threads(), nodes, [&](Offset first, Offset last) {
        Box mine;
        for (Offset k = first * dimensions; k < last * dimensions; k += dimensions) {
            mine.add(x + k, x + k, dimensions);
        }
        const std::lock_guard lock(joining);
        box.add(mine.low, mine.high, dimensions);
    });
    double longest = 0, volume = 1;
    int sides = 0;
    for (int c = 0; c < dimensions; ++c) {
        const double side = box.high[c] - box.low[c];
        longest = std::max(longest, side);
        if (!(side > 0)) continue;  // All in one plane or line.
        volume *= side;
        ++sides;
    }
    return sides == 0 ? 0 : longest * std::pow(double(nodes) / volume, 1.0 / sides);
}

/// How many edges of the graph lie between two rows that are about as far apart as any: the length
/// of a body in nodes, as the rows of a node are neighbours. Other parts of the graph than that of
/// the middle row are not looked at.
double graph_length(const GraphView& graph) {
    std::vector<int> seen(std::size_t(graph.rows), 0);
    std::vector<Index> rows{graph.rows / 2};
    int length = 0;
    for (const int sweep : {1, 2}) {  // From any row, then from one at an end.
        rows = {rows.back()};
        while (graph.repeats(rows[0])) --rows[0];
        seen[std::size_t(rows[0])] = sweep;
        length = 0;
        for (std::size_t first = 0; first < rows.size(); ++length) {
            for (const std::size_t last = rows.size(); first < last; ++first) {
                const Index i = rows[first];
                if (graph.repeats(i)) continue;
                for (Offset k = graph.row_offsets[i]; k < graph.row_offsets[i + 1]; ++k) {
                    const Index j = graph.neighbours[k];
                    if (std::exchange(seen[std::size_t(j)], sweep) != sweep) rows.push_back(j);
                }
            }
        }
    }
    return length;
}

/// The unknowns of a node where coordinates or natural blocks tell, else 1.
Index rows_per_node(const BlockPartition& natural, Index joined,
                    const NodeCoordinates& coordinates) {
    if (coordinates.values.empty()) return are_nodes(natural) ? natural.largest : joined;
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
MatrixFacts find_row_facts(const Context& context, const CsrView<T>& matrix) {
    check_matrix("find_facts", matrix);
    check_memory(context, "find_facts", matrix);
    check_square("find_facts", matrix.rows, matrix.columns);
    MatrixFacts facts;
    facts.rows = matrix.rows;
    facts.nonzeros = matrix.nonzeros;
    facts.on_gpu = context.on_gpu();
    if (facts.on_gpu) {
        const double bytes = double(matrix.nonzeros) * double(sizeof(T) + sizeof(Index)) +
                             double(matrix.rows) * double(sizeof(Offset));
        facts.memory_share = bytes / double(context.state().device_memory_bytes);
    }
    if (matrix.rows == 0) {
        facts.symmetric = facts.positive_diagonal = true;
        return facts;
    }
    look_at_rows(context, matrix, facts);
    facts.symmetric = is_diagonal(facts) || is_symmetric(context, matrix);
    // On a GPU where multigrid may be the first way, or factors fill up.
    if (facts.symmetric &&
        facts.rows >= (facts.on_gpu && facts.positive_diagonal ? 100'000 : 20'000)) {
        facts.graph_dimension =
            graph_dimension(context, {matrix.rows, matrix.row_offsets, matrix.column_indices});
    }
    return facts;
}

template <class T>
void add_node_facts(const Context& context, const CsrView<T>& matrix,
                    const NodeCoordinates& coordinates, MatrixFacts& facts) {
    facts.has_coordinates = !coordinates.values.empty();
    if (facts.has_coordinates) facts.nodes_along = nodes_along(context, coordinates);
    if (matrix.rows == 0) return;
    facts.natural_blocks =
        std::make_shared<const BlockPartition>(find_blocks(context, matrix, 8, Blocking::natural));
    const BlockPartition& natural = *facts.natural_blocks;
    facts.blocks = natural.count;
    facts.largest_block = natural.largest;
    const Index joined = are_nodes(natural) ? 1 : rows_of_joined_nodes(context, natural);
    if (joined > 1) {
        facts.blocks = facts.rows / joined;
        facts.largest_block = joined;
    }
    facts.rows_per_node = rows_per_node(natural, joined, coordinates);
    const GraphView graph{matrix.rows, matrix.row_offsets, matrix.column_indices};
    // Smaller matrices: bcsstk11, bcsstk14 and bcsstk24, where others than multigrid win.
    if (facts.rows_per_node == 1 && !facts.has_coordinates &&
        facts.rows >= (facts.on_gpu ? 10'000 : 5'000)) {
        facts.rows_per_node = node_rows(context, matrix, natural);
        facts.nodes_without_zeros = facts.rows_per_node > 1;
    }
    // Multigrid is the fastest for larger ones of any shape.
    if (facts.symmetric && !facts.on_gpu && !facts.has_coordinates && facts.rows_per_node > 1 &&
        facts.rows < 100'000) {
        facts.nodes_along = graph_length(graph);
    }
}

template <class T>
MatrixFacts find_facts(const Context& context, const CsrView<T>& matrix,
                       const NodeCoordinates& coordinates) {
    MatrixFacts facts = find_row_facts(context, matrix);
    add_node_facts(context, matrix, coordinates, facts);
    return facts;
}

#define TESSERA_INSTANTIATE(T)                                                              \
    template MatrixFacts find_row_facts(const Context&, const CsrView<T>&);                 \
    template void add_node_facts(const Context&, const CsrView<T>&, const NodeCoordinates&, \
                                 MatrixFacts&);                                             \
    template MatrixFacts find_facts(const Context&, const CsrView<T>&, const NodeCoordinates&);
TESSERA_INSTANTIATE(float)
TESSERA_INSTANTIATE(double)
#undef TESSERA_INSTANTIATE

}  // namespace tessera
