#include "gpu/launch.cuh"
#include "gpu/warp.cuh"
#include "precond/block_ldlt/block_sizes.hpp"
#include "precond/block_ldlt/solve/kernels.hpp"

namespace tessera::block_ldlt::cuda {

namespace {

using namespace tessera::cuda;

constexpr int threads = 128;

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

}  // namespace

template <class T>
void factor_product(const Context& context, const PatternView<T>& a, const T* factors,
                    const Index* permutations, const T* x, T* y) {
    if (a.block_rows == 0) return;
    with_block_size(a.k, [&](auto size) {
        constexpr int k = decltype(size)::value;
        launch_dependent(&factor_product_kernel<k, T>, blocks_for(a.block_rows, threads / k),
                         threads, 0, stream_of(context), a.block_rows, factors, permutations, x, y);
    });
}

template decltype(factor_product<float>) factor_product<float>;
template decltype(factor_product<double>) factor_product<double>;

}  // namespace tessera::block_ldlt::cuda
