#pragma once

#include <functional>

#include "tessera/context.hpp"
#include "tessera/csr.hpp"

/// Kernels for comparison only; defined where the CUDA backend is built.
namespace tessera::bench {

/// Seconds between two events around `count` runs of `work` on the stream of `context`.
double seconds_on_gpu(const Context& context, int count, const std::function<void()>& work);

/// One pass over the arrays of a CSR matrix: the cheapest kernel that reads every byte of them.
void read_csr(const Context& context, const CsrView<double>& matrix, double* sink);

/// The paper's inversion kernel, several problems a warp: one row a lane, the pivot loop unrolled
/// for n = 4, 8, 16 or 32, blocks padded to a power of two.
void paper_invert(const Context& context, int n, Offset batch, const double* in, double* out);

}  // namespace tessera::bench
