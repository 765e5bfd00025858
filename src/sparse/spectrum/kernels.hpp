#pragma once

#include "sparse/scaled_value.hpp"
#include "tessera/spectrum.hpp"

namespace tessera {

/// The entry behind gershgorin_bound; rows is not 0; scaling may be null. Waits.
namespace cpu {
template <class T>
double largest_row_sum(const Context& context, const CsrView<T>& matrix, const T* scaling);
}  // namespace cpu
namespace cuda {
template <class T>
double largest_row_sum(const Context& context, const CsrView<T>& matrix, const T* scaling);
}  // namespace cuda

}  // namespace tessera
