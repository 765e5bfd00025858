#pragma once

#include <algorithm>

#include "base/check_cuda.hpp"
#include "gpu/launch.cuh"
#include "gpu/load.cuh"
#include "gpu/warp.cuh"
#include "tessera/batched.hpp"

/// Batches read once, coalesced, through shared memory. A team of threads (a warp for matrices of
/// up to 32 rows, a thread block for larger ones) copies some whole matrices of one size there,
/// whatever their layout, and works on them line by line. One launch serves all sizes: each thread
/// block belongs to one of them.
namespace tessera::cuda {

inline constexpr int largest_warp_size = 32;
inline constexpr int staged_threads = 128;        ///< Of a thread block of warps.
inline constexpr int staged_thread_blocks = 8;    ///< Of these at least to a multiprocessor.
inline constexpr int staged_block_threads = 256;  ///< Of a thread block that is one team.

/// A matrix of n rows takes n columns of this many values: odd, so that both rows and columns of
/// adjacent lanes lie in different banks.
__host__ __device__ constexpr int column_pitch(int n) { return n | 1; }

/// Which matrices a thread block of teams works on.
struct TeamBatch {
    int n;
    int matrices;  ///< A team.
    Offset first;  ///< Positions in the order, of the whole thread block.
    Offset end;    ///< Of all of this size.
};

/// The thread blocks of a launch, in ascending order of the sizes of their matrices.
struct SizeClasses {
    Index size = 0;                ///< Of all, where `order` is null.
    Index count = 0;               ///< Of all, where `order` is null.
    const Index* order = nullptr;  ///< See Plan.
    Index begin[batched::largest_size + 2] = {};
    unsigned first_block[batched::largest_size + 2] = {};
    std::uint8_t matrices[batched::largest_size + 1] = {};  ///< A team.

    __device__ __forceinline__ TeamBatch of_block(int teams) const {
        if (order == nullptr) {
            const int each = matrices[size];
            return {size, each, Offset(blockIdx.x) * teams * each, count};
        }
        int n = 0;  // The last size whose first thread block is not behind this one.
#pragma unroll 1
        for (int step = 128; step > 0; step /= 2) {
            const int next = n + step;
            if (next <= batched::largest_size && first_block[next] <= blockIdx.x) n = next;
        }
        const int each = matrices[n];
        return {n, each, begin[n] + Offset(blockIdx.x - first_block[n]) * teams * each,
                begin[n + 1]};
    }
    __device__ __forceinline__ Offset matrix(Offset position) const {
        return order == nullptr ? position : Offset(order[position]);
    }
};

/// A launch for the sizes from..to of a batch: classes, number of thread blocks and of bytes of
/// shared memory.
struct StagedLaunch {
    SizeClasses classes;
    unsigned blocks = 0;
    int team_values = 0;
};

/// `line_values` values of shared memory are wanted for each row of a matrix besides it.
inline StagedLaunch staged_launch(Index count, Index size, const batched::Plan* plan, Index from,
                                  Index to, int line_values) {
    constexpr int warp_values = largest_warp_size * column_pitch(largest_warp_size);
    const bool warps = to <= largest_warp_size;
    const int teams = warps ? staged_threads / 32 : 1;
    StagedLaunch launch;
    SizeClasses& classes = launch.classes;
    classes.size = size;
    classes.count = count;
    if (plan != nullptr) classes.order = plan->order();
    for (Index n = 0; n <= batched::largest_size; ++n) {
        const int values = n * column_pitch(n);
        const int matrices = warps ? std::clamp(warp_values / std::max(values, 1), 1, 32) : 1;
        classes.matrices[n] = std::uint8_t(matrices);
        Offset here = n == size ? count : 0;
        if (plan != nullptr) {
            classes.begin[n] = plan->begin(n);
            here = plan->begin(n + 1) - plan->begin(n);
        }
        if (n < from || n > to) here = 0;
        classes.first_block[n] = launch.blocks;
        launch.blocks += blocks_for(here, teams * matrices);
        if (here > 0) {
            launch.team_values =
                std::max(launch.team_values, matrices * (values + n * line_values));
        }
    }
    if (plan != nullptr) classes.begin[batched::largest_size + 1] = plan->count();
    return launch;
}

/// Element 0 of matrix b.
template <class View>
__device__ __forceinline__ auto start_of(const View& view, Offset b) {
    if (view.starts != nullptr) return view.starts[b];
    return view.values + (view.offsets != nullptr ? view.offsets[b] : b * view.stride);
}

/// Whether matrix b + 1 follows matrix b in memory, without gaps.
template <class T>
bool is_one_run(const batched::BatchView<T>& a) {
    return a.sizes == nullptr && a.offsets == nullptr && a.starts == nullptr &&
           a.leading_dimension == a.size && a.stride == Offset(a.size) * a.size;
}

template <int Team>
__device__ __forceinline__ void sync_team() {
    if constexpr (Team == 32) {
        __syncwarp();
    } else {
        __syncthreads();
    }
}

/// The address that thread m of a team of one warp gives; larger teams have one matrix, whose
/// address all threads give.
template <int Team, class T>
__device__ __forceinline__ T* from_team(T* address, int m) {
    if constexpr (Team > 32) return address;
    const auto number = reinterpret_cast<unsigned long long>(address);
    return reinterpret_cast<T*>(__shfl_sync(full_warp, number, m));
}

__device__ __forceinline__ float reciprocal_of(int n) { return 1.0f / float(max(n, 1)); }

/// x / n for x below 2^9 and n at most 128, from the rounded 1 / n: the half keeps the quotient at
/// least 1/256 off an integer.
__device__ __forceinline__ int small_quotient(int x, float inverse_n) {
    return int((float(x) + 0.5f) * inverse_n);
}

/// A team's walk over the elements of its matrices in steps of `Team`: element (i, j) of matrix m.
template <int Team>
struct ElementWalk {
    int n;
    int step_i, step_j, step_m;
    int i, j, m;

    __device__ __forceinline__ ElementWalk(int n_, float inverse_n, int thread) : n(n_) {
        const int columns = small_quotient(Team, inverse_n);
        step_i = Team - columns * n;
        step_m = Team == 32 ? small_quotient(columns, inverse_n) : 0;
        step_j = columns - step_m * n;
        const int column = small_quotient(thread, inverse_n);
        i = thread - column * n;
        m = Team == 32 ? small_quotient(column, inverse_n) : 0;
        j = column - m * n;
    }
    __device__ __forceinline__ void advance() {
        i += step_i;
        j += step_j;
        m += step_m;
        if (i >= n) {
            i -= n;
            ++j;
        }
        if (Team == 32 && j >= n) {  // A larger team has one matrix.
            j -= n;
            ++m;
        }
    }
};

/// Copies `matrices` n x n matrices to shared memory: element (i, j) of matrix m goes to
///   to[(m n + j) column_pitch(n) + i].
/// Lane m of a warp gives the start of matrix m, every thread of a larger team that of its one.
/// Eight reads of each thread (more where values have four bytes) are under way at once.
/// OneRun: the matrices follow each other without gaps; `start` is then that of the first one.
template <int Team, bool OneRun, class T>
__device__ __forceinline__ void stage_matrices(const T* start, int n, Offset leading_dimension,
                                               int matrices, T* to) {
    constexpr int depth = sizeof(T) == 8 ? 8 : OneRun ? 16 : 12;
    const int thread = int(threadIdx.x) % Team;
    const int total = matrices * n * n;
    const int pad = column_pitch(n) - n;
    ElementWalk<Team> walk(n, reciprocal_of(n), thread);
#pragma unroll 1
    for (int base = 0; base < total; base += depth * Team) {
        const T* const run = start + base + thread;
        T value[depth];
        int place[depth];
#pragma unroll
        for (int u = 0; u < depth; ++u) {
            const int e = base + u * Team + thread;
            place[u] = e < total ? e + pad * (walk.m * n + walk.j) : -1;
            const T* from = run + u * Team;
            if constexpr (!OneRun) {
                from = from_team<Team>(start, walk.m) + walk.j * leading_dimension + walk.i;
            }
            value[u] = load_if(e < total, from, T(0));
            walk.advance();
        }
#pragma unroll
        for (int u = 0; u < depth; ++u) {
            if (place[u] >= 0) to[place[u]] = value[u];
        }
    }
}

/// Line r = m n + k of the staged matrices, their rows or their columns k: entry x of it is
/// staged[first + x * stride].
struct StagedLine {
    int first;
    int stride;

    __device__ __forceinline__ StagedLine(bool rows, int n, int m, int r) {
        const int pitch = column_pitch(n);
        first = rows ? m * n * (pitch - 1) + r : r * pitch;
        stride = rows ? pitch : 1;
    }
};

}  // namespace tessera::cuda
