#pragma once

#include <limits>

#include "batched/solve/kernels.hpp"
#include "gpu/batch_view.cuh"
#include "gpu/launch.cuh"
#include "gpu/load.cuh"
#include "gpu/tiles/elimination/panel_warp.cuh"
#include "gpu/tuning/panels_h200.hpp"

/// Systems of 33..128 equations.
namespace tessera::batched::cuda {

using namespace tessera::cuda;

namespace {

/// Elimination by panels (gpu/tiles/elimination/thread_block_panels.cuh), a system per thread
/// block, from position `first` of the order on.
template <class T, int Groups, PanelMethod method, int thread_blocks>
__global__ void __launch_bounds__(32 * (Groups + 1), thread_blocks)
    solve_panels_kernel(const __grid_constant__ SystemJob<T> job, Index first,
                        bool first_in_chain) {
    using Memory = PanelTeamMemory<T, Groups>;
    extern __shared__ __align__(16) unsigned char panel_memory[];
    Memory& memory = by_register(*reinterpret_cast<Memory*>(panel_memory));
    if (begin_in_chain(first_in_chain)) return;
    const Offset system = job.member(Offset(first) + blockIdx.x);
    const int n = job.a.sizes != nullptr ? job.a.sizes[system] : job.a.size;
    const int warp = uniform_warp();
    memory.begin();
    if (warp < Groups) {
        PanelRows<T, Groups, method> part(memory, warp);
        const StridedMatrix<const T> a(job.a, system, n);
        const Offset line = leading_dimension_of(job.a, n);
        part.load([&](int i, int j) {
            const T* const from = method == PanelMethod::gauss
                                      ? a.start + i * a.row_stride + j * a.column_stride
                                      : a.start + max(i, j) + min(i, j) * line;
            return load_if(i < n && j < n, from, T(0));
        });
        const unsigned largest = part.largest();
        if (part.lane == 0) memory.largest[warp] = largest;
        part.eliminate(memory, n);
        return;
    }
    PanelWarp<T, Groups, method> part(job.b.vectors);
#pragma unroll
    for (int i = 0; i < part.rows; ++i) {
        const int row = part.lane + 32 * i;
#pragma unroll
        for (int v = 0; v < max_panel_vectors; ++v) {
            const T* const from = start_of(job.b, system) + v * job.b.leading_dimension + row;
            part.y[i][v] = load_coherent_if(row < n && v < part.vectors, from, T(0));
        }
    }
    part.eliminate(memory, n);
    for (int v = 0; v < part.vectors; ++v) {
        part.substitute(memory, n, v);
        T* const to = start_of(job.x, system) + v * job.x.leading_dimension;
        const T nan = std::numeric_limits<T>::quiet_NaN();
        for (int row = part.lane; row < n; row += 32) {
            to[row] = part.info == 0 ? memory.right[v][row] : nan;
        }
    }
    if (part.lane == 0 && job.info != nullptr) {
        unsigned largest = 0;
        for (int w = 0; w < Groups; ++w) largest = max(largest, memory.largest[w]);
        const bool near = part.range.template near_singular<T>(n, largest);
        job.info[system] = part.info != 0 ? part.info : near ? n + 1 : 0;
    }
}

/// The systems of 16 (Groups - 1) + 1 .. 16 Groups equations, 33 at least.
template <class T, bool pivoting, int Groups>
void solve_panels(tessera::cuda::LaunchChain& chain, const SystemJob<T>& job) {
    constexpr auto method = pivoting ? PanelMethod::gauss : PanelMethod::gauss_definite;
    constexpr Index largest = 16 * Groups;
    constexpr Index smallest = largest == 48 ? 33 : largest - 15;
    const Index first = job.first(smallest);
    const Index count = job.plan != nullptr ? job.first(largest + 1) - first
                        : job.a.size >= smallest && job.a.size <= largest ? job.a.count
                                                                          : 0;
    if (count == 0) return;
    constexpr int thread_blocks = panel_team_blocks<T>(Groups, method);
    chain.launch(solve_panels_kernel<T, Groups, method, thread_blocks>, unsigned(count),
                 32 * (Groups + 1), int(sizeof(PanelTeamMemory<T, Groups>)), job, first);
}

}  // namespace

template <class T, bool pivoting>
void solve_large(tessera::cuda::LaunchChain& chain, const SystemJob<T>& job) {
    solve_panels<T, pivoting, 8>(chain, job);
    solve_panels<T, pivoting, 7>(chain, job);
    solve_panels<T, pivoting, 6>(chain, job);
    solve_panels<T, pivoting, 5>(chain, job);
    solve_panels<T, pivoting, 4>(chain, job);
    solve_panels<T, pivoting, 3>(chain, job);
}

}  // namespace tessera::batched::cuda
