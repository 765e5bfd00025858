#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "base/check_cuda.hpp"
#include "gpu/batch_view.cuh"
#include "gpu/launch.cuh"
#include "gpu/load.cuh"
#include "gpu/pack.cuh"
#include "gpu/tuning/batched_h200.hpp"
#include "gpu/warp.cuh"

/// Batches of any layout, read once, coalesced, through shared memory. A team of threads (a warp
/// for matrices of up to 32 rows, a thread block for larger ones) copies some matrices of one size
/// to shared memory and processes them line by line. One launch serves all sizes; all matrices of a
/// thread block have one size.
namespace tessera::cuda {

inline constexpr int max_warp_rows = 32;

/// Values from column to column of a staged matrix of n rows: odd, so that neither rows nor columns
/// have bank conflicts.
__host__ __device__ constexpr int column_pitch(int n) { return n | 1; }

/// The matrices of a thread block of teams.
struct TeamBatch {
    int n;
    int matrices;  ///< Per team.
    Offset first;  ///< First position in the order, of the whole thread block.
    Offset end;    ///< End of all matrices of this size.
};

/// The thread blocks of a launch, in ascending order of the sizes of their matrices.
struct SizeClasses {
    Index size = 0;                ///< Size of all matrices if `order` is null.
    Index count = 0;               ///< Number of all matrices if `order` is null.
    const Index* order = nullptr;  ///< See Plan.
    Index begin[batched::largest_size + 2] = {};
    unsigned first_block[batched::largest_size + 2] = {};
    std::uint8_t matrices[batched::largest_size + 1] = {};  ///< Per team.

    __device__ __forceinline__ TeamBatch of_block(int teams) const {
        if (order == nullptr) {
            const int each = matrices[size];
            return {size, each, Offset(blockIdx.x) * teams * each, count};
        }
        int n = 0;  // Binary search: the last size whose first thread block is not after this one.
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

/// A launch for some sizes of a batch.
struct StagedLaunch {
    SizeClasses classes;
    unsigned blocks = 0;  ///< Thread blocks.
    int team_bytes = 0;   ///< Shared memory per team, a multiple of 16.
};

/// The launch for matrices of from..to rows: `teams` teams per thread block, matrices_of(n)
/// matrices and bytes_of(n) bytes of shared memory per team.
template <class T, class Matrices, class Bytes>
StagedLaunch staged_launch(const batched::BatchView<T>& a, const batched::Plan* plan, Index from,
                           Index to, int teams, Matrices&& matrices_of, Bytes&& bytes_of) {
    StagedLaunch launch;
    SizeClasses& classes = launch.classes;
    classes.size = a.size;
    classes.count = a.count;
    if (plan != nullptr) classes.order = plan->order();
    for (Index n = 0; n <= batched::largest_size; ++n) {
        const int matrices = matrices_of(n);
        classes.matrices[n] = std::uint8_t(matrices);
        classes.first_block[n] = launch.blocks;
        Offset size_count = n == a.size ? a.count : 0;
        if (plan != nullptr) {
            classes.begin[n] = plan->begin(n);
            size_count = plan->begin(n + 1) - plan->begin(n);
        }
        if (n < from || n > to || size_count == 0) continue;
        launch.blocks += blocks_for(size_count, teams * matrices);
        launch.team_bytes = std::max(launch.team_bytes, bytes_of(n));
    }
    if (plan != nullptr) classes.begin[batched::largest_size + 1] = plan->count();
    return launch;
}

template <int Team>
__device__ __forceinline__ void sync_team() {
    if constexpr (Team == 32) {
        __syncwarp();
    } else {
        __syncthreads();
    }
}

/// `address` of thread m of a team of one warp; larger teams have one matrix, whose address is the
/// same in all threads.
template <int Team, class T>
__device__ __forceinline__ T* broadcast_address(T* address, int m) {
    if constexpr (Team > 32) return address;
    const auto number = reinterpret_cast<unsigned long long>(address);
    return reinterpret_cast<T*>(__shfl_sync(full_warp, number, m));
}

/// Copies `units` units of `Width` values to shared memory, `column` per column, with `pad` values
/// between the columns. address(i, c): unit i of column c. About 64 bytes per thread are in flight.
template <int Team, int Width, class T, class Address>
__device__ __forceinline__ void stage_units(int units, int column, int pad, Address address,
                                            T* to) {
    using Value = Pack<T, Width>;
    constexpr int depth = Width == 1 && sizeof(T) == 4 ? 12 : 64 / int(sizeof(Value));
    const unsigned inverse = inverse_of(column);
#pragma unroll 1
    for (int first = int(threadIdx.x) % Team; first < units; first += depth * Team) {
        Value value[depth];
#pragma unroll
        for (int u = 0; u < depth; ++u) {
            const int unit = first + u * Team;
            const int c = unit < units ? quotient_of(unit, inverse) : 0;
            const T* from = address(unit - c * column, c);
            value[u] = load_if(unit < units, reinterpret_cast<const Value*>(from), Value{});
        }
#pragma unroll
        for (int u = 0; u < depth; ++u) {
            const int unit = first + u * Team;
            if (unit >= units) continue;
            T* const target = to + (Width * unit + pad * quotient_of(unit, inverse));
#pragma unroll
            for (int k = 0; k < Width; ++k) target[k] = value[u].value[k];
        }
    }
}

/// Copies `matrices` n x n matrices to shared memory: element (i, j) of matrix m goes to
///   to[(m n + j) column_pitch(n) + i].
/// `start` is the address of matrix m in lane m of a warp; in a larger team every thread has the
/// address of the only matrix. `columns` is scratch memory of the team: an address per column.
template <int Team, class T>
__device__ __forceinline__ void stage_columns(const T* start, int n, Offset leading_dimension,
                                              int matrices, const T** columns, T* to) {
    constexpr int values_per_chunk = 16 / int(sizeof(T));
    const int thread = int(threadIdx.x) % Team;
    const int lines = matrices * n;
    const unsigned inverse_n = inverse_of(n);
    for (int base = 0; base < lines; base += Team) {
        const int r = base + thread;
        const int m = matrices == 1 ? 0 : quotient_of(r, inverse_n);
        const T* first = broadcast_address<Team>(start, m);
        if (r < lines) columns[r] = first + (r - m * n) * leading_dimension;
    }
    bool aligned = reinterpret_cast<unsigned long long>(start) % 16 == 0;
    if constexpr (Team == 32) aligned = __all_sync(full_warp, aligned || thread >= matrices);
    sync_team<Team>();
    const int pad = column_pitch(n) - n;
    if (aligned && n % values_per_chunk == 0 && leading_dimension % values_per_chunk == 0) {
        const auto unit_at = [=](int i, int c) { return columns[c] + i * values_per_chunk; };
        stage_units<Team, values_per_chunk>(lines * (n / values_per_chunk), n / values_per_chunk,
                                            pad, unit_at, to);
    } else {
        stage_units<Team, 1>(
            lines * n, n, pad, [=](int i, int c) { return columns[c] + i; }, to);
    }
}

/// Row or column k of staged matrix m, r = m n + k: its entry x is staged[first + x * stride].
struct StagedLine {
    int first;
    int stride;

    __device__ __forceinline__ StagedLine(bool rows, int n, int m, int r) {
        const int pitch = column_pitch(n);
        first = rows ? m * n * (pitch - 1) + r : r * pitch;
        stride = rows ? pitch : 1;
    }
};

/// The matrices of this team, in shared memory.
template <class T, int Team>
struct StagedTeam {
    int n;
    int matrices;         ///< May be 0.
    Offset first;         ///< Their first position in the order.
    const T* start;       ///< Address of the matrix of this thread; see stage_columns.
    const T** addresses;  ///< Shared memory: an address per column.
    T* staged;            ///< Shared memory: the matrices.
    T* scratch;           ///< Shared memory: scratch of the caller.

    __device__ __forceinline__ StagedTeam(const SizeClasses& classes,
                                          const batched::BatchView<const T>& a,
                                          unsigned char* memory, int team_bytes) {
        const int team = int(threadIdx.x) / Team;
        const TeamBatch batch = classes.of_block(int(blockDim.x) / Team);
        n = batch.n;
        first = batch.first + team * batch.matrices;
        matrices = int(min(Offset(batch.matrices), max(Offset(0), batch.end - first)));
        unsigned char* const mine = memory + team * team_bytes;
        addresses = reinterpret_cast<const T**>(mine);
        staged = reinterpret_cast<T*>(mine + matrices * n * sizeof(T*));
        scratch = staged + matrices * n * column_pitch(n);
        start = has_matrix() ? start_of(a, matrix(classes)) : nullptr;
    }
    /// Whether this thread holds the address of a matrix.
    __device__ __forceinline__ bool has_matrix() const {
        return Team > 32 ? matrices > 0 : int(threadIdx.x) % Team < matrices;
    }
    __device__ __forceinline__ Offset matrix(const SizeClasses& classes) const {
        return classes.matrix(first + (Team > 32 ? 0 : int(threadIdx.x) % Team));
    }
    __device__ __forceinline__ void load(const batched::BatchView<const T>& a) const {
        stage_columns<Team>(start, n, leading_dimension_of(a, n), matrices, addresses, staged);
    }
};

/// launch(threads per team, threads per thread block, launch) for all sizes of a batch: teams of
/// one warp up to 32 rows, of a thread block above. line_bytes: scratch per row of a matrix.
template <class T, class Launch>
void for_staged_launches(const batched::BatchView<T>& a, const batched::Plan* plan, int line_bytes,
                         Launch&& launch) {
    constexpr int warp_values = max_warp_rows * column_pitch(max_warp_rows);
    const auto run = [&](auto team, auto threads, Index from, Index to) {
        const auto matrices_of = [&](Index n) {
            const int values = std::max(n * column_pitch(n), 1);
            return team() == 32 ? std::clamp(warp_values / values, 1, 32) : 1;
        };
        const auto bytes_of = [&](Index n) {
            const int line = column_pitch(n) * int(sizeof(T)) + int(sizeof(T*)) + line_bytes;
            return (matrices_of(n) * n * line + 15) / 16 * 16;
        };
        const StagedLaunch one =
            staged_launch(a, plan, from, to, threads() / team(), matrices_of, bytes_of);
        if (one.blocks > 0) launch(team, threads, one);
    };
    run(std::integral_constant<int, 32>(), std::integral_constant<int, staged_threads>(), 0,
        max_warp_rows);
    const Index largest = plan != nullptr ? plan->largest() : a.size;
    // In groups, so that the shared memory of the largest does not limit the occupancy of smaller
    // ones.
    for (Index from = max_warp_rows + 1; from <= largest; from += 32) {
        const std::integral_constant<int, staged_block_threads> threads;
        run(threads, threads, from, from + 31);
    }
}

}  // namespace tessera::cuda
