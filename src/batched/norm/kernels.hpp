#pragma once

#include "base/dispatch.hpp"
#include "tessera/batched.hpp"

namespace tessera::batched {

/// norms[b] = max_i sum_j |a_ij| over rows, or max_j sum_i |a_ij| over columns, of column-major
/// matrices; the sums run in ascending order of their index. NaN where an element is NaN. `plan` is
/// null for batches of one size. No wait.
enum class Sums : std::uint8_t { rows, columns };
TESSERA_BACKENDS(template <class T> void norm(const Context& context, Sums sums,
                                              const BatchView<const T>& a, T* norms,
                                              const Plan* plan);)

namespace cuda {
/// Sums over rows of column-major matrices of one size, at most 32, that lie one behind the other
/// from a multiple of 16 bytes on; false, and nothing done, where they do not, where there is no
/// kernel of their size, or where there are 2^30 of them.
template <class T>
bool norm_of_run(const Context& context, const BatchView<const T>& a, T* norms);
}  // namespace cuda

}  // namespace tessera::batched
