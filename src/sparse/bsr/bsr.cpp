#include "tessera/detail/bsr.hpp"

#include "sparse/bsr/checks.hpp"
#include "sparse/bsr/rows.hpp"
#include "sparse/transpose_pattern.hpp"
#include "tessera/vector_ops.hpp"

namespace tessera {

template <class T>
BsrMatrix<T> to_bsr(const Context& context, const CsrView<T>& matrix, int height, int width) {
    check_matrix("to_bsr", matrix);
    check_memory(context, "to_bsr", matrix);
    require(height >= 1 && height <= max_bsr_block && width >= 1 && width <= max_bsr_block,
            "to_bsr: blocks have 1 to ", max_bsr_block, " rows and columns");
    require(matrix.rows % height == 0 && matrix.columns % width == 0, "to_bsr: blocks of ", height,
            " x ", width, " do not divide a matrix of ", matrix.rows, " x ", matrix.columns);
    const Index block_rows = matrix.rows / height;
    Buffer<Index> counts(context, block_rows);
    for_each_index(context, block_rows, bsr::CountBlocks<T>{matrix, height, width, counts.data()});
    Buffer<Offset> offsets(context, Offset(block_rows) + 1);
    exclusive_scan(context, block_rows, CountAt{counts.data()}, offsets.data());
    Offset blocks = 0;
    copy_to_host(context, std::span<const Offset>(offsets.view()).last(1),
                 std::span<Offset>(&blocks, 1));
    BsrMatrix<T> result(context, block_rows, matrix.columns / width, height, width, blocks);
    result.row_offsets() = std::move(offsets);
    const Offset* const starts = result.row_offsets().data();
    Index* const columns = result.column_indices().data();
    for_each_index(context, block_rows,
                   bsr::FillColumns<T>{matrix, height, width, starts, columns});
    fill<T>(context, T(0), result.values().view());
    const int lanes = context.on_gpu() ? 16 : 1;
    for_each_index(
        context, Offset(matrix.rows) * lanes,
        bsr::FillValues<T>{lanes, matrix, height, width, starts, columns, result.values().data()});
    return result;
}

template <class T>
CsrMatrix<T> to_csr(const Context& context, const BsrView<T>& matrix) {
    bsr::check_blocks(context, "to_csr", matrix);
    CsrMatrix<T> result(context, matrix.block_rows * matrix.height,
                        matrix.block_columns * matrix.width, matrix.entries());
    if (result.rows() == 0)
        copy_from_host<Offset>(context, std::vector<Offset>{0}, result.row_offsets().view());
    const int lanes = context.on_gpu() ? 16 : 1;
    for_each_index(context, Offset(result.rows()) * lanes,
                   bsr::WriteRow<T>{lanes, matrix, result.row_offsets().data(),
                                    result.column_indices().data(), result.values().data()});
    return result;
}

namespace {

/// On the GPU: blocks are placed in any order, and each then finds its own place among those of its
/// column, which takes as many steps as the column has blocks.
template <class T>
void transpose_placed(const Context& context, const BsrView<T>& matrix, BsrMatrix<T>& result) {
    const Offset blocks = result.blocks();
    Buffer<Index> counts(context, matrix.block_columns);
    for_each_index(context, counts.size(), bsr::SetZero{counts.data()});
    for_each_index(context, blocks, bsr::CountColumns{matrix.column_indices, counts.data()});
    exclusive_scan(context, matrix.block_columns, CountAt{counts.data()},
                   result.row_offsets().data());
    for_each_index(context, counts.size(), bsr::SetZero{counts.data()});
    Buffer<Offset> positions(context, blocks);
    Buffer<Index> rows(context, blocks);
    for_each_index(
        context, matrix.block_rows,
        bsr::PlaceBlocks{matrix.row_offsets, matrix.column_indices, result.row_offsets().data(),
                         counts.data(), positions.data(), rows.data()});
    for_each_index(
        context, blocks,
        bsr::SortPlaced<T>{matrix, result.row_offsets().data(), positions.data(), rows.data(),
                           result.column_indices().data(), result.values().data()});
}

}  // namespace

template <class T>
BsrMatrix<T> transpose(const Context& context, const BsrView<T>& matrix) {
    bsr::check_blocks(context, "transpose", matrix);
    const int height = matrix.height, width = matrix.width, size = matrix.block_size();
    BsrMatrix<T> result(context, matrix.block_columns, matrix.block_rows, width, height,
                        matrix.blocks);
    if (context.on_gpu()) {
        transpose_placed(context, matrix, result);
        return result;
    }
    T* const values = result.values().data();
    transpose_pattern(
        matrix.block_rows, matrix.row_offsets, matrix.column_indices, result.row_offsets().view(),
        result.column_indices().data(), [&](Offset k, Offset to) {
            for (int e = 0; e < size; ++e) {
                values[to * size + e % width * height + e / width] = matrix.values[k * size + e];
            }
        });
    return result;
}

template decltype(to_bsr<float>) to_bsr<float>;
template decltype(to_bsr<double>) to_bsr<double>;
template CsrMatrix<float> to_csr(const Context&, const BsrView<float>&);
template CsrMatrix<double> to_csr(const Context&, const BsrView<double>&);
template BsrMatrix<float> transpose(const Context&, const BsrView<float>&);
template BsrMatrix<double> transpose(const Context&, const BsrView<double>&);

}  // namespace tessera
