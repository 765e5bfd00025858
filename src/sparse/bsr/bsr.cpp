#include "tessera/detail/bsr.hpp"

#include <algorithm>

#include "base/checks.hpp"
#include "base/gather_rows.hpp"
#include "sparse/transpose_pattern.hpp"

namespace tessera {

template <class T>
BsrMatrix<T> to_bsr(const Context& context, const CsrView<T>& matrix, int height, int width) {
    check_matrix("to_bsr", matrix);
    require(height >= 1 && height <= max_bsr_block && width >= 1 && width <= max_bsr_block,
            "to_bsr: blocks have 1 to ", max_bsr_block, " rows and columns");
    require(matrix.rows % height == 0 && matrix.columns % width == 0, "to_bsr: blocks of ", height,
            " x ", width, " do not divide a matrix of ", matrix.rows, " x ", matrix.columns);
    const Index block_rows = matrix.rows / height;
    const GatheredRows pattern =
        gather_rows(context.threads(), block_rows, [&](Offset i, std::vector<Index>& list) {
            for (Offset k = matrix.row_offsets[i * height];
                 k < matrix.row_offsets[(i + 1) * height]; ++k) {
                list.push_back(matrix.column_indices[k] / width);
            }
        });
    BsrMatrix<T> result(context, block_rows, matrix.columns / width, height, width,
                        Offset(pattern.items.size()));
    std::ranges::copy(pattern.offsets, result.row_offsets().data());
    std::ranges::copy(pattern.items, result.column_indices().data());
    T* const values = result.values().data();
    std::fill_n(values, result.values().size(), T(0));
    parallel_ranges(
        context.threads(), block_rows,
        [&](Offset first, Offset last) {
            for (Offset row = first * height; row < last * height; ++row) {
                Offset at = pattern.offsets[std::size_t(row / height)];
                for (Offset k = matrix.row_offsets[row]; k < matrix.row_offsets[row + 1]; ++k) {
                    const Index column = matrix.column_indices[k];
                    while (pattern.items[std::size_t(at)] < column / width) ++at;
                    values[at * height * width + row % height * width + column % width] =
                        matrix.values[k];
                }
            }
        },
        256);
    return result;
}

template <class T>
CsrMatrix<T> to_csr(const Context& context, const BsrView<T>& matrix) {
    const int height = matrix.height, width = matrix.width, size = matrix.block_size();
    CsrMatrix<T> result(context, matrix.block_rows * height, matrix.block_columns * width,
                        matrix.row_offsets[matrix.block_rows] * size);
    result.row_offsets().data()[0] = 0;
    parallel_ranges(
        context.threads(), result.rows(),
        [&](Offset first, Offset last) {
            for (Offset row = first; row < last; ++row) {
                const Offset i = row / height, r = row % height;
                const Offset begin = matrix.row_offsets[i], end = matrix.row_offsets[i + 1];
                Offset to = begin * size + r * (end - begin) * width;
                for (Offset k = begin; k < end; ++k) {
                    for (int c = 0; c < width; ++c, ++to) {
                        result.column_indices().data()[to] =
                            matrix.column_indices[k] * width + Index(c);
                        result.values().data()[to] = matrix.values[k * size + r * width + c];
                    }
                }
                result.row_offsets().data()[row + 1] = to;
            }
        },
        1024);
    return result;
}

template <class T>
BsrMatrix<T> transpose(const Context& context, const BsrView<T>& matrix) {
    const int height = matrix.height, width = matrix.width, size = matrix.block_size();
    BsrMatrix<T> result(context, matrix.block_columns, matrix.block_rows, width, height,
                        matrix.row_offsets[matrix.block_rows]);
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
