#pragma once

#include "tessera/formats.hpp"

namespace tessera {

// y = alpha A x + beta y as documented in formats.hpp; sizes are checked by the caller. `bytes`:
// FormatFacts::read_bytes.
namespace cpu {
template <class T>
void multiply(const Context& context, const SlicedView<T>& matrix, const FormatOptions& options,
              Offset bytes, T alpha, const T* x, T beta, T* y);
}
namespace cuda {
template <class T>
void multiply(const Context& context, const SlicedView<T>& matrix, const FormatOptions& options,
              Offset bytes, T alpha, const T* x, T beta, T* y);
}

}  // namespace tessera
