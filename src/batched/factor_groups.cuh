#pragma once

#include "batched/factor_launch.cuh"
#include "gpu/tiles/runs.cuh"

/// Factorisations of matrices of 16 rows, all in one run of memory, by a group of 2, 4 or 8 lanes
/// each: everything unrolled, each lane with whole rows in registers, with the bits of the other
/// kernels.
namespace tessera::batched::cuda {

namespace {

/// How `Lanes` lanes share a matrix of 16 rows in shared memory and registers.
template <class T, int Lanes>
struct GroupShape {
    static constexpr int n = 16;
    static constexpr int lanes = Lanes;
    static constexpr int rows = n / Lanes;                   ///< A lane.
    static constexpr int width = pack_width<T>;              ///< Adjacent rows of a lane.
    static constexpr int turn = width * Lanes;               ///< Rows that all lanes have of these.
    static constexpr int matrices = 32 / Lanes;              ///< A warp.
    static constexpr int chunks = n * n / width;             ///< Of 16 bytes, a matrix.
    static constexpr int column_chunks = n / width;          ///< A column.
    static constexpr int pitch_chunks = chunks + Lanes % 8;  ///< From matrix to matrix.
    static constexpr int bytes = matrices * pitch_chunks * 16;  ///< A warp.
    static_assert(rows % width == 0);

    /// Row i of a lane.
    static __device__ __forceinline__ int row(int lane, int i) {
        return width * lane + i % width + turn * (i / width);
    }
    /// Whose row r is, and which one there.
    static __device__ __forceinline__ constexpr unsigned owner(unsigned r) {
        return r / width % Lanes;
    }
    static constexpr int index(int r) { return r % width + width * (r / turn); }
    /// Chunks of column j are exchanged, so that lanes that write one row meet in fewer banks.
    static __device__ __forceinline__ constexpr int swap(unsigned j) { return int(j % Lanes); }
    /// Value (i, j) of a matrix.
    static __device__ __forceinline__ int place(int i, int j) {
        return n * j + (i ^ (width * swap(j)));
    }
};

/// What a lane knows of its matrix.
template <class T, int Lanes>
struct GroupMatrix {
    using Shape = GroupShape<T, Lanes>;
    T a[Shape::rows][Shape::n];
    T* staged;
    int lane;

    __device__ __forceinline__ void take() {
        const auto* const chunks = reinterpret_cast<const Pack16<T>*>(staged);
#pragma unroll
        for (int j = 0; j < Shape::n; ++j) {
#pragma unroll
            for (int i = 0; i < Shape::rows; i += Shape::width) {
                const int c = (lane + i / Shape::width * Lanes) ^ Shape::swap(j);
                const auto quad = chunks[j * Shape::column_chunks + c];
#pragma unroll
                for (int e = 0; e < Shape::width; ++e) a[i + e][j] = quad.value[e];
            }
        }
    }
};

/// copy(chunk of the run, its place in shared memory) for what this lane copies of a warp's run.
template <class Shape, class Copy>
__device__ __forceinline__ void for_group_chunks(Copy&& copy) {
    const int lane = int(threadIdx.x) % 32;
    constexpr int columns = 32 / Shape::column_chunks;  // That a warp copies at once.
    static_assert(columns % Shape::lanes == 0 || Shape::lanes % columns == 0);
#pragma unroll
    for (int m = 0; m < Shape::matrices; ++m) {
#pragma unroll
        for (int c = 0; c < Shape::chunks; c += 32) {
            const int column = (c + lane) / Shape::column_chunks;
            copy(m, m * Shape::chunks + c + lane,
                 m * Shape::pitch_chunks + ((c + lane) ^ Shape::swap(column)));
        }
    }
}

/// Whether a batch is such a run and asks for no more than factors, permutations and info.
template <class T>
bool is_group_run(const FactorJob<T>& job) {
    return job.a.size == 16 && is_aligned_run(job.a) && is_aligned_run(job.f) &&
           !is_told(job.results) && !job.options.relative &&
           job.options.workspace != Workspace::shared_memory;
}

/// The matrices of a warp whose bit is set in `odd`, those that a group could not finish, by the
/// teams of the general kernel. Apart, so that what is rarely wanted takes no registers.
template <class Method, class T>
__device__ __noinline__ void factorise_odd(const FactorJob<T>& job, unsigned odd, Offset first,
                                           unsigned char* memory) {
    constexpr int n = 16;
    using Team = WarpTeam<n>;
    const Team team;
    const int number = int(threadIdx.x) % 32 / n;
    constexpr int bytes = factor_bytes<T>(n, n);
    const auto mine = team_memory<T, Team>(memory, bytes, number, n);
    while (odd != 0) {
        const int one = __ffs(int(odd)) - 1;
        odd &= odd - 1;
        const int other = odd != 0 ? __ffs(int(odd)) - 1 : one;
        odd &= odd - 1;
        const bool here = number == 0 || other != one;
        __syncwarp();
        factorise<Method, T, Team, SharedRows<T>>(team, mine, job, false, n,
                                                  first + (number == 0 ? one : other), here);
    }
}

template <class Method, class T, int Lanes, int blocks>
__global__ void __launch_bounds__(factor_threads, blocks)
    factor_groups_kernel(const __grid_constant__ FactorJob<T> job) {
    using Shape = GroupShape<T, Lanes>;
    constexpr int n = Shape::n;
    extern __shared__ __align__(16) unsigned char group_memory[];
    begin_dependent();
    const int warp = int(threadIdx.x) / 32;
    unsigned char* const memory = group_memory + warp * Shape::bytes;
    int4* const chunks = reinterpret_cast<int4*>(memory);
    const Offset first = (Offset(blockIdx.x) * (factor_threads / 32) + warp) * Shape::matrices;
    const int here = int(min(Offset(Shape::matrices), job.a.count - first));
    if (here <= 0) return;
    const int4* const from = reinterpret_cast<const int4*>(job.a.values + first * (n * n));
    for_group_chunks<Shape>([&](int m, int chunk, int place) {
        if (m < here) copy_to_shared<16>(chunks + place, from + chunk);
    });
    wait_for_copies();
    const int lane = int(threadIdx.x) % 32;
    const int m = lane / Lanes;
    const Offset b = first + min(m, here - 1);
    const T tau = threshold_of(job.options, b, T(1));
    GroupMatrix<T, Lanes> matrix;
    matrix.lane = lane % Lanes;
    matrix.staged = reinterpret_cast<T*>(chunks + m * Shape::pitch_chunks);
    matrix.take();
    __syncwarp();
    unsigned long long order;  // Rows by position, four bits each.
    const bool plain = Method::of_group(matrix, order, tau) || m >= here;
    __syncwarp();
    if (plain && m < here) {
        if (job.results.info != nullptr && matrix.lane == 0) job.results.info[b] = 0;
        const auto& p = job.permutations;
        const Offset start =
            (p.offsets != nullptr ? p.offsets[b] : b * p.stride) + matrix.lane * Shape::rows;
        const bool quads = p.offsets == nullptr && p.stride % 4 == 0 && Shape::rows % 4 == 0;
        const auto write = [&](Index* to, auto&& of) {
            if (to == nullptr) return;
            if (quads && reinterpret_cast<unsigned long long>(to) % 16 == 0) {
#pragma unroll
                for (int s = 0; s < Shape::rows; s += 4) {
                    *reinterpret_cast<int4*>(to + start + s) =
                        make_int4(of(s), of(s + 1), of(s + 2), of(s + 3));
                }
            } else {
#pragma unroll
                for (int s = 0; s < Shape::rows; ++s) to[start + s] = of(s);
            }
        };
        order >>= 4 * Shape::rows * matrix.lane;
        write(p.rows, [&](int s) { return int(order >> 4 * s) & 15; });
        write(p.columns, [&](int s) { return matrix.lane * Shape::rows + s; });
    }
    const unsigned odd = __ballot_sync(full_warp, !plain && matrix.lane == 0);
    int4* const to = reinterpret_cast<int4*>(job.f.values + first * (n * n));
    if (odd == 0) {
        for_group_chunks<Shape>([&](int k, int chunk, int place) {
            if (k < here) to[chunk] = chunks[place];
        });
        return;
    }
    // In place the others must still be there when their turn comes.
    for_group_chunks<Shape>([&](int k, int chunk, int place) {
        if (k < here && (odd >> k * Lanes & 1) == 0) to[chunk] = chunks[place];
    });
    unsigned left = 0;
    for (int k = 0; k < Shape::matrices; ++k) left |= (odd >> k * Lanes & 1) << k;
    factorise_odd<typename Method::General>(job, left, first, memory);
}

template <class Method, class T, int Lanes, int blocks>
void factorise_by_groups(const Context& context, const FactorJob<T>& job) {
    using Shape = GroupShape<T, Lanes>;
    launch_dependent(factor_groups_kernel<Method, T, Lanes, blocks>,
                     blocks_for(job.a.count, factor_threads / 32 * Shape::matrices), factor_threads,
                     factor_threads / 32 * Shape::bytes, stream_of(context), job);
}

}  // namespace

}  // namespace tessera::batched::cuda
