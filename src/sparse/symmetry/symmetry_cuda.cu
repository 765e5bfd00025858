#include <bit>

#include "gpu/for_each.cuh"
#include "sparse/symmetry/kernels.hpp"
#include "tessera/vector_ops.hpp"

namespace tessera::cuda {

namespace {

constexpr int tile_threads = 256;
constexpr int entries_per_thread = 8;

/// The row of entry k, one of first_row to last_row, by bisection.
template <class T>
__device__ Index row_of(const CsrView<T>& matrix, Offset k, Index first_row, Index last_row) {
    Index row = first_row, after = last_row + 1;
    while (after - row > 1) {
        const Index middle = row + (after - row) / 2;
        (__ldg(matrix.row_offsets + middle) <= k ? row : after) = middle;
    }
    return row;
}

/// f(row, k) for all entries k. A thread block has consecutive ones, so that dense rows are
/// balanced, and finds the few rows that hold them first.
template <class T, class F>
__global__ void __launch_bounds__(tile_threads)
    for_entries_kernel(const __grid_constant__ CsrView<T> matrix, const __grid_constant__ F f) {
    begin_dependent();
    __shared__ Index ends[2];
    const Offset first = Offset(blockIdx.x) * (tile_threads * entries_per_thread);
    const Offset last = min(first + tile_threads * entries_per_thread, matrix.nonzeros) - 1;
    if (threadIdx.x < 2) {
        ends[threadIdx.x] =
            row_of(matrix, threadIdx.x == 0 ? first : last, Index(0), matrix.rows - 1);
    }
    __syncthreads();
    for (Offset k = first + threadIdx.x; k <= last; k += tile_threads) {
        f(row_of(matrix, k, ends[0], ends[1]), k);
    }
}

template <class T, class F>
void for_entries(const Context& context, const CsrView<T>& matrix, const F& f) {
    if (matrix.nonzeros == 0) return;
    launch_dependent(&for_entries_kernel<T, F>,
                     blocks_for(matrix.nonzeros, tile_threads * entries_per_thread), tile_threads,
                     0, stream_of(context), matrix, f);
}

/// Maximum of |a_ij| by rows.
template <class T>
struct RaiseLargest {
    CsrView<T> matrix;
    T* largest;

    __device__ void operator()(Index row, Offset k) const {
        using Bits = std::conditional_t<sizeof(T) == 8, unsigned long long, unsigned>;
        T* const to = largest + row;
        const T value = std::abs(matrix.values[k]);
        // Skips most atomics of a dense row. Nonnegative numbers are ordered by their bits.
        if (value > *static_cast<volatile T*>(to)) {
            atomicMax(reinterpret_cast<Bits*>(to), std::bit_cast<Bits>(value));
        }
    }
};

template <class T>
struct CheckEntry {
    CsrView<T> matrix;
    const T* largest;
    unsigned long long* fault;
    int* unpaired;

    __device__ void operator()(Index i, Offset k) const {
        const Index j = matrix.column_indices[k];
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
    for_entries(context, matrix, RaiseLargest<T>{matrix, largest.data()});
    for_entries(context, matrix,
                CheckEntry<T>{matrix, largest.data(), fault.data(), unpaired.data()});
    const auto first_fault = Offset(copy_to_host(context, fault)[0]);
    return {first_fault, first_fault == matrix.nonzeros && copy_to_host(context, unpaired)[0] != 0};
}

template SymmetryFindings compare_mirror_images<float>(const Context&, const CsrView<float>&);
template SymmetryFindings compare_mirror_images<double>(const Context&, const CsrView<double>&);

}  // namespace tessera::cuda
