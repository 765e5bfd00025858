#include "precond/multigrid/prolongator.hpp"

#include <algorithm>
#include <cmath>

#include "base/checks.hpp"
#include "precond/multigrid/block_scaling.hpp"

namespace tessera::multigrid {

namespace {

/// The nodes of each aggregate, ascending.
struct Members {
    std::vector<Offset> offsets;
    std::vector<Index> nodes;
};

Members members_of(const Aggregates& aggregates) {
    Members members;
    members.offsets.assign(std::size_t(aggregates.count) + 1, 0);
    for (const Index a : aggregates.of_node) ++members.offsets[std::size_t(a) + 1];
    for (std::size_t a = 1; a < members.offsets.size(); ++a) {
        members.offsets[a] += members.offsets[a - 1];
    }
    members.nodes.resize(aggregates.of_node.size());
    std::vector<Offset> next = members.offsets;
    for (std::size_t i = 0; i < aggregates.of_node.size(); ++i) {
        members.nodes[std::size_t(next[std::size_t(aggregates.of_node[i])]++)] = Index(i);
    }
    return members;
}

/// A column that orthogonalisation makes smaller than this share of itself is dropped.
constexpr double dropped_below = 1e-8;

/// q r = q as given, q of `rows` rows and `columns` orthonormal columns or zero ones; row-major.
void orthonormalise(std::size_t rows, int columns, double* q, double* r, std::vector<bool>& dropped,
                    std::size_t first_dropped) {
    const auto width = std::size_t(columns);
    const auto dot = [&](std::size_t a, std::size_t b) {
        double sum = 0;
        for (std::size_t i = 0; i < rows; ++i) sum += q[i * width + a] * q[i * width + b];
        return sum;
    };
    std::fill_n(r, width * width, 0.0);
    for (std::size_t c = 0; c < width; ++c) {
        const double before = std::sqrt(dot(c, c));
        for (int pass = 0; pass < 2; ++pass) {
            for (std::size_t b = 0; b < c; ++b) {
                const double share = dot(b, c);
                r[b * width + c] += share;
                for (std::size_t i = 0; i < rows; ++i) {
                    q[i * width + c] -= share * q[i * width + b];
                }
            }
        }
        const double length = std::sqrt(dot(c, c));
        const bool drop = !(length > dropped_below * before);
        dropped[first_dropped + c] = drop;
        r[c * width + c] = drop ? 0 : length;
        for (std::size_t i = 0; i < rows; ++i) {
            q[i * width + c] = drop ? 0 : q[i * width + c] / length;
        }
    }
}

}  // namespace

TentativeProlongator tentative_prolongator(const Context& context, const Aggregates& aggregates,
                                           const NearNullSpace& near_null, int block) {
    const auto nodes = Index(aggregates.of_node.size());
    const auto width = std::size_t(near_null.columns), height = std::size_t(block);
    require(near_null.values.size() == std::size_t(nodes) * height * width,
            "tentative_prolongator: the near-null space must have ", Offset(nodes) * block,
            " rows of ", near_null.columns, " numbers");
    TentativeProlongator result;
    result.prolongator =
        BsrMatrix<double>(context, nodes, aggregates.count, block, near_null.columns, nodes);
    for (Index i = 0; i <= nodes; ++i) result.prolongator.row_offsets().data()[i] = i;
    std::ranges::copy(aggregates.of_node, result.prolongator.column_indices().data());
    result.coarse.columns = near_null.columns;
    result.coarse.values.resize(std::size_t(aggregates.count) * width * width);
    result.dropped.resize(std::size_t(aggregates.count) * width);
    const Members members = members_of(aggregates);
    const std::size_t size = height * width;
    std::vector<double> panel;
    for (std::size_t a = 0; a < std::size_t(aggregates.count); ++a) {
        const auto first = std::size_t(members.offsets[a]),
                   last = std::size_t(members.offsets[a + 1]);
        panel.clear();
        for (std::size_t k = first; k < last; ++k) {
            const double* const rows =
                near_null.values.data() + std::size_t(members.nodes[k]) * size;
            panel.insert(panel.end(), rows, rows + size);
        }
        orthonormalise((last - first) * height, near_null.columns, panel.data(),
                       result.coarse.values.data() + a * width * width, result.dropped, a * width);
        for (std::size_t k = first; k < last; ++k) {
            std::copy_n(panel.data() + (k - first) * size, size,
                        result.prolongator.values().data() + std::size_t(members.nodes[k]) * size);
        }
    }
    result.dropped_count = Index(std::ranges::count(result.dropped, true));
    return result;
}

void smooth_prolongator(const Context& context, const BsrView<double>& matrix,
                        const BsrView<double>& tentative, double omega_over_lambda,
                        BsrMatrix<double>& prolongator) {
    if (prolongator.blocks() > 0) {
        update_product(context, matrix, tentative, prolongator);
    } else {
        prolongator = multiply(context, matrix, tentative);
    }
    for_each_index(context, matrix.block_rows,
                   SubtractFromTentative{tentative, prolongator.view(), omega_over_lambda,
                                         prolongator.values().data()});
}

}  // namespace tessera::multigrid
