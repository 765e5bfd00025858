#include <cmath>
#include <limits>

#include "gpu/launch.cuh"
#include "gpu/search.cuh"
#include "sparse/symmetry/kernels.hpp"

namespace tessera::cuda {

namespace {

constexpr int threads = 256;
constexpr int per_thread = 4;

/// The row of entry k. A thread an entry, so that a dense row is no harder than others.
template <class T>
__device__ Index row_of(const CsrView<T>& matrix, Offset k) {
    Index row = 0, behind = matrix.rows;
    while (behind - row > 1) {
        const Index middle = row + (behind - row) / 2;
        (__ldg(matrix.row_offsets + middle) <= k ? row : behind) = middle;
    }
    return row;
}

/// Numbers that are not negative order as their bits do.
__device__ void raise(double* to, double value) {
    atomicMax(reinterpret_cast<unsigned long long*>(to),
              static_cast<unsigned long long>(__double_as_longlong(value)));
}
__device__ void raise(float* to, float value) {
    atomicMax(reinterpret_cast<unsigned*>(to), __float_as_uint(value));
}

template <class T>
__global__ void __launch_bounds__(threads) clear_kernel(Index rows, T* largest, int* faults) {
    begin_dependent();
    for_elements<per_thread>(rows, [&](Offset i) { largest[i] = T(0); });
    if (blockIdx.x == 0 && threadIdx.x == 0) *faults = 0;
}

template <class T>
__global__ void __launch_bounds__(threads) largest_kernel(CsrView<T> matrix, T* largest) {
    begin_dependent();
    for_elements<per_thread>(matrix.nonzeros, [&](Offset k) {
        T* const to = largest + row_of(matrix, k);
        const T value = std::abs(matrix.values[k]);
        // Most entries of a dense row need not wait for the others.
        if (value > *static_cast<volatile T*>(to)) raise(to, value);
    });
}

template <class T>
__global__ void __launch_bounds__(threads)
    compare_kernel(CsrView<T> matrix, const T* largest, int* faults) {
    begin_dependent();
    const T tolerance = 1000 * std::numeric_limits<T>::epsilon();
    const auto is_fine = [&](Offset k) {
        if (!isfinite(matrix.values[k])) return false;
        const Index i = row_of(matrix, k), j = matrix.column_indices[k];
        if (i == j) return true;
        const Offset end = matrix.row_offsets[j + 1];
        const Offset mirror = lower_bound(matrix.column_indices, matrix.row_offsets[j], end, i);
        if (mirror == end || matrix.column_indices[mirror] != i) return false;
        if (j < i) return true;  // Row j compares the values.
        return std::abs(matrix.values[k] - matrix.values[mirror]) <=
               tolerance * min(largest[i], largest[j]);
    };
    for_elements<per_thread>(matrix.nonzeros, [&](Offset k) {
        if (!is_fine(k)) *faults = 1;
    });
}

}  // namespace

template <class T>
bool is_symmetric(const Context& context, const CsrView<T>& matrix, T* largest, int* faults) {
    if (matrix.nonzeros == 0) return true;
    const auto launch = [&](auto* kernel, Offset count, auto... arguments) {
        launch_dependent(kernel, blocks_for(count, threads * per_thread), threads, 0,
                         stream_of(context), arguments...);
    };
    launch(&clear_kernel<T>, matrix.rows, matrix.rows, largest, faults);
    launch(&largest_kernel<T>, matrix.nonzeros, matrix, largest);
    launch(&compare_kernel<T>, matrix.nonzeros, matrix, static_cast<const T*>(largest), faults);
    int found = 0;
    copy_to_host(context, std::span<const int>(faults, 1), std::span<int>(&found, 1));
    return found == 0;
}

template bool is_symmetric<float>(const Context&, const CsrView<float>&, float*, int*);
template bool is_symmetric<double>(const Context&, const CsrView<double>&, double*, int*);

}  // namespace tessera::cuda
