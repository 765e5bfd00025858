#include "precond/multigrid/hierarchy.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/checks.hpp"
#include "base/concat.hpp"
#include "base/phases.hpp"
#include "precond/multigrid/setup/block_scaling.hpp"
#include "precond/multigrid/setup/dense_cholesky.hpp"
#include "tessera/detail/spectrum.hpp"

namespace tessera::multigrid {

namespace {

/// A hierarchy with more entries than this many times those of the matrix, or rows of more blocks,
/// is built anew with half of theta.
constexpr double max_complexity = 3.5;
constexpr double max_blocks_per_row = 200;
bool same_pattern(const Context& context, const BsrMatrix<double>& a, const BsrMatrix<double>& b) {
    const BsrView<double> x = a.view(), y = b.view();
    if (x.block_rows != y.block_rows || x.block_columns != y.block_columns ||
        x.height != y.height || x.width != y.width || x.blocks != y.blocks) {
        return false;
    }
    return copy_to_host(context, a.row_offsets()) == copy_to_host(context, b.row_offsets()) &&
           copy_to_host(context, a.column_indices()) == copy_to_host(context, b.column_indices());
}

/// Orthonormal near-null vectors that the coarsest matrix maps to rounding errors alone: the modes
/// of a body that can move.
std::vector<std::vector<double>> free_modes(const std::vector<double>& dense,
                                            const NearNullSpace& near_null) {
    const auto width = std::size_t(near_null.columns), n = near_null.values.size() / width;
    const auto length_of = [](const std::vector<double>& v) {
        double sum = 0;
        for (const double value : v) sum += value * value;
        return std::sqrt(sum);
    };
    std::vector<std::vector<double>> modes;
    for (std::size_t c = 0; c < width; ++c) {
        std::vector<double> v(n), image(n), sizes(n);
        for (std::size_t i = 0; i < n; ++i) v[i] = near_null.values[i * width + c];
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

void check_options(const BsrView<double>& matrix, const AmgOptions& options) {
    require(matrix.block_rows == matrix.block_columns && matrix.height == matrix.width,
            "amg: the matrix and its blocks must be square");
    const Offset rows = Offset(matrix.block_rows) * matrix.height;
    const NearNullSpace& near_null = options.near_null;
    require(
        near_null.values.empty() || (near_null.columns >= 1 && near_null.columns <= max_bsr_block &&
                                     Offset(near_null.values.size()) == rows * near_null.columns),
        "amg: the near-null space must have ", rows, " rows of 1 to ", max_bsr_block, " numbers");
    const auto& [dimensions, coordinates] = options.coordinates;
    require(
        coordinates.empty() || Offset(coordinates.size()) == Offset(matrix.block_rows) * dimensions,
        "amg: there must be ", dimensions, " coordinates for each of ", matrix.block_rows,
        " nodes");
    const auto finite = [](double value) { return std::isfinite(value); };
    require(
        std::ranges::all_of(near_null.values, finite) && std::ranges::all_of(coordinates, finite),
        "amg: a near-null vector or a coordinate is not finite");
    require(options.smoothing_steps >= 2 && options.smoothing_steps <= 16,
            "amg: the smoother takes 2 to 16 products");
    require(options.theta >= 0 && options.omega > 0 && std::isfinite(options.omega) &&
                options.lambda_factor >= 0.5 && std::isfinite(options.lambda_factor) &&
                options.coarse_rows >= 1 && options.max_levels >= 1,
            "amg: theta, omega, lambda_factor, coarse_rows or max_levels is out of range");
}

/// The near-null space; where none is given, rigid body modes or translations, as
/// AmgOptions::near_null says.
DeviceVectors near_null_of(const Context& context, const AmgOptions& options, Index rows, int block,
                           const DeviceCoordinates& coordinates) {
    const NearNullSpace& given = options.near_null;
    if (!given.values.empty()) return {given.columns, copy_to_buffer(context, given.values)};
    if (has_rigid_body_modes(options, block)) {
        return rigid_body_vectors(context, options.coordinates, coordinates);
    }
    return translation_vectors(context, rows, block);
}

DeviceCoordinates coordinates_of(const Context& context, const AmgOptions& options) {
    return {options.coordinates.dimensions, copy_to_buffer(context, options.coordinates.values)};
}

}  // namespace

template <class C>
Hierarchy<C>::Hierarchy(const Context& context, BsrMatrix<double> matrix, const AmgOptions& options)
    : options_(options), cycle_(options.smoothing_steps) {
    check_options(matrix.view(), options);
    levels_.emplace_back().matrix = std::move(matrix);
    DeviceCoordinates coordinates = coordinates_of(context, options);
    DeviceVectors space = near_null_of(context, options, rows(), block(), coordinates);
    scale_level(context, 0, space);
    while (levels_.back().rows() > options_.coarse_rows &&
           int(levels_.size()) < options_.max_levels && coarsen(context, space, coordinates)) {
        scale_level(context, levels_.size() - 1, space);
    }
    set_coarsest(context, space);
    complete_ = true;
}

/// Scales the matrix of a level, the near-null space and the prolongator that leads there.
template <class C>
void Hierarchy<C>::scale_level(const Context& context, std::size_t l, DeviceVectors& near_null) {
    const Phase phase(context, "setup: scaling", 0);
    Level& level = levels_[l];
    const BsrView<double> a = level.matrix.view();
    const int lanes = context.on_gpu() ? 8 : 1;
    if (level.scaling.empty()) {
        level.scaling = Buffer<double>(context, Offset(level.rows()) * a.height);
    }
    constexpr Index none = std::numeric_limits<Index>::min();
    Buffer<Index> faults = copy_to_buffer(context, std::vector<Index>{none});
    for_each_index(context, a.block_rows,
                   InvertDiagonalFactors{a, level.scaling.data(), faults.data()});
    const Index fault = copy_to_host(context, faults)[0];
    require(fault == none, "amg: the diagonal block of node ", -1 - fault, " on level ", l,
            " is not positive definite");
    for_each_index(context, Offset(a.block_rows) * lanes,
                   ScaleBlocks{lanes, a, level.scaling.data(), level.matrix.values().data()});
    for_each_index(
        context, a.block_rows,
        ScaleNearNull{a.height, near_null.columns, level.scaling.data(), near_null.values.data()});
    if (l == 0) return;
    Level& finer = levels_[l - 1];
    const BsrView<double> p = finer.prolongator.view();
    for_each_index(context, p.block_rows,
                   ScaleColumns{p, level.scaling.data(), finer.prolongator.values().data()});
    finer.products.transposed = {};
    cycle_.add_prolongator(context, p, transpose(context, p).view());
}

/// Makes the matrix of the next level. Returns false if that has hardly fewer unknowns.
template <class C>
bool Hierarchy<C>::coarsen(const Context& context, DeviceVectors& near_null,
                           DeviceCoordinates& coordinates) {
    Level& level = levels_.back();
    double theta = options_.theta, before = std::numeric_limits<double>::infinity();
    for (;; theta /= 2) {
        if (!choose_aggregates(context, level, theta, coordinates, near_null.columns)) {
            return false;
        }
        if (level.lambda == 0) set_smoother(context, levels_.size() - 1);
        level.prolongator = {};
        DeviceVectors coarse_space = make_products(context, level, near_null);
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
        coordinates = means(context, level.aggregates, coordinates);
        near_null = std::move(coarse_space);
        break;
    }
    BsrMatrix<double> coarse = std::move(level.products.result);
    levels_.emplace_back().matrix = std::move(coarse);
    return true;
}

/// Returns false if the next level had hardly fewer unknowns.
template <class C>
bool Hierarchy<C>::choose_aggregates(const Context& context, Level& level, double theta,
                                     const DeviceCoordinates& coordinates, int columns) {
    const Phase phase(context, "setup: aggregates", 0);
    const double mean_row =
        double(level.matrix.blocks()) / double(std::max<Index>(1, level.nodes()));
    const int second_pass = options_.second_pass >= 0       ? options_.second_pass
                            : mean_row > 20 || columns == 1 ? 3
                                                            : 9;
    const NodeGraph graph =
        strong_couplings(context, level.matrix.view(),
                         coordinates.values.empty() ? AmgStrength::frobenius : options_.strength,
                         theta, coordinates);
    level.aggregates = aggregate(context, graph, second_pass);
    return 5.0 * level.aggregates.count * columns <= 4.0 * level.rows();
}

/// The matrix in the cycle, and the bound of its spectrum.
template <class C>
void Hierarchy<C>::set_smoother(const Context& context, std::size_t l) {
    const Phase phase(context, "setup: bounds", 0);
    Level& level = levels_[l];
    const Operator<C>& matrix = cycle_.add_matrix(context, level.matrix.view(),
                                                  l == 0 ? options_.values : ValueFormat::working);
    level.lambda = options_.lambda_factor * lanczos(context, matrix).largest;
    cycle_.set_bound(l, level.lambda);
}

/// Prolongator and products of the aggregates, on their patterns where these are there already.
/// Returns the near-null space of the next level.
template <class C>
DeviceVectors Hierarchy<C>::make_products(const Context& context, Level& level,
                                          const DeviceVectors& near_null) {
    const Phase phase(context, "setup: products", 0);
    const BsrView<double> a = level.matrix.view();
    const bool known = level.prolongator.blocks() > 0;
    TentativeProlongator tentative =
        tentative_prolongator(context, level.aggregates, near_null, a.height);
    smooth_prolongator(context, a, tentative.prolongator.view(),
                       options_.omega * options_.lambda_factor / level.lambda, level.prolongator);
    if (known) {
        tessera::update(context, level.prolongator.view(), a, level.products);
    } else {
        level.products = triple_product(context, level.prolongator.view(), a);
    }
    set_dropped(context, tentative.dropped, level.products.result);
    return std::move(tentative.coarse);
}

/// The inverse of the last matrix, where free modes become eigenvectors of a positive value.
template <class C>
void Hierarchy<C>::set_coarsest(const Context& context, const DeviceVectors& space) {
    const Phase phase(context, "setup: coarsest", 0);
    constexpr Index max_dense_rows = 6000;
    const Index rows = levels_.back().rows();
    require(rows <= max_dense_rows, "amg: ", rows,
            " unknowns are left on a level that cannot be coarsened (weakly coupled nodes)");
    const Context host = Context::cpu(context.threads());
    const NearNullSpace near_null{space.columns, copy_to_host(context, space.values)};
    const BsrMatrix<double>& last = levels_.back().matrix;
    const auto offsets = copy_to_host(context, last.row_offsets());
    const auto columns = copy_to_host(context, last.column_indices());
    const auto values = copy_to_host(context, last.values());
    const auto n = std::size_t(rows), b = std::size_t(last.view().height);
    std::vector<double> dense(n * n, 0.0);
    for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
        for (auto k = std::size_t(offsets[i]); k < std::size_t(offsets[i + 1]); ++k) {
            for (std::size_t e = 0; e < b * b; ++e) {
                dense[(i * b + e / b) * n + std::size_t(columns[k]) * b + e % b] =
                    values[k * b * b + e];
            }
        }
    }
    const auto modes = free_modes(dense, near_null);
    for (const auto& v : modes) {
        for (std::size_t e = 0; e < n * n; ++e) dense[e] += v[e / n] * v[e % n];
    }
    const Index failed = invert_positive_definite(host, dense, rows);
    require(failed < 0, "amg: the coarsest matrix is not positive definite (row ", failed, ")");
    if (!modes.empty()) {
        warnings_.push_back(concat("the body can move: ", modes.size(),
                                   " near-null vectors are in the null space"));
    }
    cycle_.set_inverse(context, dense, rows);
}

template <class C>
double Hierarchy<C>::operator_complexity() const {
    double entries = 0;
    for (const Level& level : levels_) entries += double(level.matrix.entries());
    return entries / std::max(1.0, double(levels_.front().matrix.entries()));
}

template <class C>
void Hierarchy<C>::update(const Context& context, BsrMatrix<double> matrix) {
    require(same_pattern(context, matrix, levels_.front().matrix),
            "amg: update needs the pattern that the hierarchy was made for");
    complete_ = false;
    warnings_.clear();
    cycle_.clear();
    levels_.front().matrix = std::move(matrix);
    DeviceVectors space =
        near_null_of(context, options_, rows(), block(), coordinates_of(context, options_));
    for (std::size_t l = 0; l < levels_.size(); ++l) {
        scale_level(context, l, space);
        if (l + 1 == levels_.size()) break;
        Level& level = levels_[l];
        set_smoother(context, l);
        // The pattern stays where it belongs also if memory runs out.
        std::swap(level.products.result, levels_[l + 1].matrix);
        try {
            space = make_products(context, level, space);
        } catch (...) {
            std::swap(level.products.result, levels_[l + 1].matrix);
            throw;
        }
        std::swap(level.products.result, levels_[l + 1].matrix);
    }
    set_coarsest(context, space);
    complete_ = true;
}

template class Hierarchy<float>;
template class Hierarchy<double>;

}  // namespace tessera::multigrid
