#include "tessera/detail/bsr.hpp"

#include "base/transpose_pattern.hpp"
#include "base/zeros.hpp"
#include "sparse/bsr/checks.hpp"
#include "sparse/bsr/rows.hpp"
#include "tessera/vector_ops.hpp"

namespace tessera {

namespace {

/// f(N) for square blocks of N rows; 0: others.
template <class F>
void with_square(int height, int width, F&& f) {
    if (height != width) return f(std::integral_constant<int, 0>());
    if (height == 2) return f(std::integral_constant<int, 2>());
    if (height == 3) return f(std::integral_constant<int, 3>());
    if (height == 6) return f(std::integral_constant<int, 6>());
    f(std::integral_constant<int, 0>());
}

/// Blocks of one entry.
template <class T>
BsrMatrix<T> as_blocks(const Context& context, const CsrView<T>& matrix) {
    BsrMatrix<T> result(context, matrix.rows, matrix.columns, 1, 1, matrix.nonzeros);
    if (matrix.rows == 0) {
        copy_from_host<Offset>(context, std::vector<Offset>{0}, result.row_offsets().view());
        return result;
    }
    const auto entries = std::size_t(matrix.nonzeros);
    copy(context, std::span(matrix.row_offsets, std::size_t(matrix.rows) + 1),
         result.row_offsets().view());
    copy(context, std::span(matrix.column_indices, entries), result.column_indices().view());
    copy(context, std::span(matrix.values, entries), result.values().view());
    return result;
}

template <class T>
void check_division(const char* who, const Context& context, const CsrView<T>& matrix, int height,
                    int width) {
    check_matrix(who, matrix);
    check_memory(context, who, matrix);
    require(height >= 1 && height <= max_bsr_block && width >= 1 && width <= max_bsr_block, who,
            ": blocks have 1 to ", max_bsr_block, " rows and columns");
    require(matrix.rows % height == 0 && matrix.columns % width == 0, who, ": blocks of ", height,
            " x ", width, " do not divide a matrix of ", matrix.rows, " x ", matrix.columns);
}

/// Threads that share a block row.
int lanes_of_row(const Context& context) { return context.on_gpu() ? 16 : 1; }

}  // namespace

template <class T>
BsrMatrix<T> bsr_pattern(const Context& context, const CsrView<T>& matrix, int height, int width) {
    check_division("bsr_pattern", context, matrix, height, width);
    const Index block_rows = matrix.rows / height;
    const CsrPattern pattern{matrix.rows, matrix.columns, matrix.row_offsets,
                             matrix.column_indices};
    Buffer<Index> counts(context, block_rows);
    with_square(height, width, [&](auto n) {
        Buffer<std::uint8_t> partial;
        if constexpr (n > 0) partial = partial_block_rows<n>(context, pattern, block_rows);
        for_each_index(context, block_rows,
                       bsr::CountBlocks<n>{pattern, partial.data(), height, width, counts.data()});
    });
    Buffer<Offset> offsets(context, Offset(block_rows) + 1);
    exclusive_scan(context, block_rows, CountAt{counts.data()}, offsets.data());
    const Offset blocks = read_value(context, offsets.data() + block_rows);
    BsrMatrix<T> result(context, block_rows, matrix.columns / width, height, width, blocks, false);
    result.row_offsets() = std::move(offsets);
    const Offset* const starts = result.row_offsets().data();
    Index* const columns = result.column_indices().data();
    const int lanes = lanes_of_row(context);
    with_square(height, width, [&](auto n) {
        for_each_index(context, Offset(block_rows) * lanes,
                       bsr::FillColumns<n>{lanes, pattern, height, width, starts, columns});
    });
    return result;
}

template <class T>
BsrMatrix<T> to_bsr(const Context& context, const CsrView<T>& matrix, int height, int width) {
    check_division("to_bsr", context, matrix, height, width);
    if (height == 1 && width == 1) return as_blocks(context, matrix);
    BsrMatrix<T> result = bsr_pattern(context, matrix, height, width);
    result.values() = Buffer<T>(context, result.blocks() * height * width);
    if (result.entries() > matrix.nonzeros) fill<T>(context, T(0), result.values().view());
    const int lanes = lanes_of_row(context);
    with_square(height, width, [&](auto n) {
        for_each_index(
            context, Offset(matrix.rows) * lanes,
            bsr::FillValues<n, T>{lanes, matrix, height, width, result.row_offsets().data(),
                                  result.column_indices().data(), result.values().data()});
    });
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
void place_transposed(const Context& context, const BsrView<T>& matrix, Transposed<T>& result) {
    Offset* const offsets = result.matrix.row_offsets().data();
    Buffer<Index> counts(context, matrix.block_columns);
    for_each_index(context, counts.size(), bsr::SetZero{counts.data()});
    for_each_index(context, matrix.blocks, bsr::CountColumns{matrix.column_indices, counts.data()});
    exclusive_scan(context, matrix.block_columns, CountAt{counts.data()}, offsets);
    for_each_index(context, counts.size(), bsr::SetZero{counts.data()});
    Buffer<Index> places(context, matrix.blocks), rows(context, matrix.blocks);
    const int lanes = sharing_threads(context, matrix.block_rows, 1);
    for_each_index(context, Offset(matrix.block_rows) * lanes,
                   bsr::PlaceBlocks{lanes, matrix.row_offsets, matrix.column_indices, offsets,
                                    counts.data(), places.data(), rows.data()});
    for_each_index(
        context, matrix.blocks,
        bsr::SortPlaced{matrix.row_offsets, matrix.column_indices, offsets, places.data(),
                        rows.data(), result.matrix.column_indices().data(), result.places.data()});
}

}  // namespace

template <class T>
Transposed<T> transposed_pattern(const Context& context, const BsrView<T>& matrix) {
    Transposed<T> result{BsrMatrix<T>(context, matrix.block_columns, matrix.block_rows,
                                      matrix.width, matrix.height, matrix.blocks, false),
                         Buffer<Index>(context, matrix.blocks)};
    if (context.on_gpu()) {
        place_transposed(context, matrix, result);
        return result;
    }
    Index* const places = result.places.data();
    Index* const rows = result.matrix.column_indices().data();
    transpose_pattern(matrix.block_rows, matrix.row_offsets, matrix.column_indices,
                      result.matrix.row_offsets().view(), rows, [&](Offset k, Offset to) {
                          places[to] = Index(k - matrix.row_offsets[rows[to]]);
                      });
    return result;
}

namespace {

/// Values of a matrix to its transpose, or (`Back`) from there.
template <bool Back, class T>
void copy_transposed(const Context& context, const BsrView<T>& matrix,
                     const Transposed<T>& transposed, const T* from, T* to) {
    const Index* const rows = transposed.matrix.column_indices().data();
    const Index* const places = transposed.places.data();
    if (context.on_gpu()) {
        return for_each_index(
            context, matrix.entries(),
            bsr::TransposeEntry<Back, T>{matrix.height, matrix.width, matrix.row_offsets, rows,
                                         places, from, to});
    }
    const int height = matrix.height, width = matrix.width, size = height * width;
    parallel_ranges(
        context.threads(), matrix.blocks,
        [&](Offset first, Offset last) {
            for (Offset k = first; k < last; ++k) {
                const Offset block = matrix.row_offsets[rows[k]] + places[k];
                for (int c = 0; c < width; ++c) {
                    for (int r = 0; r < height; ++r) {
                        const Offset one = block * size + r * width + c,
                                     other = k * size + c * height + r;
                        if constexpr (Back) {
                            to[one] = from[other];
                        } else {
                            to[other] = from[one];
                        }
                    }
                }
            }
        },
        1024);
}

}  // namespace

template <class T>
void transpose_values(const Context& context, const BsrView<T>& matrix, Transposed<T>& transposed) {
    Buffer<T>& values = transposed.matrix.values();
    if (values.size() == 0) values = Buffer<T>(context, matrix.entries());
    copy_transposed<false>(context, matrix, transposed, matrix.values, values.data());
}

template <class T>
void transpose_values_back(const Context& context, const Transposed<T>& transposed,
                           BsrMatrix<T>& matrix) {
    Buffer<T>& values = matrix.values();
    if (values.size() == 0) values = Buffer<T>(context, transposed.matrix.entries());
    copy_transposed<true>(context, std::as_const(matrix).view(), transposed,
                          transposed.matrix.values().data(), values.data());
}

template <class T>
BsrMatrix<T> transpose(const Context& context, const BsrView<T>& matrix) {
    bsr::check_blocks(context, "transpose", matrix);
    Transposed<T> result = transposed_pattern(context, matrix);
    transpose_values(context, matrix, result);
    return std::move(result.matrix);
}

template decltype(to_bsr<float>) to_bsr<float>;
template decltype(to_bsr<double>) to_bsr<double>;
template decltype(bsr_pattern<float>) bsr_pattern<float>;
template decltype(bsr_pattern<double>) bsr_pattern<double>;
template CsrMatrix<float> to_csr(const Context&, const BsrView<float>&);
template CsrMatrix<double> to_csr(const Context&, const BsrView<double>&);
#define TESSERA_INSTANTIATE(T)                                                         \
    template BsrMatrix<T> transpose(const Context&, const BsrView<T>&);                \
    template Transposed<T> transposed_pattern(const Context&, const BsrView<T>&);      \
    template void transpose_values(const Context&, const BsrView<T>&, Transposed<T>&); \
    template void transpose_values_back(const Context&, const Transposed<T>&, BsrMatrix<T>&);
TESSERA_INSTANTIATE(float)
TESSERA_INSTANTIATE(double)

}  // namespace tessera
