#pragma once

#include "tessera/spectrum.hpp"

namespace tessera {

/// The entry behind gershgorin_bound; rows is not 0. Waits.
namespace cpu {
template <class T>
double largest_row_sum(const Context& context, const CsrView<T>& matrix);
}  // namespace cpu
namespace cuda {
template <class T>
double largest_row_sum(const Context& context, const CsrView<T>& matrix);
}  // namespace cuda

}  // namespace tessera
