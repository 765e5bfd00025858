#pragma once

#include "tessera/csr.hpp"

namespace tessera {

namespace cpu {
/// The position of the first entry in row order that is at fault, -1: none is.
template <class T>
Offset first_unsymmetric(const Context& context, const CsrView<T>& matrix);
}  // namespace cpu

namespace cuda {
/// Whether no entry is at fault; `largest`: a value for each row, `faults`: one number. Waits.
template <class T>
bool is_symmetric(const Context& context, const CsrView<T>& matrix, T* largest, int* faults);
}  // namespace cuda

}  // namespace tessera
