#include "base/pivot_pair.hpp"
#include "batched/solve/kernels.hpp"
#include "gpu/launch.cuh"
#include "gpu/staged_batch.cuh"
#include "gpu/tuning/batched_h200.hpp"

namespace tessera::batched::cuda {

namespace {

using namespace tessera::cuda;

constexpr int most_turns = (largest_size + 31) / 32;

/// D := |D|; one matrix per warp, one pivot per lane and turn. All pivots are read before any is
/// written: the element off the diagonal tells which pivots are 2 x 2, and may become 0.
template <class T>
__global__ void __launch_bounds__(absolute_pivot_threads)
    absolute_pivots_kernel(const BatchView<T> f) {
    begin_dependent();
    const Offset b = Offset(blockIdx.x) * (absolute_pivot_threads / 32) + threadIdx.x / 32;
    if (b >= f.count) return;
    const int n = f.sizes != nullptr ? f.sizes[b] : f.size;
    const Offset line = f.sizes != nullptr ? n : f.leading_dimension;
    T* const start = start_of(f, b);
    const auto pivot_at = [&](int turn) {
        return start + (turn * 32 + int(threadIdx.x) % 32) * (line + 1);
    };
    PivotPair<T> e[most_turns];
    bool second[most_turns];
#pragma unroll
    for (int turn = 0; turn < most_turns; ++turn) {
        const int s = turn * 32 + int(threadIdx.x) % 32;
        const T* const pivot = pivot_at(turn);
        e[turn] = {T(0), T(0), T(0)};
        second[turn] = s > 0 && s < n && pivot[-1] != T(0);
        if (s < n) e[turn].e11 = pivot[0];
        if (s + 1 < n) e[turn] = {pivot[0], pivot[line], pivot[line + 1]};
    }
    __syncwarp();
#pragma unroll
    for (int turn = 0; turn < most_turns; ++turn) {
        if (turn * 32 + int(threadIdx.x) % 32 >= n || second[turn]) continue;
        T* const pivot = pivot_at(turn);
        if (e[turn].e21 == T(0)) {
            *pivot = fabs(e[turn].e11);
            continue;
        }
        const PivotEigen<T> v = eigenpairs(e[turn]);
        const PivotPair<T> positive =
            with_eigenvalues(e[turn], v, T(fabs(v.first)), T(fabs(v.second)));
        pivot[0] = positive.e11;
        pivot[line] = positive.e21;
        pivot[line + 1] = positive.e22;
    }
}

}  // namespace

template <class T>
void take_absolute_pivots(const Context& context, const BatchView<T>& f, const Plan*) {
    launch_dependent(absolute_pivots_kernel<T>, blocks_for(f.count, absolute_pivot_threads / 32),
                     absolute_pivot_threads, 0, stream_of(context), f);
}

template decltype(take_absolute_pivots<float>) take_absolute_pivots<float>;
template decltype(take_absolute_pivots<double>) take_absolute_pivots<double>;

}  // namespace tessera::batched::cuda
