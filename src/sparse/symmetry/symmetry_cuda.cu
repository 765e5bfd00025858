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
    int* unpaired;

    __device__ void operator()(Offset k) const {
        const Index i = row_of(matrix, k), j = matrix.column_indices[k];
        const Mirrored mirrored =
            compare_mirror_image(matrix, largest, i, j, k, find_csr_entry(matrix, j, i));
        if (mirrored == Mirrored::unpaired) raise_flag(unpaired);
        if (mirrored == Mirrored::no) atomicMin(fault, static_cast<unsigned long long>(k));
    }
};

}  // namespace

template <class T>
SymmetryFindings compare_mirror_images(const Context& context, const CsrView<T>& matrix) {
    Buffer<T> largest(context, matrix.rows);
    auto fault =
        copy_to_buffer(context, std::vector{static_cast<unsigned long long>(matrix.nonzeros)});
    auto unpaired = copy_to_buffer(context, std::vector{0});
    fill(context, T(0), largest.view());
    cuda::for_each_index(context, matrix.nonzeros, RaiseLargest<T>{matrix, largest.data()});
    cuda::for_each_index(context, matrix.nonzeros,
                         CheckEntry<T>{matrix, largest.data(), fault.data(), unpaired.data()});
    const auto first_fault = Offset(copy_to_host(context, fault)[0]);
    return {first_fault, first_fault == matrix.nonzeros && copy_to_host(context, unpaired)[0] != 0};
}

template SymmetryFindings compare_mirror_images<float>(const Context&, const CsrView<float>&);
template SymmetryFindings compare_mirror_images<double>(const Context&, const CsrView<double>&);

}  // namespace tessera::cuda
