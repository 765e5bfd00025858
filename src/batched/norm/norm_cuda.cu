#include "batched/norm/kernels.hpp"
#include "gpu/staged_batch.cuh"

namespace tessera::batched::cuda {

namespace {

using namespace tessera::cuda;

/// Stores the norms of the matrices from position `first` of the list by sizes on: for matrix m the
/// maximum of the n sums from sums[m column_pitch(n)] on.
template <class T>
__device__ __forceinline__ void store_norms(const SizeClasses& classes, Offset first, int n,
                                            int matrices, const T* sums, T* norms) {
    const int lane = int(threadIdx.x) % 32;
    T largest = T(0);
    if (matrices == 1) {
        for (int k = lane; k < n; k += 32) largest = max_or_nan(sums[k], largest);
#pragma unroll
        for (int distance = 16; distance > 0; distance /= 2) {
            largest = max_or_nan(__shfl_xor_sync(full_warp, largest, distance), largest);
        }
    } else if (lane < matrices) {
        const T* mine = sums + lane * column_pitch(n);
#pragma unroll 4
        for (int k = 0; k < n; ++k) largest = max_or_nan(mine[k], largest);
    }
    if (lane < matrices) norms[classes.matrix(first + lane)] = largest;
}

/// Norms of staged matrices of any layout; one row or column sum per thread, matrices in
/// shared memory, a team of one warp (up to 32 rows) or one thread block for several matrices.
template <class T, int Team, int Threads>
__global__ void __launch_bounds__(Threads, staged_blocks(Team))
    norm_kernel(const __grid_constant__ SizeClasses classes,
                const __grid_constant__ BatchView<const T> a, bool rows, int team_bytes, T* norms) {
    extern __shared__ __align__(16) unsigned char memory[];
    begin_dependent();
    const StagedTeam<T, Team> team(classes, a, memory, team_bytes);
    if (team.matrices == 0) return;
    const int n = team.n;
    const int thread = int(threadIdx.x) % Team;
    team.load(a);
    sync_team<Team>();
    const unsigned inverse_n = inverse_of(n);
    const int line_pad = column_pitch(n) - n;
    for (int r = thread; r < team.matrices * n; r += Team) {
        const int m = team.matrices == 1 ? 0 : quotient_of(r, inverse_n);
        const StagedLine line(rows, n, m, r);
        const T* entry = team.staged + line.first;
        T sum = T(0);
#pragma unroll 4
        for (int x = 0; x < n; ++x) sum += fabs(entry[x * line.stride]);
        team.scratch[r + line_pad * m] = sum;
    }
    sync_team<Team>();
    if (thread < 32) store_norms(classes, team.first, n, team.matrices, team.scratch, norms);
}

}  // namespace

template <class T>
void norm(const Context& context, Sums sums, const BatchView<const T>& a, T* norms,
          const Plan* plan) {
    if (sums == Sums::rows && norm_pipelined(context, a, norms)) return;
    const cudaStream_t stream = stream_of(context);
    const auto launch = [&](auto team, auto threads, const StagedLaunch& one) {
        const auto kernel = norm_kernel<T, team(), threads()>;
        launch_dependent(kernel, one.blocks, threads(), threads() / team() * one.team_bytes, stream,
                         one.classes, a, sums == Sums::rows, one.team_bytes, norms);
    };
    // The sums have the padding of a line of the matrix.
    for_staged_launches(a, plan, int(2 * sizeof(T)), launch);
}

template decltype(norm<float>) norm<float>;
template decltype(norm<double>) norm<double>;

}  // namespace tessera::batched::cuda
