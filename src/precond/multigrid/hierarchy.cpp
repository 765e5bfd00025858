#include "precond/multigrid/hierarchy.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/checks.hpp"
#include "base/concat.hpp"
#include "base/scratch/scratch.hpp"
#include "precond/multigrid/block_operations.hpp"

namespace tessera::multigrid {

namespace {

/// A hierarchy with more entries than this many times those of the matrix, or rows of more blocks,
/// is built anew with half of theta.
constexpr double max_complexity = 3.5;
constexpr double max_blocks_per_row = 200;

/// Weights of the optimal polynomials of the fourth kind for 1 .. 4 steps (J. Lottes, Optimal
/// polynomial smoothers for multigrid V-cycles, 2022).
constexpr std::array<std::array<double, 4>, 4> weights{
    {{1.125, 0, 0, 0},
     {1.02387287570313, 1.26408905371085, 0, 0},
     {1.00842544782028, 1.08867839208730, 1.33753125909618, 0},
     {1.00391310427285, 1.04035811188593, 1.14863498546254, 1.38268869241000}}};

/// Coarse unknowns whose near-null vector was dropped have rows of zeros: they get a diagonal
/// entry, the largest of their block.
void set_dropped(const std::vector<bool>& dropped, BsrMatrix<double>& matrix) {
    const BsrView<double> a = matrix.view();
    const auto n = std::size_t(a.height);
    for (std::size_t i = 0; i < dropped.size(); ++i) {
        if (!dropped[i]) continue;
        const auto node = Offset(i / n);
        for (Offset k = a.row_offsets[node]; k < a.row_offsets[node + 1]; ++k) {
            if (a.column_indices[k] != node) continue;
            double* const block = matrix.values().data() + std::size_t(k) * n * n;
            double largest = 0;
            for (std::size_t c = 0; c < n; ++c) largest = std::max(largest, block[c * (n + 1)]);
            block[i % n * (n + 1)] = largest > 0 ? largest : 1;
        }
    }
}

bool same_pattern(const BsrView<double>& a, const BsrView<double>& b) {
    if (a.block_rows != b.block_rows || a.block_columns != b.block_columns ||
        a.height != b.height || a.width != b.width ||
        !std::equal(a.row_offsets, a.row_offsets + a.block_rows + 1, b.row_offsets)) {
        return false;
    }
    return std::equal(a.column_indices, a.column_indices + a.row_offsets[a.block_rows],
                      b.column_indices);
}

/// The means of the members of each aggregate.
std::vector<double> means(const Aggregates& aggregates, const std::vector<double>& coordinates,
                          int dimensions) {
    const auto d = std::size_t(dimensions);
    std::vector<double> sums(std::size_t(aggregates.count) * d, 0.0);
    std::vector<double> members(std::size_t(aggregates.count), 0.0);
    for (std::size_t i = 0; i < aggregates.of_node.size(); ++i) {
        const auto a = std::size_t(aggregates.of_node[i]);
        members[a] += 1;
        for (std::size_t axis = 0; axis < d; ++axis)
            sums[a * d + axis] += coordinates[i * d + axis];
    }
    for (std::size_t k = 0; k < sums.size(); ++k) sums[k] /= members[k / d];
    return sums;
}

}  // namespace

Hierarchy::Hierarchy(const Context& context, BsrMatrix<double> matrix,
                     const NearNullSpace& near_null, const std::vector<double>& coordinates,
                     int dimensions, const Options& options)
    : options_(options) {
    require(!context.on_gpu(), "multigrid: there is no GPU backend yet");
    const BsrView<double> a = matrix.view();
    const Offset all_rows = Offset(a.block_rows) * a.height;
    require(a.block_rows == a.block_columns && a.height == a.width,
            "multigrid: the matrix and its blocks must be square");
    require(near_null.columns >= 1 && near_null.columns <= max_bsr_block &&
                Offset(near_null.values.size()) == all_rows * near_null.columns,
            "multigrid: the near-null space must have ", all_rows, " rows of 1 to ", max_bsr_block,
            " numbers");
    require(coordinates.empty() || Offset(coordinates.size()) == Offset(a.block_rows) * dimensions,
            "multigrid: there must be ", dimensions, " coordinates for each of ", a.block_rows,
            " nodes");
    const auto finite = [](double value) { return std::isfinite(value); };
    require(
        std::ranges::all_of(near_null.values, finite) && std::ranges::all_of(coordinates, finite),
        "multigrid: a near-null vector or a coordinate is not finite");
    require(options.smoothing_steps >= 1 && options.smoothing_steps <= 4,
            "multigrid: the smoother takes 1 to 4 steps");
    if (coordinates.empty()) options_.strength = Strength::frobenius;
    levels_.emplace_back().matrix = std::move(matrix);
    NearNullSpace space = near_null;
    std::vector<double> points = coordinates;
    while (levels_.back().rows() > options_.coarse_rows &&
           int(levels_.size()) < options_.max_levels &&
           coarsen(context, space, points, dimensions)) {
    }
    coarsest_near_null_ = std::move(space);
    const Index floating = set_coarsest();
    if (floating > 0) {
        warnings_.push_back(
            concat("the body can move: ", floating, " near-null vectors are in the null space"));
    }
    complete_ = true;
}

/// Makes the next level. Returns false if that has hardly fewer unknowns.
bool Hierarchy::coarsen(const Context& context, NearNullSpace& near_null,
                        std::vector<double>& coordinates, int dimensions) {
    Level& level = levels_.back();
    const BsrView<double> a = level.matrix.view();
    set_smoother(context, level);
    const double mean_row =
        double(level.matrix.blocks()) / double(std::max<Index>(1, level.nodes()));
    const int second_pass = options_.second_pass >= 0                 ? options_.second_pass
                            : mean_row > 20 || near_null.columns == 1 ? 3
                                                                      : 9;
    double theta = options_.theta, before = std::numeric_limits<double>::infinity();
    for (;; theta /= 2) {
        const NodeGraph graph =
            strong_couplings(context, a, options_.strength, theta, coordinates, dimensions);
        level.aggregates = aggregate(context, graph, second_pass);
        if (5.0 * level.aggregates.count * near_null.columns > 4.0 * level.rows()) return false;
        TentativeProlongator tentative =
            tentative_prolongator(context, level.aggregates, near_null, a.height);
        level.prolongator =
            smoothed_prolongator(context, a, level.inverse_diagonal, tentative.prolongator.view(),
                                 options_.omega * options_.lambda_factor / level.lambda);
        level.products = triple_product(context, level.prolongator.view(), a);
        level.dropped = std::move(tentative.dropped);
        const BsrMatrix<double>& coarse = level.products.result;
        const double entries = double(coarse.entries());
        const double complexity =
            operator_complexity() + entries / double(levels_.front().matrix.entries());
        const double per_row = double(coarse.blocks()) / level.aggregates.count;
        const bool dense = complexity > max_complexity ||
                           (per_row > max_blocks_per_row && 2 * per_row < level.aggregates.count);
        if (dense && theta > 1e-4 && entries < 0.9 * before) {
            before = entries;
            continue;
        }
        if (dense || theta != options_.theta) {
            warnings_.push_back(
                concat("level ", levels_.size(), " was made with theta = ", theta,
                       dense ? " and still has" : ", for it had", " too many entries (", per_row,
                       " blocks per row; all levels ", complexity, " times the matrix)"));
        }
        if (!coordinates.empty()) coordinates = means(level.aggregates, coordinates, dimensions);
        near_null = std::move(tentative.coarse);
        break;
    }
    set_dropped(level.dropped, level.products.result);
    BsrMatrix<double> coarse = std::move(level.products.result);
    levels_.emplace_back().matrix = std::move(coarse);
    return true;
}

void Hierarchy::set_smoother(const Context& context, Level& level) {
    const BsrView<double> a = level.matrix.view();
    const auto n = std::size_t(a.height), size = n * n;
    std::vector<double> inverse_factors(std::size_t(a.block_rows) * size, 0.0);
    level.inverse_diagonal.assign(inverse_factors.size(), 0.0);
    for (Index i = 0; i < a.block_rows; ++i) {
        double* const factor = &inverse_factors[std::size_t(i) * size];
        double* const inverse = &level.inverse_diagonal[std::size_t(i) * size];
        for (Offset k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) {
            if (a.column_indices[k] == i) std::copy_n(a.values + k * Offset(size), size, factor);
        }
        require(invert_factor(a.height, factor), "multigrid: the diagonal block of node ", i,
                " on level ", levels_.size() - 1, " is not positive definite");
        for (std::size_t e = 0; e < size; ++e) {
            for (std::size_t k = 0; k < n; ++k) {
                inverse[e] += factor[k * n + e / n] * factor[k * n + e % n];
            }
        }
    }
    level.lambda = options_.lambda_factor * largest_ritz_value(context, a, inverse_factors);
}

/// Orthonormal near-null vectors that the coarsest matrix maps to rounding errors alone: the modes
/// of a body that can move.
std::vector<std::vector<double>> Hierarchy::free_modes(const std::vector<double>& dense) const {
    const auto n = std::size_t(levels_.back().rows());
    const auto width = std::size_t(coarsest_near_null_.columns);
    const auto length_of = [](const std::vector<double>& v) {
        double sum = 0;
        for (const double value : v) sum += value * value;
        return std::sqrt(sum);
    };
    std::vector<std::vector<double>> modes;
    for (std::size_t c = 0; c < width; ++c) {
        std::vector<double> v(n), image(n), sizes(n);
        for (std::size_t i = 0; i < n; ++i) v[i] = coarsest_near_null_.values[i * width + c];
        for (std::size_t i = 0; i < n; ++i) {
            for (std::size_t j = 0; j < n; ++j) {
                image[i] += dense[i * n + j] * v[j];
                sizes[i] += std::abs(dense[i * n + j] * v[j]);
            }
        }
        constexpr double rounding = 64 * std::numeric_limits<double>::epsilon();
        const double size = length_of(sizes), before = length_of(v);
        if (!(size > 0) || !(length_of(image) <= rounding * size)) continue;
        for (int pass = 0; pass < 2; ++pass) {
            for (const auto& other : modes) {
                double share = 0;
                for (std::size_t i = 0; i < n; ++i) share += other[i] * v[i];
                for (std::size_t i = 0; i < n; ++i) v[i] -= share * other[i];
            }
        }
        const double length = length_of(v);
        if (!(length > 1e-8 * before)) continue;
        for (double& value : v) value /= length;
        modes.push_back(std::move(v));
    }
    return modes;
}

/// The dense factor of the last level, where free modes become eigenvectors of a positive value.
/// Returns their number.
Index Hierarchy::set_coarsest() {
    constexpr Index max_dense_rows = 6000;
    const Index rows = levels_.back().rows();
    require(rows <= max_dense_rows, "multigrid: ", rows,
            " unknowns are left on a level that cannot be coarsened (weakly coupled nodes)");
    const BsrView<double> a = levels_.back().matrix.view();
    const auto n = std::size_t(rows), b = std::size_t(a.height);
    std::vector<double> dense(n * n, 0.0);
    for (std::size_t i = 0; i < std::size_t(a.block_rows); ++i) {
        for (Offset k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) {
            for (std::size_t e = 0; e < b * b; ++e) {
                dense[(i * b + e / b) * n + std::size_t(a.column_indices[k]) * b + e % b] =
                    a.values[std::size_t(k) * b * b + e];
            }
        }
    }
    double trace = 0;
    for (std::size_t i = 0; i < n; ++i) trace += dense[i * n + i];
    const auto modes = free_modes(dense);
    for (const auto& v : modes) {
        for (std::size_t e = 0; e < n * n; ++e) dense[e] += trace / double(n) * v[e / n] * v[e % n];
    }
    const Index failed = coarsest_.factorise(std::move(dense), rows);
    require(failed < 0, "multigrid: the coarsest matrix is not positive definite (row ", failed,
            ")");
    return Index(modes.size());
}

double Hierarchy::operator_complexity() const {
    double entries = 0;
    for (const Level& level : levels_) entries += double(level.matrix.entries());
    return entries / std::max(1.0, double(levels_.front().matrix.entries()));
}

void Hierarchy::update(const Context& context, BsrMatrix<double> matrix) {
    require(same_pattern(matrix.view(), levels_.front().matrix.view()),
            "multigrid: update needs the pattern that the hierarchy was made for");
    complete_ = false;
    levels_.front().matrix = std::move(matrix);
    for (std::size_t l = 0; l + 1 < levels_.size(); ++l) {
        Level& level = levels_[l];
        set_smoother(context, level);
        level.products.result = std::move(levels_[l + 1].matrix);
        tessera::update(context, level.prolongator.view(), level.matrix.view(), level.products);
        set_dropped(level.dropped, level.products.result);
        levels_[l + 1].matrix = std::move(level.products.result);
    }
    set_coarsest();
    complete_ = true;
}

void Hierarchy::apply(const Context& context, std::span<const double> r,
                      std::span<double> z) const {
    check_vector("multigrid", "r", r, rows());
    check_vector("multigrid", "z", z, rows());
    require(complete_, "multigrid: there is no hierarchy, as an update failed");
    cycle(context, 0, r, z);
}

/// x = a V-cycle for A x = b from x = 0.
void Hierarchy::cycle(const Context& context, std::size_t l, std::span<const double> b,
                      std::span<double> x) const {
    if (l + 1 == levels_.size()) return coarsest_.solve(b, x);
    const Level& level = levels_[l];
    const Offset n = level.rows(), coarse = levels_[l + 1].rows();
    const int block = level.matrix.view().height, steps = options_.smoothing_steps;
    const Scratch<double> residual_memory(context, n), z_memory(context, n), d_memory(context, n),
        coarse_b(context, coarse), coarse_x(context, coarse);
    const std::span<double> r = residual_memory.view(), z = z_memory.view(), d = d_memory.view();
    // x += q(D^-1 A) D^-1 r for the residual r; r becomes invalid.
    const auto smooth = [&] {
        multiply_blocks(context, block, level.inverse_diagonal, r, z);
        axpby<double>(context, 4 / (3 * level.lambda), z, 0.0, d);
        for (int k = 1; k <= steps; ++k) {
            axpby<double>(context, weights[std::size_t(steps - 1)][std::size_t(k - 1)], d, 1.0, x);
            if (k == steps) return;
            multiply(context, level.matrix.view(), d, z);
            axpby<double>(context, -1.0, z, 1.0, r);
            multiply_blocks(context, block, level.inverse_diagonal, r, z);
            axpby<double>(context, (8 * k + 4) / ((2 * k + 3) * level.lambda), z,
                          double(2 * k - 1) / (2 * k + 3), d);
        }
    };
    const auto set_residual = [&] {
        multiply(context, level.matrix.view(), x, z);
        axpbypcz<double>(context, 1.0, b, -1.0, z, 0.0, r);
    };
    fill(context, 0.0, x);
    copy(context, b, r);
    smooth();
    set_residual();
    multiply(context, level.products.transposed.view(), r, coarse_b.view());
    cycle(context, l + 1, coarse_b.view(), coarse_x.view());
    multiply(context, level.prolongator.view(), coarse_x.view(), x, true);
    set_residual();
    smooth();
}

}  // namespace tessera::multigrid
