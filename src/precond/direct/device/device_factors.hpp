#pragma once

#include <memory>

#include "base/dispatch.hpp"
#include "base/host_device.hpp"
#include "tessera/operator.hpp"

namespace tessera::direct {

enum class MatrixKind { general, symmetric, positive_definite };

/// Exact factors in the memory of a GPU, made there by a library (cuDSS) that is loaded at run
/// time. Its pivots are static: solutions must be judged.
template <class T>
class DeviceFactors {
  public:
    virtual ~DeviceFactors() = default;
    /// Factors these values on the pattern of the first call, which orders the matrix, on the host.
    /// False where the library does not, as its memory does not suffice or a pivot is unusable.
    virtual bool factor(const Context& context, std::span<const T> values) = 0;
    /// Whether `factor` failed for a pivot that is not positive.
    virtual bool is_indefinite() const = 0;
    /// x = A^-1 b; false where the library fails.
    virtual bool solve(const Context& context, Vectors<const T> b, Vectors<T> x) = 0;
    /// How many tiny pivots were replaced by larger ones; -1: unknown.
    virtual int replaced_pivots() = 0;
    /// Entries of the factors.
    virtual Offset entries() const = 0;
};

namespace cuda {
/// Whether the library can be loaded: that of the environment variable TESSERA_CUDSS, or
/// libcudss.so.1.
bool has_device_library();
/// The matrix, of symmetric ones the lower triangle, must outlive the factors. Null where the
/// library cannot be used.
template <class T>
std::unique_ptr<DeviceFactors<T>> make_device_factors(const Context& context,
                                                      const CsrView<T>& matrix, MatrixKind kind);
}  // namespace cuda

}  // namespace tessera::direct
