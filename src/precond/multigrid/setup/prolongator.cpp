#include "precond/multigrid/setup/prolongator.hpp"

#include "base/checks.hpp"
#include "base/dispatch.hpp"
#include "base/zeros.hpp"
#include "precond/multigrid/setup/prolongator_rows.hpp"
#include "tessera/products.hpp"
#include "tessera/vector_ops.hpp"

namespace tessera::multigrid {

namespace {

/// A matrix with the blocks of visit_sparse.
BsrMatrix<double> without_dense_nodes(const Context& context, const BsrView<double>& matrix) {
    const DenseNodes dense(matrix);
    Buffer<Index> counts(context, matrix.block_rows);
    for_each_index(context, matrix.block_rows, CountSparse{matrix, dense, counts.data()});
    Buffer<Offset> offsets(context, Offset(matrix.block_rows) + 1);
    exclusive_scan(context, matrix.block_rows, CountAt{counts.data()}, offsets.data());
    BsrMatrix<double> sparse(context, matrix.block_rows, matrix.block_columns, matrix.height,
                             matrix.width, read_value(context, offsets.data() + matrix.block_rows));
    sparse.row_offsets() = std::move(offsets);
    for_each_index(context, matrix.block_rows,
                   CopySparse{matrix, dense, sparse.row_offsets().data(),
                              sparse.column_indices().data(), sparse.values().data()});
    return sparse;
}

}  // namespace

TentativeProlongator tentative_prolongator(const Context& context, const Aggregates& aggregates,
                                           const DeviceVectors& near_null, int block) {
    const auto nodes = Index(aggregates.of_node.size());
    const int width = near_null.columns;
    require(near_null.values.size() == Offset(nodes) * block * width,
            "tentative_prolongator: the near-null space must have ", Offset(nodes) * block,
            " rows of ", width, " numbers");
    TentativeProlongator result;
    result.prolongator = BsrMatrix<double>(context, nodes, aggregates.count, block, width,
                                           aggregates.members.size());
    copy(context, std::span<const Offset>(aggregates.positions.view()),
         result.prolongator.row_offsets().view());
    for_each_index(
        context, near_null.values.size(),
        CopyNearNull{aggregates.of_node.data(), aggregates.positions.data(), block * width,
                     near_null.values.data(), result.prolongator.column_indices().data(),
                     result.prolongator.values().data()});
    const Offset columns = Offset(aggregates.count) * width;
    result.coarse = {width, Buffer<double>(context, columns * width)};
    result.dropped = Buffer<Index>(context, columns);
    const Orthonormalise orthonormalise{aggregates.offsets.data(),
                                        aggregates.members.data(),
                                        aggregates.positions.data(),
                                        block,
                                        width,
                                        result.prolongator.values().data(),
                                        result.coarse.values.data(),
                                        result.dropped.data()};
    select(context, &cpu::for_each_index<Orthonormalise>, TESSERA_IF_CUDA(cuda::orthonormalise))(
        context, aggregates.count, orthonormalise);
    return result;
}

void smooth_prolongator(const Context& context, const BsrView<double>& matrix, bool has_dense,
                        const BsrView<double>& tentative, double omega_over_lambda,
                        BsrMatrix<double>& prolongator) {
    if (prolongator.blocks() > 0) {  // Terms that its pattern lacks are left out.
        if (prolongator.entries() == 0) {
            prolongator.values() =
                Buffer<double>(context, std::as_const(prolongator).view().entries());
        }
        update_product(context, matrix, tentative, prolongator);
    } else if (has_dense) {
        const BsrMatrix<double> sparse = without_dense_nodes(context, matrix);
        prolongator = multiply(context, sparse.view(), tentative);
    } else {
        prolongator = multiply(context, matrix, tentative);
    }
    const int lanes = sharing_threads(context, matrix.block_rows, 16);
    for_each_index(context, Offset(matrix.block_rows) * lanes,
                   SubtractFromTentative{lanes, DenseNodes(matrix), tentative, prolongator.view(),
                                         omega_over_lambda, prolongator.values().data()});
}

void set_dropped(const Context& context, const Buffer<Index>& dropped, BsrMatrix<double>& matrix) {
    for_each_index(context, matrix.view().block_rows,
                   SetDropped{matrix.view(), dropped.data(), matrix.values().data()});
}

DeviceCoordinates means(const Context& context, const Aggregates& aggregates,
                        const DeviceCoordinates& coordinates) {
    const int dimensions = coordinates.dimensions;
    DeviceCoordinates coarse{dimensions, {}};
    if (coordinates.values.empty()) return coarse;
    coarse.values = Buffer<double>(context, Offset(aggregates.count) * dimensions);
    for_each_index(context, aggregates.count,
                   Means{aggregates.offsets.data(), aggregates.members.data(), dimensions,
                         coordinates.values.data(), coarse.values.data()});
    return coarse;
}

}  // namespace tessera::multigrid
