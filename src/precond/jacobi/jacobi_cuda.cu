#include <cmath>
#include <limits>

#include "base/check_cuda.hpp"
#include "gpu/launch.cuh"
#include "precond/jacobi/kernels.hpp"

namespace tessera::cuda {

namespace {

constexpr int jacobi_threads = 256;

template <class T>
__device__ bool usable_pivot(T pivot) {
    return isfinite(pivot) && isfinite(T(1) / pivot);
}

/// First position in begin..end of ascending `columns` whose column is not below `column`.
__device__ Offset lower_bound(const Index* columns, Offset begin, Offset end, Index column) {
    while (begin < end) {
        const Offset middle = begin + (end - begin) / 2;
        if (__ldg(columns + middle) < column) {
            begin = middle + 1;
        } else {
            end = middle;
        }
    }
    return begin;
}

/// a_ii, or 0 where it is not stored.
template <class T>
__device__ T diagonal_entry(const CsrView<T>& matrix, Index row) {
    const Offset end = __ldg(matrix.row_offsets + row + 1);
    const Offset at = lower_bound(matrix.column_indices, __ldg(matrix.row_offsets + row), end, row);
    const bool stored = at < end && __ldg(matrix.column_indices + at) == row;
    return stored ? __ldg(matrix.values + at) : T(0);
}

/// What stands for 1/a where that is not to be had.
template <class T>
__device__ T replacement(T a, SingularPolicy policy, T root_epsilon) {
    if (!isfinite(a) || policy == SingularPolicy::stop) return std::numeric_limits<T>::quiet_NaN();
    if (policy == SingularPolicy::generalised) return T(0);
    return policy == SingularPolicy::identity ? T(1) : T(1) / (a + root_epsilon);
}

template <class T>
__global__ void __launch_bounds__(jacobi_threads)
    inverse_diagonal_kernel(CsrView<T> matrix, SingularPolicy policy, T root_epsilon, T* inverse,
                            Index* info) {
    for_elements<1>(matrix.rows, [&](Offset i) {
        const T a = diagonal_entry(matrix, Index(i));
        const bool usable = usable_pivot(a);
        inverse[i] = usable ? T(1) / a : replacement(a, policy, root_epsilon);
        info[i] = usable ? 0 : 1;
    });
}

}  // namespace

template <class T>
void inverse_diagonal(const Context& context, const CsrView<T>& matrix, SingularPolicy policy,
                      T* inverse, Index* info) {
    if (matrix.rows == 0) return;
    const T root_epsilon = std::sqrt(std::numeric_limits<T>::epsilon());
    inverse_diagonal_kernel<<<blocks_for(matrix.rows, jacobi_threads), jacobi_threads, 0,
                              stream_of(context)>>>(matrix, policy, root_epsilon, inverse, info);
    TESSERA_CUDA(cudaGetLastError());
}

template void inverse_diagonal<float>(const Context&, const CsrView<float>&, SingularPolicy, float*,
                                      Index*);
template void inverse_diagonal<double>(const Context&, const CsrView<double>&, SingularPolicy,
                                       double*, Index*);

}  // namespace tessera::cuda
