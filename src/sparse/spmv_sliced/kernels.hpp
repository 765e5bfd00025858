#pragma once

#include "base/dispatch.hpp"
#include "base/host_device.hpp"
#include "tessera/formats.hpp"

namespace tessera {

/// recurrence_step with q = A x: next = alpha q + beta x + gamma y + delta r.
template <class T>
struct ProductEpilogue {
    RecurrenceStep<T> step;
    const T* y;
    const T* r;
    T* next;
    T* xy = nullptr;  ///< On a GPU: *xy = x^T next; or null.
};

/// The step for several vectors; those that the step does not read may be null.
template <class T>
struct ProductVectors {
    RecurrenceStep<T> step;
    Vectors<const T> x, y, r;
    Vectors<T> next;
    T* xy = nullptr;  ///< As in ProductEpilogue; for one vector.
    TESSERA_HOST_DEVICE ProductEpilogue<T> epilogue(int j) const {
        return {step, y.data + j * y.leading, r.data + j * r.leading, next.data + j * next.leading,
                xy};
    }
    /// `number` of them from vector `first` on.
    ProductVectors part(int first, int number) const {
        return {step,
                x.part(first, number),
                y.part(first, number),
                r.part(first, number),
                next.part(first, number),
                xy};
    }
};

// The products documented in formats.hpp; sizes are checked by the caller. `matrix_bytes`:
// FormatStatistics::matrix_bytes_per_product.
// clang-format off
TESSERA_BACKENDS(
    template <class T>
    void multiply_step(const Context& context, const SlicedView<T>& matrix, Offset matrix_bytes,
                       const ProductVectors<T>& vectors);)
// clang-format on

namespace cuda {
template <class Stored, class T>
struct SlicedProduct {
    SlicedPattern matrix;
    const Stored* values;
    ProductVectors<T> vectors;
    double* partial = nullptr;    ///< Partial sums of x^T next,
    unsigned* counter = nullptr;  ///< Number of thread blocks that have written theirs.
};

/// The product of one vector with block columns stored as Column, Index or std::uint16_t, and with
/// values as Stored. `cached`: the matrix stays in the L2 cache between products. Compiled in one
/// file per type.
template <class Column, class Stored, class T>
void multiply_one(const Context& context, const SlicedProduct<Stored, T>& task, bool cached);
/// The product of two to spmv_vectors vectors, in other files: a GPU loads all of a file.
template <class Column, class Stored, class T>
void multiply_several(const Context& context, const SlicedProduct<Stored, T>& task);
}  // namespace cuda

}  // namespace tessera
