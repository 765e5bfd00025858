#include "krylov/devices/deal.hpp"

#include <atomic>
#include <cmath>

#include "base/checks.hpp"
#include "base/find_csr_entry.hpp"
#include "base/parallel.hpp"
#include "tessera/amg.hpp"
#include "tessera/choice.hpp"
#include "tessera/detail/bsr.hpp"

namespace tessera {

void require_definite(const Context& cpu, const CsrView<double>& matrix) {
    const auto refuse_unless = [](bool condition, const char* what) {
        require_argument("matrix", condition,
                         "over several devices systems are solved whose matrix is symmetric and "
                         "positive definite; this one ",
                         what);
    };
    refuse_unless(is_symmetric(cpu, matrix), "is not symmetric");
    std::atomic<bool> positive{true};
    parallel_ranges(cpu.threads(), matrix.rows, [&](Offset from, Offset to) {
        for (Offset i = from; i < to; ++i) {
            const Offset k = find_csr_entry(matrix, Index(i), Index(i));
            if (k < 0 || !(matrix.values[k] > 0)) positive = false;
        }
    });
    refuse_unless(positive, "has diagonal entries that are not positive");
}

Deal deal_out(const Context& cpu, const CsrView<double>& matrix, const ConfigOverRanks& config,
              const PreconditionerInputs& given, int ranks) {
    Deal deal;
    deal.inputs = config.inputs_for(matrix.rows, given);
    const NodeCoordinates& points = *deal.inputs.coordinates;
    require_definite(cpu, matrix);
    const Offset rows = matrix.rows,
                 nodes = Offset(points.values.size()) / std::max(1, points.dimensions);
    const bool divides = nodes > 0 && rows > 0 && rows % nodes == 0;
    deal.by_coordinates = nodes > 0;
    const auto found_unknowns = [&] {  // Blocks of the pattern, if they can be those of nodes.
        const int found = find_facts(cpu, matrix, points).rows_per_node;
        return nodes == 0 && rows % found != 0 ? 1 : found;
    };
    deal.block = config.unknowns_of_node() > 0 ? config.unknowns_of_node()
                 : divides                     ? int(rows / nodes)
                                               : found_unknowns();
    const char* const complete =
        ": over several devices all nodes must have all of their unknowns, fixed ones identity "
        "rows";
    require_argument("coordinates", points.unknowns.empty(), "some of the ", nodes,
                     " nodes lack unknowns", complete);
    require_argument("coordinates",
                     nodes == 0 || (nodes * deal.block == rows && deal.block <= max_bsr_block),
                     "coordinates of ", nodes, " nodes do not fit ", rows, " rows", complete);
    require_argument("matrix", rows % deal.block == 0, "nodes of ", deal.block,
                     " unknowns do not divide ", rows, " rows", complete);
    for (const double value : points.values) {
        require_argument("coordinates", std::isfinite(value), "a coordinate is not finite");
    }
    const NearNullSpace& vectors = *deal.inputs.near_null;
    require_argument("near_null",
                     vectors.values.empty() ||
                         Offset(vectors.values.size()) == Offset(matrix.rows) * vectors.columns,
                     "near-null vectors must have ", matrix.rows, " rows");
    deal.partition = deal.by_coordinates ? bisect_coordinates(points, ranks)
                                         : cut_ordering(cpu, matrix, deal.block, ranks);
    return deal;
}

PreconditionerInputs own_inputs(const Context& cpu, const Deal& deal, int rank) {
    PreconditionerInputs own;
    const NodeCoordinates& points = *deal.inputs.coordinates;
    if (!points.values.empty()) {
        own.coordinates = NodeCoordinates{
            points.dimensions, items_of_rank(cpu, {points.values.data(), points.values.size()},
                                             points.dimensions, deal.partition, rank)};
    }
    const NearNullSpace& vectors = *deal.inputs.near_null;
    if (!vectors.values.empty()) {
        own.near_null = NearNullSpace{
            vectors.columns,
            items_of_rank(cpu, vectors.values, deal.block * vectors.columns, deal.partition, rank)};
    }
    return own;
}

}  // namespace tessera
