#include "gpu/launch.cuh"
#include "precond/block_ldlt/block_tiles.cuh"

namespace tessera::block_ldlt::cuda {

namespace {

using namespace tessera::cuda;

constexpr int threads = 128;
constexpr int per_thread = 4;

/// The lanes that share a block row: one for each of its rows.
template <int k>
struct RowTeam {
    static constexpr int teams = threads / k;

    int lane = int(threadIdx.x) % k;
    Offset row = Offset(blockIdx.x) * teams + int(threadIdx.x) / k;
};

template <int k, class T>
__global__ void __launch_bounds__(threads)
    factor_product_kernel(Index block_rows, const T* factors, const Index* permutations, const T* x,
                          T* y) {
    begin_dependent();
    const RowTeam<k> at;
    const bool active = at.row < block_rows;
    const Offset i = active ? at.row : 0;
    const int s = at.lane;
    const T* const f = factors + i * (k * k);
    const Offset place = i * k + permutations[i * k + s];
    const T own = x[place];
    T upper = own;
    for (int r = 1; r < k; ++r) {
        const T other = __shfl_sync(full_warp, own, r, k);
        if (r > s) upper += f[r + s * k] * other;
    }
    const T next = __shfl_down_sync(full_warp, upper, 1, k);
    const T previous = __shfl_up_sync(full_warp, upper, 1, k);
    T middle = f[s + s * k] * upper;
    if (s + 1 < k) middle += f[s + (s + 1) * k] * next;
    if (s > 0) middle += f[s - 1 + s * k] * previous;
    T lower = middle;
    for (int r = 0; r + 1 < k; ++r) {
        const T other = __shfl_sync(full_warp, middle, r, k);
        if (r < s) lower += f[s + r * k] * other;
    }
    if (active) y[place] = lower;
}

template <int k, class T>
__global__ void __launch_bounds__(threads)
    matrix_product_kernel(PatternView<T> a, const T* x, T* y) {
    begin_dependent();
    const RowTeam<k> at;
    if (at.row >= a.block_rows) return;
    const Offset i = at.row;
    const int lane = at.lane;
    T sum = T(0);
    // f(row, column, value) for the entries of an item.
    const auto visit = [&](Offset item, auto&& f) {
        const Offset end = a.entry_offsets[item + 1];
        for (Offset e = a.entry_offsets[item]; e < end; ++e) {
            f(a.places[e] % k, a.places[e] / k, a.values[e]);
        }
    };
    for (Offset e = a.row_offsets[i]; e < a.row_offsets[i + 1]; ++e) {
        const Index block = a.row_blocks[e];
        const T* from = x + Offset(a.columns[block]) * k;
        visit(block, [&](int r, int c, T value) {
            if (r == lane) sum += value * from[c];
        });
    }
    const T* own = x + i * k;
    visit(a.blocks + i, [&](int r, int c, T value) {
        if (r == lane) sum += value * own[c];
        if (c == lane && r != c) sum += value * own[r];
    });
    for (Offset b = a.column_offsets[i]; b < a.column_offsets[i + 1]; ++b) {
        const T* from = x + Offset(a.rows[b]) * k;
        visit(b, [&](int r, int c, T value) {
            if (c == lane) sum += value * from[r];
        });
    }
    y[i * k + lane] = sum;
}

template <class T>
__global__ void __launch_bounds__(threads)
    gather_values_kernel(Offset count, const Offset* source, const Index* row_slots,
                         const Index* column_slots, const Index* slots, const T* scale,
                         const T* matrix, T* values) {
    begin_dependent();
    for_elements<per_thread>(count, [&](Offset e) {
        values[e] = source[e] < 0 ? T(1)
                                  : scale[slots[row_slots[e]]] * matrix[source[e]] *
                                        scale[slots[column_slots[e]]];
    });
}

template <class T>
__global__ void __launch_bounds__(threads)
    gather_kernel(Offset count, const Index* slots, const T* scale, const T* r, T* x) {
    begin_dependent();
    for_elements<per_thread>(count, [&](Offset s) {
        const Index row = slots[s];
        x[s] = row < 0 ? T(0) : scale[row] * r[row];
    });
}

template <class T>
__global__ void __launch_bounds__(threads)
    scatter_kernel(Offset count, const Index* slots, const T* scale, const T* x, T* z) {
    begin_dependent();
    for_elements<per_thread>(count, [&](Offset s) {
        const Index row = slots[s];
        if (row >= 0) z[row] = scale[row] * x[s];
    });
}

/// Launches a kernel on `count` items, `items` a thread block.
template <class... Parameters, class... Arguments>
void launch(const Context& context, void (*kernel)(Parameters...), Offset count, int items,
            Arguments&&... arguments) {
    if (count == 0) return;
    launch_dependent(kernel, blocks_for(count, items), threads, 0, stream_of(context),
                     std::forward<Arguments>(arguments)...);
}

}  // namespace

template <class T>
void factor_product(const Context& context, const PatternView<T>& a, const T* factors,
                    const Index* permutations, const T* x, T* y) {
    with_size(a.k, [&](auto size) {
        constexpr int k = decltype(size)::value;
        launch(context, &factor_product_kernel<k, T>, a.block_rows, threads / k, a.block_rows,
               factors, permutations, x, y);
    });
}

template <class T>
void matrix_product(const Context& context, const PatternView<T>& a, const T* x, T* y) {
    with_size(a.k, [&](auto size) {
        constexpr int k = decltype(size)::value;
        launch(context, &matrix_product_kernel<k, T>, a.block_rows, threads / k, a, x, y);
    });
}

template <class T>
void gather_values(const Context& context, Offset count, const Offset* source,
                   const Index* row_slots, const Index* column_slots, const Index* slots,
                   const T* scale, const T* matrix, T* values) {
    launch(context, &gather_values_kernel<T>, count, threads * per_thread, count, source, row_slots,
           column_slots, slots, scale, matrix, values);
}

template <class T>
void gather(const Context& context, Offset count, const Index* slots, const T* scale, const T* r,
            T* x) {
    launch(context, &gather_kernel<T>, count, threads * per_thread, count, slots, scale, r, x);
}

template <class T>
void scatter(const Context& context, Offset count, const Index* slots, const T* scale, const T* x,
             T* z) {
    launch(context, &scatter_kernel<T>, count, threads * per_thread, count, slots, scale, x, z);
}

#define TESSERA_INSTANTIATE(T)                                                                     \
    template void factor_product<T>(const Context&, const PatternView<T>&, const T*, const Index*, \
                                    const T*, T*);                                                 \
    template void matrix_product<T>(const Context&, const PatternView<T>&, const T*, T*);          \
    template void gather_values<T>(const Context&, Offset, const Offset*, const Index*,            \
                                   const Index*, const Index*, const T*, const T*, T*);            \
    template void gather<T>(const Context&, Offset, const Index*, const T*, const T*, T*);         \
    template void scatter<T>(const Context&, Offset, const Index*, const T*, const T*, T*);
TESSERA_INSTANTIATE(float)
TESSERA_INSTANTIATE(double)
#undef TESSERA_INSTANTIATE

}  // namespace tessera::block_ldlt::cuda
