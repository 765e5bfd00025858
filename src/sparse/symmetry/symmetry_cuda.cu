#include "gpu/for_each.cuh"
#include "sparse/symmetry/kernels.hpp"
#include "tessera/vector_ops.hpp"

namespace tessera::cuda {

namespace {

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

/// A thread an entry: its row's largest one so far.
template <class T>
struct RaiseLargest {
    CsrView<T> matrix;
    T* largest;

    __device__ void operator()(Offset k) const {
        T* const to = largest + row_of(matrix, k);
        const T value = std::abs(matrix.values[k]);
        // Most entries of a dense row need not wait for the others.
        if (value > *static_cast<volatile T*>(to)) raise(to, value);
    }
};

template <class T>
struct CheckEntry {
    CsrView<T> matrix;
    const T* largest;
    int* fault;

    __device__ void operator()(Offset k) const {
        if (!has_mirror_image(matrix, largest, row_of(matrix, k), k)) *fault = 1;
    }
};

}  // namespace

template <class T>
bool is_symmetric(const Context& context, const CsrView<T>& matrix) {
    Buffer<T> largest(context, matrix.rows);
    Buffer<int> fault = copy_to_buffer(context, std::vector<int>{0});
    fill(context, T(0), largest.view());
    cuda::for_each_index(context, matrix.nonzeros, RaiseLargest<T>{matrix, largest.data()});
    cuda::for_each_index(context, matrix.nonzeros,
                         CheckEntry<T>{matrix, largest.data(), fault.data()});
    return copy_to_host(context, fault)[0] == 0;
}

template bool is_symmetric<float>(const Context&, const CsrView<float>&);
template bool is_symmetric<double>(const Context&, const CsrView<double>&);

}  // namespace tessera::cuda
