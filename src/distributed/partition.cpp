#include "distributed/partition.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <numeric>
#include <tuple>
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

/// The nodes of each rank in ascending order, and their places.
NodePartition with_sorted_parts(NodePartition partition) {
    std::vector<Index> rank_of(partition.order.size());
    for (std::size_t r = 0; r + 1 < partition.starts.size(); ++r) {
        for (Offset k = partition.starts[r]; k < partition.starts[r + 1]; ++k) {
            rank_of[std::size_t(partition.order[std::size_t(k)])] = Index(r);
        }
    }
    std::vector<Offset> next = partition.starts;
    partition.places.resize(rank_of.size());
    for (std::size_t i = 0; i < rank_of.size(); ++i) {
        const Offset place = next[std::size_t(rank_of[i])]++;
        partition.order[std::size_t(place)] = Index(i);
        partition.places[i] = Index(place);
    }
    return partition;
}

std::pair<Offset, Offset> range_of(const NodePartition& partition, int rank) {
    return {partition.starts[std::size_t(rank)], partition.starts[std::size_t(rank) + 1]};
}

}  // namespace

NodePartition bisect_coordinates(const NodeCoordinates& coordinates, int ranks) {
    require(ranks >= 1 && coordinates.dimensions >= 1, "a partition needs one rank or more");
    const Offset nodes = Offset(coordinates.values.size()) / coordinates.dimensions;
    NodePartition partition{std::vector<Index>(std::size_t(nodes)), starts_of(nodes, ranks), {}};
    std::iota(partition.order.begin(), partition.order.end(), Index(0));
    bisect(coordinates, partition.order, ranks);
    return with_sorted_parts(std::move(partition));
}

namespace {

/// How many nodes are coupled to nodes of other parts, where the parts are cut from their own
/// order.
Offset nodes_at_cuts(const Context& cpu, const CsrView<double>& matrix, int block,
                     const std::vector<Offset>& starts) {
    std::atomic<Offset> all{0};
    parallel_ranges(cpu.threads(), starts.back(), [&](Offset from, Offset to) {
        Offset found = 0;
        std::size_t r = 0;
        for (Offset node = from; node < to; ++node) {
            if (node % 4096 == 0) check_time();
            while (starts[r + 1] <= node) ++r;
            const Offset first = starts[r] * block, end = starts[r + 1] * block;
            const Index* const columns = matrix.column_indices;
            found += std::any_of(columns + matrix.row_offsets[node * block],
                                 columns + matrix.row_offsets[(node + 1) * block],
                                 [&](Index column) { return column < first || column >= end; });
        }
        all += found;
    });
    return all;
}

}  // namespace

NodePartition cut_ordering(const Context& cpu, const CsrView<double>& matrix, int block,
                           int ranks) {
    require(ranks >= 1, "a partition needs one rank or more");
    const Offset count = matrix.rows / block;
    NodePartition own{std::vector<Index>(std::size_t(count)), starts_of(count, ranks), {}};
    std::iota(own.order.begin(), own.order.end(), Index(0));
    // A cut across a cube has so many nodes on each side; as many again are accepted.
    const double of_cube = 4 * std::pow(double(count), 2.0 / 3) * (ranks - 1);
    if (double(nodes_at_cuts(cpu, matrix, block, own.starts)) <= std::min(of_cube, count / 4.0)) {
        return with_sorted_parts(std::move(own));
    }
    const BsrMatrix<double> blocks = to_bsr(cpu, matrix, block, block);
    const BsrView<double> nodes = blocks.view();
    const CsrView<double> graph{nodes.block_rows,  nodes.block_columns,  nodes.blocks,
                                nodes.row_offsets, nodes.column_indices, nodes.values};
    own.order = order_blocks(cpu, graph, {}, 1, OrderingMethod::rcm);
    return with_sorted_parts(std::move(own));
}

CsrMatrix<double> rows_of_rank(const Context& cpu, const CsrView<double>& matrix, int block,
                               const NodePartition& partition, int rank) {
    const auto [first, end] = range_of(partition, rank);
    const auto row_of = [&](Offset own) {
        return partition.order[std::size_t(first + own / block)] * Offset(block) + own % block;
    };
    const Offset rows = (end - first) * block;
    std::vector<Offset> offsets(std::size_t(rows) + 1, 0);
    parallel_ranges(cpu.threads(), rows, [&](Offset from, Offset to) {
        for (Offset i = from; i < to; ++i) {
            const Offset row = row_of(i);
            offsets[std::size_t(i) + 1] = matrix.row_offsets[row + 1] - matrix.row_offsets[row];
        }
    });
    std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());
    CsrMatrix<double> own(cpu, Index(rows), matrix.columns, offsets.back());
    std::ranges::copy(offsets, own.row_offsets().data());
    parallel_ranges(
        cpu.threads(), rows,
        [&](Offset from, Offset to) {
            std::vector<std::pair<Index, double>> row;
            for (Offset i = from; i < to; ++i) {
                if (i % 4096 == 0) check_time();
                const Offset given = row_of(i), start = matrix.row_offsets[given],
                             length = matrix.row_offsets[given + 1] - start;
                Index* const columns = own.column_indices().data() + offsets[std::size_t(i)];
                double* const values = own.values().data() + offsets[std::size_t(i)];
                bool ascend = true;
                for (Offset k = 0; k < length; ++k) {
                    const Index column = matrix.column_indices[start + k], node = column / block;
                    columns[k] =
                        partition.places[std::size_t(node)] * block + column - node * block;
                    values[k] = matrix.values[start + k];
                    ascend = ascend && (k == 0 || columns[k - 1] < columns[k]);
                }
                if (ascend) continue;
                row.clear();
                for (Offset k = 0; k < length; ++k) row.emplace_back(columns[k], values[k]);
                std::ranges::sort(row, {}, &std::pair<Index, double>::first);
                for (Offset k = 0; k < length; ++k) {
                    std::tie(columns[k], values[k]) = row[std::size_t(k)];
                }
            }
        },
        1024);
    return own;
}

std::vector<double> items_of_rank(const Context& cpu, std::span<const double> all, int width,
                                  const NodePartition& partition, int rank) {
    const auto [first, end] = range_of(partition, rank);
    std::vector<double> own(std::size_t((end - first) * width));
    const Index* const nodes = partition.order.data() + first;
    parallel_ranges(cpu.threads(), end - first, [&](Offset from, Offset to) {
        for (Offset k = from; k < to; ++k) {
            std::copy_n(all.data() + nodes[k] * Offset(width), width, own.data() + k * width);
        }
    });
    return own;
}

void put_items_of_rank(const Context& cpu, std::span<const double> own, int width,
                       const NodePartition& partition, int rank, std::span<double> all) {
    const auto [first, end] = range_of(partition, rank);
    const Index* const nodes = partition.order.data() + first;
    parallel_ranges(cpu.threads(), end - first, [&](Offset from, Offset to) {
        for (Offset k = from; k < to; ++k) {
            std::copy_n(own.data() + k * width, width, all.data() + nodes[k] * Offset(width));
        }
    });
}

}  // namespace tessera
