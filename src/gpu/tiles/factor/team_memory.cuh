#pragma once

#include "gpu/staged_batch.cuh"
#include "gpu/tiles/factor/rows.cuh"

/// A team of threads that factorises a matrix: its shared memory, its matrix, its launch.
namespace tessera::cuda {

namespace {

/// Shared memory of a team.
template <class T>
struct TeamMemory {
    T* f;  ///< See rows.cuh.
    int pitch;
    T* stage;      ///< The pivot row, by columns.
    T* stage_two;  ///< The second row of a 2 x 2 pivot.
    T* raw;        ///< The diagonal of D by position, before the threshold.
    T* raw_e21;    ///< e21 of a 2 x 2 pivot at its first position, else 0.
    int* rows;     ///< The row in each position.
    int* columns;  ///< The column in each position; LDU only.

    __device__ __forceinline__ T& at(int row, int column) const { return f[column * pitch + row]; }
    /// The pivot threshold of factorisations without 2 x 2 pivots, in the place of raw_e21.
    __device__ __forceinline__ T& threshold() const { return raw_e21[0]; }
};

/// Bytes of shared memory for the teams of a warp, or for a larger team: matrices, then arrays with
/// one element per thread.
template <class T>
constexpr int factor_bytes(int n, int lanes) {
    const int threads = std::max(lanes, 32);
    const int matrices = (threads / lanes) * factor_stride(n, lanes, int(sizeof(T)));
    const int arrays = threads * (4 * int(sizeof(T)) + 2 * int(sizeof(int)));
    return (matrices * int(sizeof(T)) + 15) / 16 * 16 + arrays;
}

/// The memory of team number `team` among those that share `bytes`.
template <class T, class Team>
__device__ __forceinline__ TeamMemory<T> team_memory(unsigned char* memory, int bytes, int team,
                                                     int n) {
    constexpr int width = Team::threads;
    constexpr int threads = width < 32 ? 32 : width;
    TeamMemory<T> mine;
    mine.pitch = factor_pitch(n);
    mine.f = reinterpret_cast<T*>(memory) + team * factor_stride(n, width, int(sizeof(T)));
    constexpr int arrays = threads * (4 * int(sizeof(T)) + 2 * int(sizeof(int)));
    T* const values = reinterpret_cast<T*>(memory + bytes - arrays) + team * width;
    mine.stage = values;
    mine.stage_two = values + threads;
    mine.raw = values + 2 * threads;
    mine.raw_e21 = values + 3 * threads;
    int* const indices = reinterpret_cast<int*>(memory + bytes - 2 * threads * int(sizeof(int)));
    mine.rows = indices + team * width;
    mine.columns = indices + threads + team * width;
    return mine;
}

/// A team with its matrix (number b of the batch, n rows) and its shared memory.
template <class T, class Team>
struct TeamMatrix {
    Team team;
    TeamMemory<T> memory;
    int n;
    Offset b;
    bool active;  ///< False for surplus teams, which repeat the last matrix without storing.
};

/// The team of this thread; memory: of the thread block, `bytes` for each warp or larger team.
template <class T, class Team>
__device__ __forceinline__ TeamMatrix<T, Team> team_matrix(const SizeClasses& classes,
                                                           unsigned char* memory, int bytes) {
    constexpr int lanes = Team::threads;
    const TeamBatch batch = classes.of_block(factor_threads / lanes);
    if constexpr (lanes == factor_threads) {
        return {Team(), team_memory<T, Team>(memory, bytes, 0, batch.n), batch.n,
                classes.matrix(batch.first), true};
    } else {
        const int number = int(threadIdx.x) / lanes;
        const Offset position = batch.first + number;
        const bool active = position < batch.end;
        const Offset b = classes.matrix(active ? position : batch.end - 1);
        return {Team(),
                team_memory<T, Team>(memory + int(threadIdx.x) / 32 * bytes, bytes,
                                     number % (32 / lanes), batch.n),
                batch.n, b, active};
    }
}

/// Launches `kernel` for the matrices of smallest..largest rows by teams of `lanes`, `matrices` per
/// thread block, with `shares` times factor_bytes of shared memory. The kernel takes the size
/// classes, `arguments` and the bytes of one share.
template <class Kernel, class View, class... Arguments>
void launch_teams(const Context& context, const View& a, const batched::Plan* plan, int smallest,
                  int largest, int lanes, int matrices, int shares, Kernel* kernel,
                  const Arguments&... arguments) {
    using T = std::remove_cv_t<std::remove_pointer_t<decltype(a.values)>>;
    const StagedLaunch launch = staged_launch(
        a, plan, smallest, largest, matrices, [](Index) { return 1; },
        [&](Index n) { return factor_bytes<T>(n, lanes); });
    if (launch.blocks == 0) return;
    launch_dependent(kernel, launch.blocks, factor_threads, shares * launch.team_bytes,
                     stream_of(context), launch.classes, arguments..., launch.team_bytes);
}

}  // namespace

}  // namespace tessera::cuda
