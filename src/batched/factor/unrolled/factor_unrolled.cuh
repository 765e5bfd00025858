#pragma once

#include "batched/factor/factor_any_size.cuh"
#include "batched/factor/unrolled/elimination.cuh"

/// Unrolled factorisations of contiguous batches of 8 rows (one matrix per lane) or 16 rows (one
/// per 2, 4 or 8 lanes); results equal those of the general kernel in every bit.
namespace tessera::batched::cuda {

namespace {

/// Writes the permutations of matrix b, Matrix::rows positions per lane.
template <class Matrix>
__device__ __forceinline__ void write_permutations(const PermutationsView<Index>& p, Offset b,
                                                   const Matrix& matrix) {
    const int first = int(threadIdx.x) % Matrix::lanes * Matrix::rows;
    const Offset start = p.start(b) + first;
    const bool packs = p.offsets == nullptr && p.stride % 4 == 0 && Matrix::rows % 4 == 0;
    const auto write_permutation = [&](Index* to, auto&& value_at) {
        if (to == nullptr) return;
        if (packs && reinterpret_cast<unsigned long long>(to) % 16 == 0) {
#pragma unroll
            for (int s = 0; s < Matrix::rows; s += 4) {
                *reinterpret_cast<int4*>(to + start + s) =
                    make_int4(value_at(s), value_at(s + 1), value_at(s + 2), value_at(s + 3));
            }
        } else {
#pragma unroll
            for (int s = 0; s < Matrix::rows; ++s) to[start + s] = value_at(s);
        }
    };
    write_permutation(p.rows, [&](int s) { return matrix.original_row(s); });
    write_permutation(p.columns, [&](int s) { return first + s; });
}

/// LDU or LL^T by Method, fully unrolled; one matrix per Matrix::lanes lanes, whole rows in
/// registers, staged in shared memory by cp.async. A matrix with a pivot near the ends of the range
/// (Method::eliminate returns false) is not written, and is factored by Method::General.
template <class Method, class Matrix, class T, int blocks>
__global__ void __launch_bounds__(factor_threads, blocks)
    factor_unrolled_kernel(const __grid_constant__ FactorJob<T> job) {
    constexpr int n = Matrix::n;
    constexpr int matrices = Matrix::matrices;
    extern __shared__ __align__(16) unsigned char unrolled_memory[];
    begin_dependent();
    const int warp = int(threadIdx.x) / 32;
    const int lane = int(threadIdx.x) % 32;
    unsigned char* const memory = unrolled_memory + warp * Matrix::bytes;
    T* const staged = reinterpret_cast<T*>(memory);
    const Offset first = (Offset(blockIdx.x) * (factor_threads / 32) + warp) * matrices;
    const int count = int(min(Offset(matrices), job.a.count - first));
    if (count <= 0) return;
    Matrix::load(job.a.values + first * (n * n), count, staged);
    wait_for_copies();
    const int m = lane / Matrix::lanes;
    const Offset b = first + min(m, count - 1);
    const T tau = threshold_of(job.options, b, T(1));
    Matrix matrix(staged, Matrix::lanes == 1 ? min(m, count - 1) : m);
    __syncwarp();  // Lanes without a matrix have read the last one.
    const bool in_range = Method::eliminate(matrix, tau) || m >= count;
    if (in_range && m < count) matrix.stage();
    __syncwarp();
    if (in_range && m < count) {
        if (job.results.info != nullptr && lane % Matrix::lanes == 0) job.results.info[b] = 0;
        write_permutations(job.permutations, b, matrix);
    }
    const unsigned fallback = __ballot_sync(full_warp, !in_range && lane % Matrix::lanes == 0);
    T* const to = job.f.values + first * (n * n);
    if (fallback == 0) return Matrix::store(to, count, staged);
    // One by one. Matrices of the fallback are left out: it reads them from a, which may be f.
    unsigned remaining = 0;
    for (int k = 0; k < count; ++k) {
        if ((fallback >> k * Matrix::lanes & 1) != 0) {
            remaining |= 1u << k;
            continue;
        }
        for (int e = lane; e < n * n; e += 32) to[k * n * n + e] = staged[Matrix::offset(k, e)];
    }
    __syncwarp();
    factorise_fallback<typename Method::General, n>(
        job, remaining, std::integral_constant<int, n>(), memory, [=](int k) { return first + k; });
}

template <class Method, class Matrix, int blocks, class T>
bool launch_unrolled(const Context& context, const FactorJob<T>& job) {
    if (job.a.size != Matrix::n) return false;
    static_assert(Matrix::bytes >= factor_bytes<T>(Matrix::n, Matrix::n));
    constexpr int warps = factor_threads / 32;
    launch_dependent(factor_unrolled_kernel<Method, Matrix, T, blocks>,
                     blocks_for(job.a.count, warps * Matrix::matrices), factor_threads,
                     warps * Matrix::bytes, stream_of(context), job);
    return true;
}

}  // namespace

template <Factorisation kind, Pivoting pivoting, class T>
bool factorise_unrolled(const Context& context, const FactorJob<T>& job) {
    using Method =
        std::conditional_t<kind == Factorisation::ldu, UnrolledLdu<pivoting>, UnrolledLlt>;
    constexpr UnrolledTuning tuning = unrolled_tuning<T>(kind, pivoting);
    using Matrix16 = LaneGroupMatrix<T, tuning.lanes>;
    if (!is_contiguous_aligned(job.a) || !is_contiguous_aligned(job.f) ||
        wants_more_than_info(job.results) || job.options.relative) {
        return false;
    }
    return launch_unrolled<Method, LaneMatrix<T>, tuning.blocks_of_8>(context, job) ||
           launch_unrolled<Method, Matrix16, tuning.blocks_of_16>(context, job);
}

}  // namespace tessera::batched::cuda
