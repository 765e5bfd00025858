#pragma once

#include "base/dispatch.hpp"
#include "tessera/batched.hpp"

namespace tessera::batched {

/// norms[b] = max_i sum_j |a_ij| over rows, or max_j sum_i |a_ij| over columns, of column-major
/// matrices; the sums run in ascending order of their index. NaN where an element is NaN. `plan` is
/// null for batches of one size. Asynchronous.
enum class Sums : std::uint8_t { rows, columns };
TESSERA_BACKENDS(template <class T> void norm(const Context& context, Sums sums,
                                              const BatchView<const T>& a, T* norms,
                                              const Plan* plan);)

namespace cuda {
/// Infinity norms of contiguous column-major matrices of one size, at most 32 rows, aligned to 16
/// bytes. Returns false, without work, for other batches, sizes without a compiled kernel, and 2^30
/// matrices or more.
template <class T>
bool norm_pipelined(const Context& context, const BatchView<const T>& a, T* norms);
}  // namespace cuda

}  // namespace tessera::batched
