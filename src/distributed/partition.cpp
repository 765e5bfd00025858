#include "distributed/partition.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/checks.hpp"
#include "base/parallel.hpp"
#include "tessera/detail/bsr.hpp"
#include "tessera/detail/ordering.hpp"

namespace tessera {

namespace {

/// Nodes first .. end - 1 of an order are cut into `ranks` parts.
void bisect(const NodeCoordinates& coordinates, std::span<Index> nodes, int ranks) {
    if (ranks <= 1) return;
    check_time();
    const auto dimensions = std::size_t(coordinates.dimensions);
    const auto at = [&](Index node, std::size_t axis) {
        return coordinates.values[std::size_t(node) * dimensions + axis];
    };
    std::size_t longest = 0;
    double length = -1;
    for (std::size_t axis = 0; axis < dimensions; ++axis) {
        double low = 0, high = 0;
        for (std::size_t k = 0; k < nodes.size(); ++k) {
            const double x = at(nodes[k], axis);
            low = k == 0 ? x : std::min(low, x);
            high = k == 0 ? x : std::max(high, x);
        }
        if (high - low > length) {
            length = high - low;
            longest = axis;
        }
    }
    const int lower = ranks / 2;
    const std::size_t cut = nodes.size() * std::size_t(lower) / std::size_t(ranks);
    // Where nodes are at one place along the axis, the first ones go to the lower ranks.
    std::ranges::nth_element(nodes, nodes.begin() + Offset(cut), {},
                             [&](Index node) { return std::pair(at(node, longest), node); });
    bisect(coordinates, nodes.first(cut), lower);
    bisect(coordinates, nodes.subspan(cut), ranks - lower);
}

/// Equal parts of an order, as bisection by halves makes them.
std::vector<Offset> starts_of(Offset nodes, int ranks) {
    std::vector<Offset> starts{0};
    const auto cut = [&](auto&& self, Offset count, int parts) -> void {
        if (parts == 1) return starts.push_back(starts.back() + count);
        const int lower = parts / 2;
        const Offset below = count * lower / parts;
        self(self, below, lower);
        self(self, count - below, parts - lower);
    };
    cut(cut, nodes, ranks);
    return starts;
}

void sort_parts(NodePartition& partition) {
    for (std::size_t r = 0; r + 1 < partition.starts.size(); ++r) {
        std::sort(partition.order.begin() + partition.starts[r],
                  partition.order.begin() + partition.starts[r + 1]);
    }
}

std::pair<Offset, Offset> range_of(const NodePartition& partition, int rank) {
    return {partition.starts[std::size_t(rank)], partition.starts[std::size_t(rank) + 1]};
}

}  // namespace

NodePartition bisect_coordinates(const NodeCoordinates& coordinates, int ranks) {
    require(ranks >= 1 && coordinates.dimensions >= 1, "a partition needs one rank or more");
    const Offset nodes = Offset(coordinates.values.size()) / coordinates.dimensions;
    NodePartition partition{std::vector<Index>(std::size_t(nodes)), starts_of(nodes, ranks)};
    std::iota(partition.order.begin(), partition.order.end(), Index(0));
    bisect(coordinates, partition.order, ranks);
    sort_parts(partition);
    return partition;
}

NodePartition cut_ordering(const Context& cpu, const CsrView<double>& matrix, int block,
                           int ranks) {
    require(ranks >= 1, "a partition needs one rank or more");
    const BsrMatrix<double> blocks = to_bsr(cpu, matrix, block, block);
    const BsrView<double> nodes = blocks.view();
    const CsrView<double> graph{nodes.block_rows,  nodes.block_columns,  nodes.blocks,
                                nodes.row_offsets, nodes.column_indices, nodes.values};
    NodePartition partition{order_blocks(cpu, graph, {}, 1, OrderingMethod::rcm),
                            starts_of(nodes.block_rows, ranks)};
    sort_parts(partition);
    return partition;
}

CsrMatrix<double> rows_of_rank(const Context& cpu, const CsrView<double>& matrix, int block,
                               const NodePartition& partition, int rank) {
    std::vector<Index> places(partition.order.size());
    for (std::size_t k = 0; k < places.size(); ++k) {
        places[std::size_t(partition.order[k])] = Index(k);
    }
    const auto [first, end] = range_of(partition, rank);
    const auto row_of = [&](Offset own) {
        return partition.order[std::size_t(first + own / block)] * Offset(block) + own % block;
    };
    const Offset rows = (end - first) * block;
    std::vector<Offset> offsets{0};
    for (Offset i = 0; i < rows; ++i) {
        const Offset row = row_of(i);
        offsets.push_back(offsets.back() + matrix.row_offsets[row + 1] - matrix.row_offsets[row]);
    }
    CsrMatrix<double> own(cpu, Index(rows), matrix.columns, offsets.back());
    std::ranges::copy(offsets, own.row_offsets().data());
    parallel_ranges(
        cpu.threads(), rows,
        [&](Offset from, Offset to) {
            std::vector<std::pair<Index, double>> row;
            for (Offset i = from; i < to; ++i) {
                row.clear();
                const Offset given = row_of(i);
                for (Offset k = matrix.row_offsets[given]; k < matrix.row_offsets[given + 1]; ++k) {
                    const Index column = matrix.column_indices[k];
                    row.emplace_back(places[std::size_t(column / block)] * block + column % block,
                                     matrix.values[k]);
                }
                std::ranges::sort(row, {}, &std::pair<Index, double>::first);
                Offset at = offsets[std::size_t(i)];
                for (const auto& [column, value] : row) {
                    own.column_indices().data()[at] = column;
                    own.values().data()[at++] = value;
                }
            }
        },
        1024);
    return own;
}

std::vector<double> items_of_rank(std::span<const double> all, int width,
                                  const NodePartition& partition, int rank) {
    const auto [first, end] = range_of(partition, rank);
    std::vector<double> own;
    own.reserve(std::size_t((end - first) * width));
    for (Offset k = first; k < end; ++k) {
        const auto node = all.subspan(
            std::size_t(partition.order[std::size_t(k)]) * std::size_t(width), std::size_t(width));
        own.insert(own.end(), node.begin(), node.end());
    }
    return own;
}

void put_items_of_rank(std::span<const double> own, int width, const NodePartition& partition,
                       int rank, std::span<double> all) {
    const auto [first, end] = range_of(partition, rank);
    for (Offset k = first; k < end; ++k) {
        std::copy_n(own.begin() + (k - first) * width, width,
                    all.begin() + partition.order[std::size_t(k)] * Offset(width));
    }
}

}  // namespace tessera
