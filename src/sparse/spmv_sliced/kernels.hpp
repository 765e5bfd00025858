#pragma once

#include "tessera/formats.hpp"

namespace tessera {

/// recurrence_step with q = A x and what is done with its result `next` beside.
template <class T>
struct ProductEnd {
    RecurrenceStep<T> step;
    const T* y;
    const T* r;
    T* next;
    // On a GPU:
    T* xy;                       ///< *xy = x^T next; or null.
    const ScaledResult* result;  ///< In the place of next and xy; or null.
};

// The products documented in formats.hpp; sizes are checked by the caller. `bytes`:
// FormatFacts::read_bytes.
namespace cpu {
template <class T>
void multiply_step(const Context& context, const SlicedView<T>& matrix,
                   const FormatOptions& options, Offset bytes, const T* x,
                   const ProductEnd<T>& end);
}
namespace cuda {
template <class T>
void multiply_step(const Context& context, const SlicedView<T>& matrix,
                   const FormatOptions& options, Offset bytes, const T* x,
                   const ProductEnd<T>& end);
/// Whether the kernel for these options can sum xy and rz.
bool sums_dots(const FormatOptions& options);
}  // namespace cuda

}  // namespace tessera
