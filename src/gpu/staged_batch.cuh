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

/// Batches read once, coalesced, through shared memory. A team of threads (a warp for matrices of
/// up to 32 rows, a thread block for larger ones) copies some whole matrices of one size there,
/// whatever their layout, and works on them line by line. One launch serves all sizes: each thread
/// block belongs to one of them.
namespace tessera::cuda {

inline constexpr int largest_warp_size = 32;

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

/// A launch for some sizes of a batch.
struct StagedLaunch {
    SizeClasses classes;
    unsigned blocks = 0;  ///< Thread blocks.
    int team_bytes = 0;   ///< Of shared memory, a multiple of 16.
};

/// The launch for the sizes from..to, `teams` a thread block: matrices_of(n) a team, which wants
/// bytes_of(n) of shared memory.
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
        Offset here = n == a.size ? a.count : 0;
        if (plan != nullptr) {
            classes.begin[n] = plan->begin(n);
            here = plan->begin(n + 1) - plan->begin(n);
        }
        if (n < from || n > to || here == 0) continue;
        launch.blocks += blocks_for(here, teams * matrices);
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

/// The address that thread m of a team of one warp gives; larger teams have one matrix, whose
/// address all threads give.
template <int Team, class T>
__device__ __forceinline__ T* from_team(T* address, int m) {
    if constexpr (Team > 32) return address;
    const auto number = reinterpret_cast<unsigned long long>(address);
    return reinterpret_cast<T*>(__shfl_sync(full_warp, number, m));
}

/// Copies `units` units of `Width` values to shared memory, `column` of them to each column, with
/// `pad` values between the columns. address(i, c) is that of the i-th unit of column c. About 64
/// bytes of each thread are under way at once.
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
            T* const place = to + (Width * unit + pad * quotient_of(unit, inverse));
#pragma unroll
            for (int k = 0; k < Width; ++k) place[k] = value[u].value[k];
        }
    }
}

/// Copies `matrices` n x n matrices to shared memory: element (i, j) of matrix m goes to
///   to[(m n + j) column_pitch(n) + i].
/// Lane m of a warp gives the start of matrix m, every thread of a
/// larger team that of its only one. `columns` is scratch memory of the team: an address for each
/// column.
template <int Team, class T>
__device__ __forceinline__ void stage_columns(const T* start, int n, Offset leading_dimension,
                                              int matrices, const T** columns, T* to) {
    constexpr int wide = 16 / int(sizeof(T));
    const int thread = int(threadIdx.x) % Team;
    const int lines = matrices * n;
    const unsigned inverse_n = inverse_of(n);
    for (int base = 0; base < lines; base += Team) {
        const int r = base + thread;
        const int m = matrices == 1 ? 0 : quotient_of(r, inverse_n);
        const T* first = from_team<Team>(start, m);
        if (r < lines) columns[r] = first + (r - m * n) * leading_dimension;
    }
    bool aligned = reinterpret_cast<unsigned long long>(start) % 16 == 0;
    if constexpr (Team == 32) aligned = __all_sync(full_warp, aligned || thread >= matrices);
    sync_team<Team>();
    const int pad = column_pitch(n) - n;
    if (aligned && n % wide == 0 && leading_dimension % wide == 0) {
        const auto unit_at = [=](int i, int c) { return columns[c] + i * wide; };
        stage_units<Team, wide>(lines * (n / wide), n / wide, pad, unit_at, to);
    } else {
        stage_units<Team, 1>(
            lines * n, n, pad, [=](int i, int c) { return columns[c] + i; }, to);
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

/// The matrices of this team, in shared memory.
template <class T, int Team>
struct StagedTeam {
    int n;
    int matrices;         ///< None: 0.
    Offset first;         ///< Their positions in the order.
    const T* start;       ///< That of the matrix of this thread; see stage_columns.
    const T** addresses;  ///< Shared memory for an address of each column,
    T* staged;            ///< the matrices,
    T* rest;              ///< and what else is wanted.

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
        rest = staged + matrices * n * column_pitch(n);
        start = has_matrix() ? start_of(a, matrix(classes)) : nullptr;
    }
    /// Whether this thread gives the address of a matrix.
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

/// launch(threads of a team, threads of a thread block, launch) for all sizes of a batch: teams of
/// a warp up to 32 rows, of a thread block above. line_bytes: shared memory wanted for each row of
/// a matrix besides what StagedTeam has.
template <class T, class Launch>
void for_staged_launches(const batched::BatchView<T>& a, const batched::Plan* plan, int line_bytes,
                         Launch&& launch) {
    constexpr int warp_values = largest_warp_size * column_pitch(largest_warp_size);
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
        largest_warp_size);
    const Index largest = plan != nullptr ? plan->largest() : a.size;
    // Apart, so that shared memory for the largest does not keep smaller ones waiting.
    for (Index from = largest_warp_size + 1; from <= largest; from += 32) {
        const std::integral_constant<int, staged_block_threads> threads;
        run(threads, threads, from, from + 31);
    }
}

}  // namespace tessera::cuda
