#pragma once

#include "precond/block_jacobi/apply/block_pipeline.cuh"

/// The products of a block's rows with its factors, both in shared memory.
namespace tessera::cuda {

/// Factors of adjacent columns, read by one instruction.
template <class T, int Width>
struct alignas(Width * sizeof(T)) FactorRun {
    T value[Width];
};

/// Adds the products of a row with the factors of its block, column by column; these begin at a
/// multiple of `Width`.
template <int Width, class Shape, BlockFormat format, class T>
__device__ __forceinline__ void sum_row(Format<format>, const std::byte* value, int n,
                                        const T* factor, T (&sum)[Shape::vectors]) {
    constexpr int together = 4;
    const int step = n * bytes_of(format);
    const auto add = [&](auto columns, auto width, int count) {
        constexpr int most = decltype(columns)::value;
        constexpr int wide = decltype(width)::value;
        T x[most];
#pragma unroll
        for (int u = 0; u < most; ++u) {
            if (u < count) x[u] = widen<T, format>(stored_bits<format>(value + u * step));
        }
#pragma unroll
        for (int v = 0; v < Shape::vectors; ++v) {
#pragma unroll
            for (int u = 0; u < most; u += wide) {
                if (u >= count) continue;
                const auto run =
                    *reinterpret_cast<const FactorRun<T, wide>*>(factor + Shape::factors_of(v) + u);
#pragma unroll
                for (int w = 0; w < wide; ++w) sum[v] = fma(x[u + w], run.value[w], sum[v]);
            }
        }
    };
    int left = n;
#pragma unroll 1
    for (; left >= together; left -= together) {
        add(std::integral_constant<int, together>(), std::integral_constant<int, Width>(),
            together);
        value += together * step;
        factor += together;
    }
    if (left > 0) {
        add(std::integral_constant<int, together - 1>(), std::integral_constant<int, 1>(), left);
    }
}

/// Values of adjacent rows, read by one instruction, or two.
template <BlockFormat format, int Rows>
struct alignas(Rows* bytes_of(format) < 16 ? Rows * bytes_of(format) : 16) ValueRun {
    StoredBits<format> bits[Rows];
};

/// The same for adjacent rows whose number divides n, in sum[row][vector]: a factor is read once
/// for all of them. Values and factors are aligned as lies_side_by_side says.
template <class Shape, BlockFormat format, class T>
__device__ __forceinline__ void sum_rows(Format<format>, const std::byte* value, int n,
                                         const T* factor,
                                         T (&sum)[Shape::lane_rows][Shape::set_vectors]) {
    constexpr int rows = Shape::lane_rows;
    const int step = n * bytes_of(format);
    const auto add = [&](auto columns) {
        constexpr int together = decltype(columns)::value;
        constexpr int wide = std::min(together, Shape::widest);
        T x[together][rows];
#pragma unroll
        for (int u = 0; u < together; ++u) {
            const auto run = *reinterpret_cast<const ValueRun<format, rows>*>(value + u * step);
#pragma unroll
            for (int i = 0; i < rows; ++i) x[u][i] = widen<T, format>(run.bits[i]);
        }
#pragma unroll
        for (int v = 0; v < Shape::set_vectors; ++v) {
#pragma unroll
            for (int u = 0; u < together; u += wide) {
                const auto run = *reinterpret_cast<const FactorRun<T, wide>*>(
                    factor + v * Shape::factor_stride + u);
#pragma unroll
                for (int w = 0; w < wide; ++w) {
#pragma unroll
                    for (int i = 0; i < rows; ++i) {
                        sum[i][v] = fma(x[u + w][i], run.value[w], sum[i][v]);
                    }
                }
            }
        }
        value += together * step;
        factor += together;
    };
    int left = n;
#pragma unroll 1
    for (; left >= 4; left -= 4) add(std::integral_constant<int, 4>());
    if (rows < 4 && left > 0) add(std::integral_constant<int, 2>());
}

/// The same for a row of the transpose, a column of the stored block. Where n is even, each row
/// starts at another place of it, since all would read the same banks.
template <class Shape, BlockFormat format, class T>
__device__ __forceinline__ void sum_column(Format<format>, const std::byte* value, int n,
                                           int in_block, const T* factor,
                                           T (&sum)[Shape::vectors]) {
    int j = first_column(n, in_block);
#pragma unroll 4
    for (int left = n; left > 0; --left) {
        const T x = widen<T, format>(stored_bits<format>(value + j * bytes_of(format)));
#pragma unroll
        for (int v = 0; v < Shape::vectors; ++v) {
            sum[v] = fma(x, factor[Shape::factors_of(v) + j], sum[v]);
        }
        j = j + 1 < n ? j + 1 : 0;
    }
}

template <bool Transposed, class Shape, class T>
__device__ __forceinline__ void sum_share(const RowShare& share, const T* factors,
                                          T (&sum)[Shape::vectors]) {
    const T* const factor = factors + share.factor;
    if constexpr (Transposed) {
        with_format<T>(share.format, [&](auto format) {
            const int skipped = share.in_block * share.n * bytes_of(decltype(format)::value);
            sum_column<Shape>(format, share.block + skipped, share.n, share.in_block, factor, sum);
        });
    } else {
        const auto sum_by = [&](auto width) {
            with_format<T>(share.format, [&](auto format) {
                const int skipped = share.in_block * bytes_of(decltype(format)::value);
                sum_row<decltype(width)::value, Shape>(format, share.block + skipped, share.n,
                                                       factor, sum);
            });
        };
        // 0 for a lane without a row.
        const bool wide = share.factor % Shape::widest == 0 || share.n == 0;
        if (__all_sync(full_warp, wide)) {
            sum_by(std::integral_constant<int, Shape::widest>());
        } else {
            sum_by(std::integral_constant<int, 1>());
        }
    }
}

/// Whether the rows of a chunk from this one on, as many as a lane takes side by side, are of one
/// block, and values and factors can be read by sum_rows.
template <class Shape>
__device__ __forceinline__ bool lies_side_by_side(const RowShare& share) {
    constexpr unsigned rows = Shape::lane_rows;
    const unsigned bytes = unsigned(bytes_of(share.format));
    const unsigned address = unsigned(reinterpret_cast<unsigned long long>(share.block));
    return share.n == 0 ||
           (unsigned(share.n) % rows == 0 && unsigned(share.in_block) % rows == 0 &&
            unsigned(share.factor) % Shape::widest == 0 && address % min(rows * bytes, 16u) == 0);
}

}  // namespace tessera::cuda
