#include <bit>

#include "gpu/for_each.cuh"
#include "sparse/symmetry/kernels.hpp"
#include "tessera/vector_ops.hpp"

namespace tessera::cuda {

namespace {

/// The row of entry k, by bisection.
template <class T>
__device__ Index row_of(const CsrView<T>& matrix, Offset k) {
    Index row = 0, after = matrix.rows;
    while (after - row > 1) {
        const Index middle = row + (after - row) / 2;
        (__ldg(matrix.row_offsets + middle) <= k ? row : after) = middle;
    }
    return row;
}

/// Maximum of |a_ij| by rows; one thread per entry, so that dense rows are balanced.
template <class T>
struct RaiseLargest {
    static constexpr int work = 4;
    CsrView<T> matrix;
    T* largest;

    __device__ void operator()(Offset k) const {
        using Bits = std::conditional_t<sizeof(T) == 8, unsigned long long, unsigned>;
        T* const to = largest + row_of(matrix, k);
        const T value = std::abs(matrix.values[k]);
        // Skips most atomics of a dense row. Nonnegative numbers are ordered by their bits.
        if (value > *static_cast<volatile T*>(to)) {
            atomicMax(reinterpret_cast<Bits*>(to), std::bit_cast<Bits>(value));
        }
    }
};

template <class T>
struct CheckEntry {
    static constexpr int work = 4;
    CsrView<T> matrix;
    const T* largest;
    unsigned long long* fault;

    __device__ void operator()(Offset k) const {
        if (has_mirror_image(matrix, largest, row_of(matrix, k), k)) return;
        atomicMin(fault, static_cast<unsigned long long>(k));
    }
};

}  // namespace

template <class T>
Offset first_unsymmetric(const Context& context, const CsrView<T>& matrix) {
    Buffer<T> largest(context, matrix.rows);
    auto fault =
        copy_to_buffer(context, std::vector{static_cast<unsigned long long>(matrix.nonzeros)});
    fill(context, T(0), largest.view());
    cuda::for_each_index(context, matrix.nonzeros, RaiseLargest<T>{matrix, largest.data()});
    cuda::for_each_index(context, matrix.nonzeros,
                         CheckEntry<T>{matrix, largest.data(), fault.data()});
    return Offset(copy_to_host(context, fault)[0]);
}

template Offset first_unsymmetric<float>(const Context&, const CsrView<float>&);
template Offset first_unsymmetric<double>(const Context&, const CsrView<double>&);

}  // namespace tessera::cuda
