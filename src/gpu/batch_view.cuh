#pragma once

#include <cstdint>

#include "base/host_device.hpp"
#include "tessera/batched.hpp"

/// Addresses of the matrices of a batch.
namespace tessera::cuda {

/// Element 0 of matrix b, or of its vectors.
template <class View>
__device__ __forceinline__ auto start_of(const View& view, Offset b) {
    if (view.starts != nullptr) return view.starts[b];
    return view.values + (view.offsets != nullptr ? view.offsets[b] : b * view.stride);
}

/// The leading dimension of a matrix of n rows.
template <class T>
__device__ __forceinline__ Offset leading_dimension_of(const batched::BatchView<T>& view, int n) {
    return view.sizes != nullptr ? n : view.leading_dimension;
}

/// Whether all matrices are of one size, and lines and matrices follow each other without gaps.
template <class T>
TESSERA_HOST_DEVICE bool is_run(const batched::BatchView<T>& view) {
    return view.sizes == nullptr && view.starts == nullptr && view.offsets == nullptr &&
           view.leading_dimension == view.size && view.stride == Offset(view.size) * view.size;
}

/// Whether they are column-major, too, and aligned to 16 bytes.
template <class T>
bool is_contiguous_aligned(const batched::BatchView<T>& view) {
    return is_run(view) && view.layout == batched::Layout::column_major &&
           reinterpret_cast<std::uintptr_t>(view.values) % 16 == 0;
}

/// Matrix b of n rows, of either layout.
template <class T>
struct StridedMatrix {
    T* start;
    Offset row_stride;
    Offset column_stride;

    __device__ __forceinline__ StridedMatrix(const batched::BatchView<T>& view, Offset b, int n)
        : start(start_of(view, b)) {
        const Offset line = leading_dimension_of(view, n);
        const bool by_columns = view.layout == batched::Layout::column_major;
        row_stride = by_columns ? 1 : line;
        column_stride = by_columns ? line : 1;
    }
    __device__ __forceinline__ T& operator()(int i, int j) const {
        return start[i * row_stride + j * column_stride];
    }
};

}  // namespace tessera::cuda
