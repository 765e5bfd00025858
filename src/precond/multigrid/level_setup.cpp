#include "precond/multigrid/level_setup.hpp"

#include <cmath>

#include "base/checks.hpp"
#include "base/zeros.hpp"
#include "precond/multigrid/blocks/block_scaling.hpp"
#include "precond/multigrid/blocks/for_each_block.hpp"
#include "precond/multigrid/setup/coarsest.hpp"
#include "precond/multigrid/setup/near_null_rows.hpp"

namespace tessera::multigrid {

namespace {

/// Scales the blocks, and writes the norms of the scaled blocks to `norms` unless it is empty.
void scale_blocks(const Context& context, const BsrView<double>& matrix,
                  const Buffer<double>& scaling, Buffer<double>& values, Buffer<double>& norms,
                  const LowerGhosts& lower) {
    const auto run = [&]<int N>(std::integral_constant<int, N>) {
        for_each_block(context, matrix, values.data(),
                       ScaleBlocks<N>{matrix.height, scaling.data(), norms.data(), lower});
    };
    switch (matrix.height) {
        case 1:
            return run(std::integral_constant<int, 1>());
        case 2:
            return run(std::integral_constant<int, 2>());
        case 3:
            return run(std::integral_constant<int, 3>());
        case 6:
            return run(std::integral_constant<int, 6>());
        default:
            return run(std::integral_constant<int, 0>());
    }
}

/// A copy of numbers that must be finite.
Buffer<double> finite_copy(const Context& context, std::span<const double> values) {
    Buffer<double> copy(context, Offset(values.size()));
    if (values.empty()) return copy;
    copy_from_host(context, values, copy.view());
    Buffer<int> fault = zeros<int>(context, 1);
    for_each_index(context, copy.size(), CheckFinite{copy.data(), fault.data()});
    require(copy_to_host(context, fault)[0] == 0,
            "amg: a near-null vector or a coordinate is not finite");
    return copy;
}

}  // namespace

void check_options(Index nodes, const AmgOptions& options) {
    const int dimensions = options.coordinates->dimensions;
    const SharedNumbers& coordinates = options.coordinates->values;
    require_argument(
        "coordinates",
        coordinates.empty() || Offset(coordinates.size()) == Offset(nodes) * dimensions,
        "amg: there must be ", dimensions, " coordinates for each of ", nodes, " nodes");
    require(options.smoothing_steps >= 2 && options.smoothing_steps <= 16,
            "amg: the smoother takes 2 to 16 products");
    require(options.theta >= 0 && options.omega > 0 && std::isfinite(options.omega) &&
                options.lambda_factor >= 0.5 && std::isfinite(options.lambda_factor) &&
                options.coarse_rows >= 1 && options.max_levels >= 1,
            "amg: theta, omega, lambda_factor, coarse_rows or max_levels is out of range");
    require(!options.values || *options.values == ValueFormat::working ||
                *options.values == ValueFormat::f16,
            "amg: values in the cycle are working or f16");
}

DeviceCoordinates coordinates_of(const Context& context, const AmgOptions& options) {
    return {options.coordinates->dimensions, finite_copy(context, options.coordinates->values)};
}

ValueFormat first_values(const Context& context, const BsrView<double>& matrix,
                         const AmgOptions& options) {
    if (options.values) return *options.values;
    const bool saves = options.single_precision && (context.on_gpu() || matrix.height > 1);
    return saves ? ValueFormat::f16 : ValueFormat::working;
}

DeviceVectors near_null_space(const Context& context, const BsrView<double>& matrix,
                              const AmgOptions& options, const DeviceCoordinates& coordinates,
                              const Communicator* communicator) {
    const NearNullSpace& given = *options.near_null;
    const Index rows = matrix.block_rows * matrix.height;
    DeviceVectors space;
    if (!given.values.empty()) {
        space = {given.columns, finite_copy(context, given.values)};
    } else if (options.near_null_kind == AmgNearNull::rigid_body) {
        space = rigid_body_vectors(context, *options.coordinates, coordinates, communicator);
    } else {
        space = translation_vectors(context, rows, matrix.height);
    }
    for_each_index(context, rows, ClearUncoupled{matrix, space.columns, space.values.data()});
    return space;
}

bool scale_matrix(const Context& context, BsrMatrix<double>& matrix, Buffer<double>& scaling,
                  double pivot_error, std::size_t level, Buffer<double>& norms, const Halo* halo) {
    const BsrView<double> a = std::as_const(matrix).view();
    if (scaling.empty()) {
        const Index nodes = halo == nullptr ? a.block_rows : halo->nodes();
        scaling = Buffer<double>(context, Offset(nodes) * a.block_size());
    }
    Buffer<DiagonalFaults> faults = zeros<DiagonalFaults>(context, 1);
    for_each_index(context, a.block_rows,
                   InvertDiagonalFactors{a, scaling.data(), pivot_error, faults.data()});
    const DiagonalFaults found = read_value(context, faults.data());
    const Offset first = halo == nullptr ? 0 : halo->numbering().first;
    const auto check = [&] {
        require_positive(found.first_bad_from_end == 0, "amg: the diagonal block of node ",
                         first + a.block_rows - found.first_bad_from_end, " on level ", level,
                         " is not positive definite");
    };
    LowerGhosts lower;
    if (halo == nullptr) {
        check();
    } else {
        on_all_ranks(halo->communicator(), check);
        halo->exchange(context, a.block_size(), scaling);
        lower = {halo->own(), halo->own() + halo->numbering().ghosts_before()};
    }
    scale_blocks(context, a, scaling, matrix.values(), norms, lower);
    return found.singular != 0;
}

void apply_scaling(const Context& context, BsrMatrix<double>& matrix,
                   const Buffer<double>& scaling) {
    Buffer<double> no_norms;
    scale_blocks(context, std::as_const(matrix).view(), scaling, matrix.values(), no_norms, {});
}

void scale_near_null(const Context& context, const BsrView<double>& matrix,
                     const Buffer<double>& scaling, DeviceVectors& near_null) {
    for_each_index(
        context, Offset(matrix.block_rows) * near_null.columns,
        ScaleNearNull{matrix.height, near_null.columns, scaling.data(), near_null.values.data()});
}

int min_neighbours_of_pass_2(const AmgOptions& options, bool finest, bool repeated, int columns,
                             Offset nodes) {
    // Large aggregates save time. Small ones, with which slender bodies take fewer iterations, are
    // made on levels of few nodes, and on all but the finest level of a scalar problem.
    constexpr Offset many_nodes = 20'000;
    const bool large = finest || repeated || (columns > 1 && nodes >= many_nodes);
    return options.second_pass >= 0 ? options.second_pass : large ? 9 : 3;
}

}  // namespace tessera::multigrid
