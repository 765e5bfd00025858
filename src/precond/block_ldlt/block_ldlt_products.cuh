#pragma once

#include "gpu/launch.cuh"
#include "precond/block_ldlt/block_tiles.cuh"

namespace tessera::block_ldlt::cuda {

using namespace tessera::cuda;

constexpr int product_threads = 128;

/// The lanes of a block row. A step takes `width` adjacent values of a block a lane; a lane has the
/// same rows in all steps, and columns `step_columns` apart.
template <class T, int k>
struct ProductTeam {
    static constexpr int widest = 16 / int(sizeof(T));
    static constexpr int width = widest < k ? widest : k;
    static constexpr int lanes = k * k / width < 32 ? k * k / width : 32;
    static constexpr int steps = k * k / (width * lanes);
    static constexpr int row_lanes = k / width;
    static constexpr int step_columns = lanes / row_lanes;
    static constexpr int teams = product_threads / lanes;

    int lane = int(threadIdx.x) % lanes;
    int row = lane % row_lanes * width;
    int column = lane / row_lanes;
};

/// sums += V x for a block, the columns of this lane.
template <int k, class T>
__device__ __forceinline__ void add_product(const ProductTeam<T, k>& at, const T* block, const T* x,
                                            T (&sums)[ProductTeam<T, k>::width]) {
    using Team = ProductTeam<T, k>;
#pragma unroll
    for (int s = 0; s < Team::steps; ++s) {
        T values[Team::width];
        const int column = at.column + s * Team::step_columns;
        load_run(block + column * k + at.row, values);
        const T factor = x[column];
#pragma unroll
        for (int i = 0; i < Team::width; ++i) sums[i] = fma(values[i], factor, sums[i]);
    }
}

/// Adds up the sums of the lanes with the same rows, in a fixed tree.
template <int k, class T>
__device__ __forceinline__ void add_columns(T (&sums)[ProductTeam<T, k>::width]) {
    using Team = ProductTeam<T, k>;
#pragma unroll
    for (int distance = Team::row_lanes; distance < Team::lanes; distance *= 2) {
#pragma unroll
        for (int i = 0; i < Team::width; ++i) {
            sums[i] += __shfl_xor_sync(full_warp, sums[i], distance);
        }
    }
}

/// y_i = b_i + alpha sum_j V_ij x_j for the block row i, where `active`; for all lanes of a warp.
template <int k, class T>
__device__ __forceinline__ void lower_row(const PatternView<T>& a, const ProductTeam<T, k>& at,
                                          Offset i, bool active, const T* v, T alpha, const T* x,
                                          const T* b, T* y) {
    T sums[ProductTeam<T, k>::width] = {};
    if (active) {
        const Offset end = a.row_offsets[i + 1];
#pragma unroll 4
        for (Offset e = a.row_offsets[i]; e < end; ++e) {
            const Index block = a.row_blocks[e];
            add_product(at, v + Offset(block) * (k * k), x + Offset(a.columns[block]) * k, sums);
        }
    }
    add_columns<k>(sums);
    if (!active || at.column > 0) return;
#pragma unroll
    for (int r = 0; r < ProductTeam<T, k>::width; ++r) {
        y[i * k + at.row + r] = b[i * k + at.row + r] + alpha * sums[r];
    }
}

/// y_j = b_j + alpha sum_i V_ij^T x_i for the block column j, where `active`.
template <int k, class T>
__device__ __forceinline__ void upper_row(const PatternView<T>& a, const ProductTeam<T, k>& at,
                                          Offset j, bool active, const T* v, T alpha, const T* x,
                                          const T* b, T* y) {
    using Team = ProductTeam<T, k>;
    T sums[Team::steps] = {};
    if (active) {
        const Offset end = a.column_offsets[j + 1];
#pragma unroll 4
        for (Offset block = a.column_offsets[j]; block < end; ++block) {
            T factors[Team::width];
            load_run(x + Offset(a.rows[block]) * k + at.row, factors);
#pragma unroll
            for (int s = 0; s < Team::steps; ++s) {
                T values[Team::width];
                const int column = at.column + s * Team::step_columns;
                load_run(v + block * (k * k) + column * k + at.row, values);
#pragma unroll
                for (int r = 0; r < Team::width; ++r) {
                    sums[s] = fma(values[r], factors[r], sums[s]);
                }
            }
        }
    }
#pragma unroll
    for (int s = 0; s < Team::steps; ++s) {
#pragma unroll
        for (int distance = 1; distance < Team::row_lanes; distance *= 2) {
            sums[s] += __shfl_xor_sync(full_warp, sums[s], distance);
        }
        if (!active || at.row > 0) continue;
        const Offset place = j * k + at.column + s * Team::step_columns;
        y[place] = b[place] + alpha * sums[s];
    }
}

template <bool upper, int k, class T>
__device__ __forceinline__ void product_row(const PatternView<T>& a, const ProductTeam<T, k>& at,
                                            Offset i, bool active, const T* v, T alpha, const T* x,
                                            const T* b, T* y) {
    if constexpr (upper) {
        upper_row<k>(a, at, i, active, v, alpha, x, b, y);
    } else {
        lower_row<k>(a, at, i, active, v, alpha, x, b, y);
    }
}

template <bool upper, int k, class T>
__global__ void __launch_bounds__(product_threads)
    product_kernel(PatternView<T> a, Index first, Index last, const T* v, T alpha, const T* x,
                   const T* b, T* y) {
    using Team = ProductTeam<T, k>;
    begin_dependent();
    const Team at;
    const Offset i = first + Offset(blockIdx.x) * Team::teams + int(threadIdx.x) / Team::lanes;
    product_row<upper, k>(a, at, i, i < last, v, alpha, x, b, y);
}

template <int k, class T>
__global__ void __launch_bounds__(product_threads)
    diagonal_product_kernel(Index block_rows, const T* inverses, const T* x, T* y) {
    using Team = ProductTeam<T, k>;
    begin_dependent();
    const Team at;
    const Offset i = Offset(blockIdx.x) * Team::teams + int(threadIdx.x) / Team::lanes;
    const bool active = i < block_rows;
    T sums[Team::width] = {};
    if (active) add_product(at, inverses + i * (k * k), x + i * k, sums);
    add_columns<k>(sums);
    if (!active || at.column > 0) return;
#pragma unroll
    for (int r = 0; r < Team::width; ++r) y[i * k + at.row + r] = sums[r];
}

template <bool upper, class T>
void product(const Context& context, const PatternView<T>& a, Index first, Index last, const T* v,
             T alpha, const T* x, const T* b, T* y) {
    if (first == last) return;
    with_size(a.k, [&](auto size) {
        constexpr int k = decltype(size)::value;
        launch_dependent(&product_kernel<upper, k, T>,
                         blocks_for(last - first, ProductTeam<T, k>::teams), product_threads, 0,
                         stream_of(context), a, first, last, v, alpha, x, b, y);
    });
}

template <class T>
void lower_product(const Context& context, const PatternView<T>& a, Index first, Index last,
                   const T* v, T alpha, const T* x, const T* b, T* y) {
    product<false>(context, a, first, last, v, alpha, x, b, y);
}

template <class T>
void upper_product(const Context& context, const PatternView<T>& a, Index first, Index last,
                   const T* v, T alpha, const T* x, const T* b, T* y) {
    product<true>(context, a, first, last, v, alpha, x, b, y);
}

template <class T>
void diagonal_product(const Context& context, const PatternView<T>& a, const T* inverses,
                      const T* x, T* y) {
    if (a.block_rows == 0) return;
    with_size(a.k, [&](auto size) {
        constexpr int k = decltype(size)::value;
        launch_dependent(&diagonal_product_kernel<k, T>,
                         blocks_for(a.block_rows, ProductTeam<T, k>::teams), product_threads, 0,
                         stream_of(context), a.block_rows, inverses, x, y);
    });
}

template <class T>
void lower_levels(const Context& context, const PatternView<T>& a, std::span<const Index> levels,
                  const T* v, T* x) {
    for (std::size_t l = 1; l + 1 < levels.size(); ++l) {
        product<false>(context, a, levels[l], levels[l + 1], v, T(-1), x, x, x);
    }
}

template <class T>
void upper_levels(const Context& context, const PatternView<T>& a, std::span<const Index> levels,
                  const T* v, T* x) {
    for (std::size_t l = levels.size(); l-- > 2;) {
        product<true>(context, a, levels[l - 2], levels[l - 1], v, T(-1), x, x, x);
    }
}

}  // namespace tessera::block_ldlt::cuda
