#pragma once

#include "gpu/pack.cuh"
#include "precond/block_jacobi/apply/block_pipeline.cuh"

/// The products of a block's rows with its factors, both in shared memory.
namespace tessera::cuda {

/// Adds the products of a row with the factors of its block, column by column; these begin at a
/// multiple of `Width`.
template <int Width, class Shape, BlockPrecision format, class T>
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
                    *reinterpret_cast<const Pack<T, wide>*>(factor + v * Shape::factor_stride + u);
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

/// The same for a row of the transpose, a column of the stored block. Where n is even, each row
/// starts with another entry, since all would read the same banks.
template <class Shape, BlockPrecision format, class T>
__device__ __forceinline__ void sum_column(Format<format>, const std::byte* value, int n,
                                           int in_block, const T* factor,
                                           T (&sum)[Shape::vectors]) {
    int j = first_column(n, in_block);
#pragma unroll 4
    for (int left = n; left > 0; --left) {
        const T x = widen<T, format>(stored_bits<format>(value + j * bytes_of(format)));
#pragma unroll
        for (int v = 0; v < Shape::vectors; ++v) {
            sum[v] = fma(x, factor[v * Shape::factor_stride + j], sum[v]);
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

}  // namespace tessera::cuda
